//! What a person can request of a rollout now.

use crate::api::{
    FleetRolloutSpec, FleetRolloutStatus, Phase, Reason, Verb,
    status::{Run, RunState},
    strategy::Wait,
};

/// The verbs that would take effect now, those that lead on first.
#[must_use]
pub fn verbs(spec: &FleetRolloutSpec, status: &FleetRolloutStatus) -> Vec<Verb> {
    match &status.run {
        Some(run) if run.is_rolling_back() => Vec::new(),
        Some(run) => in_run(spec, run),
        None => at_rest(status),
    }
}

fn in_run(spec: &FleetRolloutSpec, run: &Run) -> Vec<Verb> {
    let waits = run.present().is_some_and(|present| present.wait == Some(Wait::Promotion));
    let steps = matches!(run.state, RunState::Stepping(_));
    let choices = [
        (waits && steps && !run.approved.contains(&run.step()), Verb::Promote),
        (run.hold.is_some(), Verb::Retry),
        (run.pause.is_some() && !spec.paused, Verb::Resume),
        (run.pause.is_none() && !spec.paused, Verb::Pause),
        (!spec.suspend, Verb::Abort),
    ];
    choices.into_iter().filter(|(can, _)| *can).map(|(_, verb)| verb).collect()
}

fn at_rest(status: &FleetRolloutStatus) -> Vec<Verb> {
    match status.reason {
        Reason::StatusBehindRoute | Reason::OwnedByOtherHub => vec![Verb::Adopt],
        Reason::RouteDrifted => vec![Verb::Retry, Verb::Adopt],
        _ if matches!(status.phase, Phase::Failed | Phase::RolledBack) => vec![Verb::Retry],
        _ => Vec::new(),
    }
}
