//! Which plans are made on a real API server.

use std::collections::BTreeMap;

use crate::simulator::{
    drive::Outcome,
    plan::{
        Bad, Dice, Fault, Kind, Plan, Run,
        sorts::{Deleted, Late, Poison, WatchFault},
    },
};

/// Variants that change the kinds themselves, which all plans share; and a watch that falls silent, which the hub finds
/// out only when the server ends it: what it then does may break the rules about counts and rest, in memory too.
const LEFT_OUT: [Fault; 9] = [
    Fault::Watch(WatchFault::Idle),
    Fault::Delete(Deleted::Kind),
    Fault::Poison(Poison::RolloutBefore),
    Fault::Poison(Poison::RolloutLive),
    Fault::Poison(Poison::MemberBefore),
    Fault::Poison(Poison::MemberLive),
    Fault::Poison(Poison::RequestLive),
    Fault::Late(Late::Kinds),
    Fault::Late(Late::RouteKind),
];

/// The runs without faults, with and without leader election.
pub type References = BTreeMap<(Run, u64), Outcome>;

/// Every variant of every pattern that suits an HTTPRoute on one run that suits it, in turn, and a crash on each of them.
pub fn plans(references: &References) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut turn = Run::ALL.into_iter().cycle();
    let is_made = |fault: &Fault| Kind::GatewayApi.suits(*fault) && !LEFT_OUT.contains(fault);
    for fault in Fault::patterns().into_iter().flatten().filter(is_made) {
        let run = turn.find(|run| run.suits(fault)).unwrap_or(Run::Promotion);
        plans.push(drawn(references, fault, run, plans.len()));
    }
    for run in Run::ALL {
        plans.push(drawn(references, Fault::CrashAfter, run, plans.len()));
    }
    plans
}

fn drawn(references: &References, fault: Fault, run: Run, place: usize) -> Plan {
    let mut plan = Plan { fault, ..Plan::clean(run, place as u64) };
    let mut dice = Dice(place as u64);
    let most = references.get(&(plan.run, plan.seed % 2)).map_or(1, |reference| reference.most(fault));
    plan.k = 1 + dice.below(most);
    plan.bad = Bad::ALL[dice.below(Bad::ALL.len())];
    plan
}
