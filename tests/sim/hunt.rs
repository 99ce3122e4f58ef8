//! Proves that the simulator finds bugs: a hub with a mistake must fail a plan of the ordinary set.

use std::{
    process::{Command, ExitCode},
    sync::atomic::{AtomicUsize, Ordering},
};

use cutover::mistakes::Mistake;

use crate::{
    catalogue::{self, References},
    drive::{self, Outcome},
    plan::{Dice, Run},
    world::lock,
};

/// Plans that are tried before a mistake counts as missed.
const PATIENCE: usize = 600;

/// A process for each mistake, two at a time.
pub fn all() -> ExitCode {
    let (next, lines) = (AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while let Some(mistake) = Mistake::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = hunted(*mistake);
                    println!("{mistake:<18?} {}", found.clone().unwrap_or_else(|| "MISSED".to_owned()));
                    lock(&lines).push(found.is_some());
                }
            });
        }
    });
    let lines = lock(&lines);
    let caught = lines.iter().filter(|caught| **caught).count();
    println!("mistakes: {caught} caught, {} missed", lines.len() - caught);
    if caught == lines.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn hunted(mistake: Mistake) -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let mut command = Command::new(program);
    command.env_remove("MISTAKES").env("HUNT", "1").env("MISTAKE", format!("{mistake:?}"));
    let output = command.output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().find_map(|line| line.strip_prefix("caught ").map(str::to_owned))
}

/// Plans of the ordinary set in a shuffled order, until one fails.
pub fn one() -> ExitCode {
    let references = References::of(&Run::ALL);
    if references.broken() {
        let broken = references.all().into_iter().find(|outcome| !outcome.broken.is_empty());
        return broken.map_or(ExitCode::FAILURE, |outcome| caught(&outcome));
    }
    let mut plans = catalogue::ordinary(&references);
    let mut dice = Dice(7);
    for place in (1..plans.len()).rev() {
        plans.swap(place, dice.below(place + 1));
    }
    for plan in plans.into_iter().take(PATIENCE) {
        let outcome = drive::run(plan, references.get(plan.run, plan.seed));
        if !outcome.broken.is_empty() {
            return caught(&outcome);
        }
    }
    ExitCode::FAILURE
}

fn caught(outcome: &Outcome) -> ExitCode {
    println!("caught {} | {}", outcome.plan, outcome.broken.first().cloned().unwrap_or_default());
    ExitCode::SUCCESS
}
