//! Which plans are made on a real API server.

use std::collections::BTreeMap;

use crate::simulator::{
    drive::Outcome,
    plan::{Bad, Dice, PATTERNS, Plan, Run, variants},
};

/// Variants that change the kinds themselves, which all plans share; and a watch that falls silent, which the hub finds
/// out only when the server ends it: what it then does may break the rules about counts and rest, in memory too.
const LEFT_OUT: [(u8, &str); 9] = [
    (14, "idle"),
    (16, "crd"),
    (19, "rollout-before"),
    (19, "rollout-live"),
    (19, "member-before"),
    (19, "member-live"),
    (19, "request-live"),
    (24, "late-crds"),
    (24, "late-route-crd"),
];

/// The pattern that is made once more on every run: crashes.
const ON_EVERY_RUN: u8 = 1;

/// The runs without faults, with and without leader election.
pub type References = BTreeMap<(Run, u64), Outcome>;

/// Every variant of every pattern on one run that suits it, in turn, and a crash on each of them.
pub fn plans(references: &References) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut turn = Run::ALL.into_iter().cycle();
    for (pattern, variants) in PATTERNS {
        for what in (0..variants.len()).filter(|what| !LEFT_OUT.contains(&(pattern, variants[*what]))) {
            let run = turn.find(|run| run.suits(pattern)).unwrap_or(Run::Promotion);
            plans.push(drawn(references, pattern, what, run, plans.len()));
        }
    }
    for run in Run::ALL {
        let what = plans.len() % variants(ON_EVERY_RUN).len();
        plans.push(drawn(references, ON_EVERY_RUN, what, run, plans.len()));
    }
    plans
}

fn drawn(references: &References, pattern: u8, what: usize, run: Run, place: usize) -> Plan {
    let mut plan = Plan { pattern, what, ..Plan::clean(run, place as u64) };
    let mut dice = Dice(place as u64);
    plan.k = 1 + dice.below(most(references, &plan));
    plan.bad = Bad::ALL[dice.below(Bad::ALL.len())];
    plan
}

/// Writes, calls or events of the run without a fault.
fn most(references: &References, plan: &Plan) -> usize {
    let Some(reference) = references.get(&(plan.run, plan.seed % 2)) else { return 1 };
    match plan.pattern {
        12 => reference.calls,
        4 if plan.variant() != "hide-write" => reference.events,
        14 => reference.events,
        24 => 1,
        _ => reference.writes,
    }
}
