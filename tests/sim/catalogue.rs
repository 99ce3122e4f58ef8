//! Which plans are made.

use std::collections::BTreeMap;

use crate::{
    drive::{self, Outcome},
    plan::{Bad, Dice, Fault, Plan, Run},
    wish,
};

/// The runs without faults: what the others are compared with, and how many writes, calls and events there are.
pub struct References(BTreeMap<(Run, u64), Outcome>);

impl References {
    /// With and without leader election.
    pub fn of(runs: &[Run]) -> Self {
        let all = runs.iter().flat_map(|run| [(*run, 0), (*run, 1)]);
        Self(all.map(|(run, seed)| ((run, seed), drive::run(Plan::clean(run, seed), None))).collect())
    }

    pub fn get(&self, run: Run, seed: u64) -> Option<&Outcome> {
        self.0.get(&(run, seed % 2))
    }

    /// One that is broken without any fault.
    pub fn broken(&self) -> Option<&Outcome> {
        self.0.values().find(|outcome| !outcome.broken.is_empty())
    }

    pub fn all(self) -> Vec<Outcome> {
        self.0.into_values().collect()
    }

    fn most(&self, plan: &Plan) -> usize {
        self.get(plan.run, plan.seed).map_or(1, |reference| reference.most(plan.fault))
    }
}

/// The environment asks for no others.
pub fn is_ordinary() -> bool {
    ["ONLY", "SEEDS", "ALL"].iter().all(|name| wish(name).is_none())
}

/// The ordinary plans, or those that the environment asks for; `ONLY` names patterns by their numbers.
pub fn plans(references: &References) -> Vec<Plan> {
    let mut plans = chosen(references);
    if let Some(only) = wish("ONLY") {
        let only: Vec<u8> = only.split(',').filter_map(|number| number.parse().ok()).collect();
        plans.retain(|plan| only.contains(&plan.fault.number()));
    }
    plans
}

fn chosen(references: &References) -> Vec<Plan> {
    if let Some(seeds) = wish("SEEDS") {
        let (from, to) = seeds.split_once("..").unwrap_or(("0", seeds.as_str()));
        let (from, to) = (from.parse().unwrap_or(0), to.parse().unwrap_or(1));
        return (from..to).flat_map(|seed| fresh(references, seed)).collect();
    }
    if wish("ALL").is_some() {
        return every(references);
    }
    ordinary(references)
}

/// Seeds of plans that are sampled: with and without leader election, whatever the fault.
const SEEDS: usize = 1000;

/// Plans of a pattern on a run of which not every index is tried.
const LEAST: usize = 20;

/// The faults of each pattern that suit each run.
fn patterns_on_runs() -> impl Iterator<Item = (Vec<Fault>, Run)> {
    Fault::patterns().into_iter().flat_map(|pattern| {
        let on = move |run: Run| (pattern.iter().copied().filter(|fault| run.suits(*fault)).collect::<Vec<_>>(), run);
        Run::ALL.into_iter().map(on).filter(|(faults, _)| !faults.is_empty())
    })
}

/// Every index of P1, P2 and P12 (once) on three runs, and at least twenty of each other pattern on each run.
pub fn ordinary(references: &References) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (pattern, run) in patterns_on_runs() {
        let whole = matches!(pattern[0], Fault::CrashAfter | Fault::CrashBefore | Fault::BadCalls(_));
        if whole && matches!(run, Run::Promotion | Run::Rollback | Run::Service) {
            plans.extend(enumerated(references, Plan { fault: pattern[0], ..Plan::clean(run, 0) }));
        } else {
            plans.extend(sampled(references, &pattern, run, pattern.len().max(LEAST), 1));
        }
    }
    plans
}

fn enumerated(references: &References, plan: Plan) -> Vec<Plan> {
    let most = references.most(&plan);
    let every = || (1..=most).flat_map(|k| Bad::ALL.map(|bad| Plan { k, bad, ..plan }));
    match (plan.fault, plan.run) {
        // The calls of service mode are the newest: each of them goes wrong in every way.
        (Fault::BadCalls(_), Run::Service) => every().collect(),
        (Fault::BadCalls(_), _) => (1..=most).map(|k| Plan { k, bad: Bad::ALL[k % Bad::ALL.len()], ..plan }).collect(),
        _ => (1..=most).map(|k| Plan { k, ..plan }).collect(),
    }
}

/// So many, spread over the faults of a pattern and indices.
fn sampled(references: &References, pattern: &[Fault], run: Run, count: usize, seed: u64) -> Vec<Plan> {
    let mut dice = Dice(seed << 32 | u64::from(pattern[0].number()) << 8 | run as u64);
    let one = |place: usize| {
        let fault = pattern[place % pattern.len()];
        // What another tenant does is compared with a run of the same seed, of which there are two.
        let seeds = if matches!(fault, Fault::Tenant(_)) { 2 } else { SEEDS };
        let mut plan = Plan { fault, ..Plan::clean(run, dice.below(seeds) as u64) };
        let most = references.most(&plan).max(1);
        plan.k = 1 + dice.below(most);
        plan.bad = Bad::ALL[dice.below(Bad::ALL.len())];
        plan
    };
    (0..count).map(one).collect()
}

/// Every index of every pattern on every run.
fn every(references: &References) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (pattern, run) in patterns_on_runs() {
        for (place, fault) in pattern.into_iter().enumerate() {
            let bads: &[Bad] = if matches!(fault, Fault::BadCalls(_)) { &Bad::ALL } else { &[Bad::Conflict] };
            let plan = Plan { fault, ..Plan::clean(run, place as u64) };
            for k in 1..=references.most(&plan) {
                // Indices take turns with and without leader election.
                let seeds = (0..plan.seeds()).map(|seed| (seed + (place + k) % 2) as u64);
                let of = |seed| bads.iter().map(move |bad| Plan { k, bad: *bad, seed, ..plan });
                plans.extend(seeds.flat_map(of));
            }
        }
    }
    plans
}

/// Plans that were never made before.
fn fresh(references: &References, seed: u64) -> Vec<Plan> {
    patterns_on_runs().flat_map(|(pattern, run)| sampled(references, &pattern, run, 4, seed + 1000)).collect()
}
