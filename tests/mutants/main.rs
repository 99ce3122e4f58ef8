//! Counts how many small changes of the sources the fast tests notice.
//!
//! cargo-mutants makes the changes (mutants). All of them are laid into one copy of the sources, each behind a switch, and
//! built once (docs/adr/0003-mutants.md); of the tests only those run that reach the mutant. `tests/mutants/run` says which
//! arguments there are.

#![allow(missing_docs, unreachable_pub)]

mod blame;
mod compiler;
mod copy;
mod known;
mod laid;
mod listed;
mod places;
mod plan;
mod process;
mod reach;
mod report;
mod runner;
mod sites;
mod wishes;
mod workers;

use std::{
    fs,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use copy::Copy;
use known::Known;
use plan::Plan;
use runner::{Runner, Verdict};
use wishes::Wishes;

fn main() -> ExitCode {
    match Wishes::read().and_then(|wishes| wishes.map_or(Ok(true), |wishes| run(&wishes))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutants: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all were noticed but those that are known to be missed.
fn run(wishes: &Wishes) -> Result<bool> {
    let chosen = wishes.choose(Path::new("."))?;
    if chosen.is_empty() {
        println!("mutants: none to make");
        return Ok(true);
    }
    let remembered = wishes.target.join("mutants.json");
    let mut plan = Plan::new(Path::new("."), chosen, &Known::read(&remembered))?;
    let copy = Copy::new(&wishes.target)?;
    let programs = copy.build(&mut plan, &remembered)?;
    let traced = reach::traced(&copy.root, &programs, &wishes.target.join("mutants-reached.json"))?;
    println!("mutants: {} tests; these fail in the copy: {}", traced.tests.len(), traced.failed.join(", "));
    let search = wishes.search.then(|| programs.iter().find(|program| is_it(program)).cloned()).flatten();
    let deadline = wishes.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let verdicts = try_all(&plan, &Runner::new(&copy.root, &traced.tests, search), deadline)?;
    for line in report::not_tried(&plan) {
        println!("{line}");
    }
    print!("{}", report::table(&plan, &verdicts));
    judge(&plan, &verdicts)
}

fn is_it(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("it-"))
}

/// In the order of [`listed::rank`], so that those for which there is time are a sample.
fn try_all(plan: &Plan, runner: &Runner<'_>, deadline: Option<Instant>) -> Result<Vec<(u32, Verdict)>> {
    let ranks = listed::ranks(&plan.mutants);
    let mut laid: Vec<u32> = plan.laid().collect();
    laid.sort_by_key(|number| ranks[*number as usize]);
    println!("mutants: {} of {} are laid", laid.len(), plan.mutants.len());
    let verdicts = workers::all(&laid, |_, number| {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        let mutant = &plan.mutants[*number as usize];
        let verdict = runner.run(*number, mutant)?;
        println!("{}", report::line(mutant, &verdict));
        Ok(Some((*number, verdict)))
    })?;
    Ok(verdicts.into_iter().flatten().collect())
}

/// Compares what was missed with tests/mutants/missed.txt: a name and a reason in each line.
fn judge(plan: &Plan, verdicts: &[(u32, Verdict)]) -> Result<bool> {
    let known = fs::read_to_string("tests/mutants/missed.txt").context("tests/mutants/missed.txt")?;
    let known: Vec<&str> = known.lines().filter_map(|line| line.split(" -- ").next()).map(str::trim).collect();
    let missed = verdicts.iter().filter(|(_, verdict)| !matches!(verdict, Verdict::Noticed(_)));
    let names = missed.map(|(number, _)| plan.mutants[*number as usize].lasting_name());
    let news: Vec<String> = names.filter(|name| !known.contains(&name.as_str())).collect();
    for name in &news {
        println!("mutants: no fast test notices: {name}");
    }
    Ok(news.is_empty())
}
