//! How urgent it is to record a decision and to do it, where the API server has too much to do.

use super::decision::Decision;
use crate::api::{
    FleetRolloutStatus,
    status::{Run, Verdict},
};

/// How urgent a decision is, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Traffic leaves a canary, or goes back.
    Rollback,
    /// Everything else that must not be forgotten.
    Ordinary,
    /// A canary gains traffic.
    Advance,
    /// A check passed again: the next one says the same.
    Check,
}

impl Decision {
    /// How urgent this decision is; `before` is the status from which it was made.
    #[must_use]
    pub fn urgency(&self, before: &FleetRolloutStatus) -> Urgency {
        let after = &self.status;
        match change(before, after) {
            _ if goes_back(after) => Urgency::Rollback,
            Some(Change::Lowers) => Urgency::Rollback,
            Some(Change::Raises) => Urgency::Advance,
            None if self.actions.is_empty() && is_another_pass(before, after) => Urgency::Check,
            None => Urgency::Ordinary,
        }
    }

    /// With this decision traffic begins to go back; `before` is the status from which it was made.
    #[must_use]
    pub fn begins_to_go_back(&self, before: &FleetRolloutStatus) -> bool {
        goes_back(&self.status) && !goes_back(before)
    }
}

/// What another split does to the canaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// At least one gains traffic, by weight or by requests beside it.
    Raises,
    /// None does.
    Lowers,
}

fn goes_back(after: &FleetRolloutStatus) -> bool {
    after.releasing_since.is_some() || after.run.as_ref().is_some_and(Run::is_rolling_back)
}

/// What the decision does to the canaries, if it desires another split.
fn change(before: &FleetRolloutStatus, after: &FleetRolloutStatus) -> Option<Change> {
    let (run, is) = (after.run.as_ref()?, after.desired.as_ref()?);
    let was = match &before.desired {
        Some(was) if was.split.same_as(&is.split) => return None,
        Some(was) => &was.split.weights,
        None => &run.start,
    };
    let (more, canaries) = (is.split.weights.above(was), run.canaries());
    let gains = is.split.steering.is_some() || more.iter().any(|member| canaries.contains(member));
    Some(if gains { Change::Raises } else { Change::Lowers })
}

/// Nothing is new but the numbers of a check that passed, as the one before it did.
fn is_another_pass(before: &FleetRolloutStatus, after: &FleetRolloutStatus) -> bool {
    let (Some(was), Some(is)) = (&before.run, &after.run) else { return false };
    let passed = |run: &Run| run.check.as_ref().is_some_and(|check| check.verdict == Verdict::Pass);
    let newer = was.check.as_ref().map(|check| check.at) < is.check.as_ref().map(|check| check.at);
    newer && passed(was) && passed(is) && says_nothing_else(before, after)
}

fn says_nothing_else(before: &FleetRolloutStatus, after: &FleetRolloutStatus) -> bool {
    let rest = |status: &FleetRolloutStatus| {
        let run = status.run.as_ref();
        (
            status.sequence,
            status.transitions.len(),
            status.transitions.last().map(|transition| transition.number),
            status.leader.clone(),
            run.map(|run| (run.number, run.step(), run.hold.is_some(), run.pause.is_some(), run.unavailable.clone())),
        )
    };
    rest(before) == rest(after) && before.desired == after.desired && before.routes == after.routes
}
