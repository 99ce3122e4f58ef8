//! Which plans are made.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    drive::{self, Outcome},
    plan::{Bad, Dice, Fault, Kind, Plan, Run},
    wish,
};

/// The runs without faults: what the others are compared with, and how many writes, calls and events there are.
pub struct References(BTreeMap<Plan, Outcome>);

impl References {
    /// Those of these plans, with and without leader election.
    pub fn of(plans: &[Plan]) -> Self {
        let all: BTreeSet<Plan> = plans.iter().flat_map(|plan| [0, 1].map(|seed| clean_of(plan, seed))).collect();
        let (all, half) = (all.iter().copied().collect::<Vec<_>>(), all.len().div_ceil(2));
        let made = |plans: &[Plan]| plans.iter().map(|plan| (*plan, drive::run(*plan, None))).collect::<Vec<_>>();
        let both = std::thread::scope(|threads| {
            let halves: Vec<_> = all.chunks(half.max(1)).map(|half| threads.spawn(move || made(half))).collect();
            halves.into_iter().flat_map(|half| half.join().expect("references are made")).collect()
        });
        Self(both)
    }

    pub fn get(&self, plan: &Plan) -> Option<&Outcome> {
        self.0.get(&clean_of(plan, plan.seed))
    }

    /// One that is broken without any fault.
    pub fn broken(&self) -> Option<&Outcome> {
        self.0.values().find(|outcome| !outcome.broken.is_empty())
    }

    pub fn all(self) -> Vec<Outcome> {
        self.0.into_values().collect()
    }

    fn most(&self, plan: &Plan) -> usize {
        self.get(plan).map_or(1, |reference| reference.most(plan.fault))
    }
}

fn clean_of(plan: &Plan, seed: u64) -> Plan {
    Plan { seed: seed % 2, ..plan.reference() }
}

/// Every run on every kind of route that carries it.
pub fn clean() -> Vec<Plan> {
    let on = |kind: Kind| {
        Run::ALL.into_iter().filter(move |run| kind.carries(*run)).map(move |run| Plan { kind, ..Plan::clean(run, 0) })
    };
    Kind::ALL.into_iter().flat_map(on).collect()
}

/// The environment asks for no others.
pub fn is_ordinary() -> bool {
    ["ONLY", "KINDS", "SEEDS", "ALL"].iter().all(|name| wish(name).is_none())
}

/// The ordinary plans, or those that the environment asks for; `ONLY` names patterns by their numbers, `KINDS` kinds of
/// route by their keys.
pub fn plans(references: &References) -> Vec<Plan> {
    let mut plans = chosen(references);
    if let Some(only) = wish("ONLY") {
        let only: Vec<u8> = only.split(',').filter_map(|number| number.parse().ok()).collect();
        plans.retain(|plan| only.contains(&plan.fault.number()));
    }
    if let Some(kinds) = wish("KINDS") {
        plans.retain(|plan| kinds.split(',').any(|kind| kind == plan.kind.name()));
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

/// Plans of a pattern on each kind of route but HTTPRoute, at least and at most.
const SOME: usize = 5;
const MANY: usize = 7;

/// The faults of each pattern that suit each run on each kind of route.
fn patterns_on_runs(kinds: &[Kind]) -> impl Iterator<Item = (Vec<Fault>, Plan)> {
    let runs: Vec<Plan> = clean().into_iter().filter(|plan| kinds.contains(&plan.kind)).collect();
    Fault::patterns().into_iter().flat_map(move |pattern| {
        let suits = |plan: &Plan, fault: &Fault| plan.run.suits(*fault) && plan.kind.suits(*fault);
        let on = |plan: &Plan| (pattern.iter().copied().filter(|fault| suits(plan, fault)).collect::<Vec<_>>(), *plan);
        runs.iter().map(on).filter(|(faults, _)| !faults.is_empty()).collect::<Vec<_>>()
    })
}

/// On an HTTPRoute every index of P1, P2 and P12 (once) on three runs, and at least twenty of each other pattern on each run;
/// on every other kind some of each pattern that is about routes.
pub fn ordinary(references: &References) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (pattern, plan) in patterns_on_runs(&[Kind::GatewayApi]) {
        let whole = matches!(pattern[0], Fault::CrashAfter | Fault::CrashBefore | Fault::BadCalls(_));
        let is_bad_call = matches!(pattern[0], Fault::BadCalls(_));
        if whole && (plan.run.is_tried_whole() || plan.run == Run::Hooks && !is_bad_call) {
            plans.extend(enumerated(references, Plan { fault: pattern[0], ..plan }));
        } else {
            plans.extend(sampled(references, &pattern, plan, pattern.len().max(LEAST), 1));
        }
    }
    for kind in Kind::OTHERS {
        let patterns = Fault::patterns().into_iter().filter(|pattern| pattern[0].is_about_routes());
        plans.extend(patterns.flat_map(|pattern| some(references, &pattern, kind)));
    }
    plans
}

/// The faults of a pattern and the runs take turns. Each kind begins with other faults, for some patterns have many.
fn some(references: &References, pattern: &[Fault], kind: Kind) -> Vec<Plan> {
    let faults: Vec<Fault> = pattern.iter().copied().filter(|fault| kind.suits(*fault)).collect();
    let turns = faults.iter().cycle().skip(kind as usize * SOME).take(faults.len().clamp(SOME, MANY));
    let mut runs = Run::ALL.into_iter().cycle().filter(|run| kind.carries(*run));
    let mut dice = Dice(u64::from(pattern[0].number()) << 8 | kind as u64);
    let plan = |fault: &Fault| {
        let run = runs.by_ref().take(Run::ALL.len()).find(|run| run.suits(*fault))?;
        Some(drawn(references, Plan { fault: *fault, kind, ..Plan::clean(run, 0) }, &mut dice))
    };
    turns.filter_map(plan).collect()
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
fn sampled(references: &References, pattern: &[Fault], on: Plan, count: usize, seed: u64) -> Vec<Plan> {
    let place = (on.kind as u64) << 16 | u64::from(pattern[0].number()) << 8 | on.run as u64;
    let mut dice = Dice(seed << 32 | place);
    let one = |place: usize| drawn(references, Plan { fault: pattern[place % pattern.len()], ..on }, &mut dice);
    (0..count).map(one).collect()
}

/// The plan with a seed, an index and a bad answer.
fn drawn(references: &References, mut plan: Plan, dice: &mut Dice) -> Plan {
    // What another tenant does is compared with a run of the same seed, of which there are two.
    let seeds = if matches!(plan.fault, Fault::Tenant(_)) { 2 } else { SEEDS };
    plan.seed = dice.below(seeds) as u64;
    let most = references.most(&plan).max(1);
    plan.k = 1 + dice.below(most);
    plan.bad = Bad::ALL[dice.below(Bad::ALL.len())];
    plan
}

/// Every index of every pattern on every run, on every kind of route.
fn every(references: &References) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (pattern, on) in patterns_on_runs(&Kind::ALL) {
        for (place, fault) in pattern.into_iter().enumerate() {
            let bads: &[Bad] = if matches!(fault, Fault::BadCalls(_)) { &Bad::ALL } else { &[Bad::Conflict] };
            let plan = Plan { fault, seed: place as u64, ..on };
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
    let on_runs = patterns_on_runs(&Kind::ALL);
    on_runs.flat_map(|(pattern, on)| sampled(references, &pattern, on, 4, seed + 1000)).collect()
}
