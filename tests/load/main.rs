//! The hub under load, on virtual time: it needs no more after an hour of many rollouts, or after two weeks of one, than
//! before. `cargo test --test load` says so by figures; `LOAD=1000` takes so many rollouts, `SEED=12` makes other troubles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub)]

mod count;
mod crowd;
mod data_plane;
mod dice;
mod drive;
mod figures;
mod hub;
mod members;
mod memory;
mod objects;
mod people;
mod rollout;
mod server;
mod stored;
mod troubles;
mod weeks;
mod world;

use std::{process::ExitCode, str::FromStr};

use figures::Checks;

/// Rollouts of the crowd, and what decides everything that looks random, if nobody says otherwise.
const ROLLOUTS: usize = 30;
const SEED: u64 = 11;

fn main() -> ExitCode {
    let (Ok(rollouts), Ok(seed)) = (wish("LOAD", ROLLOUTS), wish("SEED", SEED)) else {
        eprintln!("LOAD and SEED are numbers");
        return ExitCode::FAILURE;
    };
    let mut checks = Checks::default();
    crowd::crowd(rollouts, seed, &mut checks);
    weeks::weeks(seed, &mut checks);
    println!("load: {} passed, {} failed", checks.passed, checks.failed);
    if checks.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A number of the environment; make passes what it was not given as nothing.
fn wish<T: FromStr>(name: &str, otherwise: T) -> Result<T, T::Err> {
    let given = std::env::var(name).ok().filter(|value| !value.is_empty());
    given.map_or(Ok(otherwise), |value| value.parse())
}
