//! The simulator: the hub's own code on an API server in memory and on virtual time, and one fault in every run.
//!
//! `cargo test --test sim` makes the ordinary plans. `PLAN='P1 k=17 seed=3'` replays one and prints its history,
//! `ALL=1` enumerates every index of every pattern on every run, `SEEDS=7..20` goes on with fresh seeds, `ONLY=1,14`
//! takes of these plans the ones of the patterns that it names, and `KINDS=skipper,istio` the ones on those kinds of route.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]
// Patterns are tables, where equal rows may stand apart; seeds and indices are small.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::match_same_arms,
    clippy::similar_names,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]

mod catalogue;
mod data_plane;
mod deeds;
mod drive;
mod faults;
mod fleet;
mod hunt;
mod instance;
mod judge;
mod logs;
mod page;
mod plan;
mod routes;
mod scenario;
mod server;
mod status;
mod world;

use std::{
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

/// Plans are made of short-lived objects: a fifth of their time is the allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use catalogue::References;
use drive::Outcome;
use plan::Plan;

/// Plans that run at a time; the machines of the project have two cores.
const THREADS: usize = 2;

/// Every so many plans one is made twice, and both histories must be the same, byte for byte.
const AGAIN: usize = 100;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        instance::PANICS.with(|panics| panics.set(panics.get() + 1));
        eprintln!("{panic}");
    }));
    logs::read();
    if let Some(line) = wish("PLAN") {
        return replay(&line);
    }
    match (wish("HUNT"), wish("MISTAKES")) {
        (Some(plan), _) => hunt::one(&plan),
        (None, Some(names)) => hunt::all(&names.split_whitespace().collect::<Vec<_>>(), wish("HUNTING").is_some()),
        (None, None) => all(),
    }
}

/// What the environment asks for; make passes what it was not given as nothing.
#[must_use]
pub fn wish(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// One plan, with everything that happened.
fn replay(line: &str) -> ExitCode {
    let plan: Plan = match line.parse() {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let references = References::of(&[plan]);
    let outcome = drive::run(plan, references.get(&plan));
    outcome.story.iter().for_each(|line| println!("{line}"));
    println!("writes {} calls {} events {}", outcome.writes, outcome.calls, outcome.events);
    report(&[outcome])
}

fn all() -> ExitCode {
    let began = Instant::now();
    let references = References::of(&catalogue::clean());
    if references.broken().is_some() {
        return report(&references.all());
    }
    let plans = catalogue::plans(&references);
    println!("sim: {} plans", plans.len());
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            threads.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(plan) = plans.get(place) else { break };
                    let reference = references.get(plan);
                    let mut outcome = drive::run(*plan, reference);
                    if place % AGAIN == 0 && drive::run(*plan, reference).story != outcome.story {
                        outcome.broken.push("the same plan had another history the second time".to_owned());
                    }
                    if outcome.broken.is_empty() {
                        outcome.story.clear();
                    } else {
                        println!("FAILED {plan}  {}", outcome.broken.join("; "));
                    }
                    world::lock(&outcomes).push(outcome);
                }
            });
        }
    });
    let mut outcomes = world::lock(&outcomes).drain(..).collect::<Vec<Outcome>>();
    outcomes.sort_by_key(|outcome| outcome.plan);
    let figures = page::figures(&outcomes);
    print!("{figures}");
    println!("sim: {:.0} s", began.elapsed().as_secs_f64());
    let reported = report(&outcomes);
    let missed = page::never_struck(&outcomes);
    if !missed.is_empty() {
        println!("{}", missed.join("\n"));
        return ExitCode::FAILURE;
    }
    if catalogue::is_ordinary() && !page::gives(&figures) {
        println!("docs/reliability.md gives other figures: make sim-figures");
        return ExitCode::FAILURE;
    }
    reported
}

/// The first failure with the history around it, a line for each, and the count.
fn report(outcomes: &[Outcome]) -> ExitCode {
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| !outcome.broken.is_empty()).collect();
    if let Some(first) = failed.first().filter(|_| outcomes.len() > 1) {
        let from = first.story.len().saturating_sub(60);
        first.story[from..].iter().for_each(|line| println!("{line}"));
    }
    for outcome in &failed {
        println!("make sim PLAN='{}'", outcome.plan);
        outcome.broken.iter().for_each(|rule| println!("    {rule}"));
    }
    println!("sim: {} passed, {} failed ({} plans)", outcomes.len() - failed.len(), failed.len(), outcomes.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
