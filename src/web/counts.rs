//! What this process counted of each rollout. It is forgotten with the rollout.

use std::collections::BTreeMap;

use super::rollouts::number;
use crate::api::{
    FleetRolloutStatus,
    status::{Check, Outcome, RunRecord, Verdict},
};

const VERDICTS: [(Verdict, &str); 3] =
    [(Verdict::Pass, "Pass"), (Verdict::Unknown, "Unknown"), (Verdict::Fail, "Fail")];
const OUTCOMES: [(Outcome, &str); 4] = [
    (Outcome::Succeeded, "Succeeded"),
    (Outcome::Failed, "Failed"),
    (Outcome::RolledBack, "RolledBack"),
    (Outcome::Superseded, "Superseded"),
];

/// The name of an outcome.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    OUTCOMES.iter().find(|(known, _)| *known == outcome).map_or("", |(_, name)| name)
}

/// What was counted of one rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    checks: [u64; VERDICTS.len()],
    runs: [u64; OUTCOMES.len()],
}

/// Every rollout, by namespace and name.
pub(super) type ByRollout = BTreeMap<(String, String), Counts>;

impl Counts {
    /// Checks by verdict.
    pub(super) fn checks(&self) -> impl Iterator<Item = (&'static str, f64)> {
        VERDICTS.iter().zip(self.checks).map(|((_, name), count)| (*name, number(count)))
    }

    /// Runs that ended, by outcome.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&'static str, f64)> {
        OUTCOMES.iter().zip(self.runs).map(|((_, name), count)| (*name, number(count)))
    }

    /// A status was recorded over another one.
    pub(super) fn record(&mut self, before: &FleetRolloutStatus, after: &FleetRolloutStatus) {
        for run in ended(before, after) {
            add(&mut self.runs, OUTCOMES.iter().position(|(known, _)| *known == run.outcome));
        }
        if let Some(check) = last_check(after).filter(|check| last_check(before).is_none_or(|old| old.at < check.at)) {
            add(&mut self.checks, VERDICTS.iter().position(|(known, _)| *known == check.verdict));
        }
    }
}

fn add(counts: &mut [u64], place: Option<usize>) {
    if let Some(count) = place.and_then(|place| counts.get_mut(place)) {
        *count += 1;
    }
}

/// Runs whose record is new.
pub(super) fn ended<'s>(
    before: &'s FleetRolloutStatus,
    after: &'s FleetRolloutStatus,
) -> impl Iterator<Item = &'s RunRecord> {
    let known = before.history.last().map_or(0, |record| record.number);
    after.history.iter().filter(move |record| record.number > known)
}

fn last_check(status: &FleetRolloutStatus) -> Option<&Check> {
    let live = status.run.as_ref().and_then(|run| run.check.as_ref());
    live.or_else(|| status.history.last().and_then(|record| record.check.as_ref()))
}
