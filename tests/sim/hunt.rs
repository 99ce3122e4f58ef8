//! Proves that the simulator finds bugs: a hub with a mistake must fail the plan that docs/reliability.md names for it.
//! tests/mistakes/run builds this program with the mistakes laid into the sources.

use std::{
    process::{Command, ExitCode},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    catalogue::{self, References},
    drive::{self, Outcome},
    page,
    plan::{Dice, Plan},
    world::lock,
};

/// Plans that are tried before a mistake counts as missed.
const PATIENCE: usize = 1500;

/// The invariant and the plan of a catch, and what was said.
struct Catch {
    plan: String,
    rule: String,
    said: String,
}

/// A process for each of these mistakes, two at a time: its plan must fail. `hunting` looks for a plan instead.
pub fn all(mistakes: &[&str], hunting: bool) -> ExitCode {
    let (next, caught) = (AtomicUsize::new(0), Mutex::new(0));
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while let Some(name) = mistakes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = if hunting { hunted(name) } else { kept(name) };
                    *lock(&caught) += usize::from(outcome.is_ok());
                    println!("{name:<18} {}", outcome.unwrap_or_else(|missed| format!("MISSED: {missed}")));
                }
            });
        }
    });
    let (caught, all) = (*lock(&caught), mistakes.len());
    println!("mistakes: {caught} as docs/reliability.md says, {} otherwise", all - caught);
    if caught == all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The plan of the page must fail, by the invariant that the page names. Where it has a fault, the run without one must pass:
/// else the mistake would prove nothing of the fault.
fn kept(mistake: &str) -> Result<String, String> {
    let (plan, rule) =
        page::catch(mistake).ok_or("docs/reliability.md has no row for it: make sim-hunt finds a plan")?;
    let catch = run(mistake, &plan).ok_or_else(|| format!("{plan} passes"))?;
    if catch.plan != plan {
        Err(format!("{plan}: {} fails already, by {}: {}", catch.plan, catch.rule, catch.said))
    } else if catch.rule != rule {
        Err(format!("{plan} | {}, not {rule}", catch.said))
    } else {
        Ok(format!("{plan} | {rule}"))
    }
}

fn hunted(mistake: &str) -> Result<String, String> {
    let catch = run(mistake, "any").ok_or_else(|| format!("{PATIENCE} plans pass"))?;
    Ok(format!("{} | {} | {}", catch.plan, catch.rule, catch.said))
}

/// A process that makes the mistake.
fn run(mistake: &str, plan: &str) -> Option<Catch> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.env("HUNT", plan).env("MISTAKE", mistake);
    let said = String::from_utf8_lossy(&command.output().ok()?.stdout).into_owned();
    let line = said.lines().find_map(|line| line.strip_prefix("caught "))?;
    let (plan, broken) = line.split_once(" | ")?;
    let (rule, said) = broken.split_once(':')?;
    Some(Catch { plan: plan.to_owned(), rule: rule.to_owned(), said: said.chars().take(200).collect() })
}

/// One plan, or those of the ordinary set in a shuffled order, until one fails.
pub fn one(wanted: &str) -> ExitCode {
    if let Ok(plan) = wanted.parse::<Plan>() {
        let references = References::of(&[plan]);
        return caught(references.broken().cloned().or_else(|| broken(plan, &references)));
    }
    let references = References::of(&catalogue::clean());
    if let Some(outcome) = references.broken() {
        return caught(Some(outcome.clone()));
    }
    let mut plans = catalogue::plans(&references);
    let mut dice = Dice(7);
    for place in (1..plans.len()).rev() {
        plans.swap(place, dice.below(place + 1));
    }
    caught(plans.into_iter().take(PATIENCE).find_map(|plan| broken(plan, &references)))
}

fn broken(plan: Plan, references: &References) -> Option<Outcome> {
    Some(drive::run(plan, references.get(&plan))).filter(|outcome| !outcome.broken.is_empty())
}

fn caught(outcome: Option<Outcome>) -> ExitCode {
    let Some(outcome) = outcome else { return ExitCode::FAILURE };
    println!("caught {} | {}", outcome.plan, outcome.broken.first().cloned().unwrap_or_default());
    ExitCode::SUCCESS
}
