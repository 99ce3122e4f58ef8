//! What people read in a status is output: whatever stands there, the next decision is the same.

use cutover::{
    api::{
        FleetRolloutStatus, Phase, Reason,
        status::{ConditionStatus, Summary},
    },
    rollout::{Decision, Input, decide},
};

/// Decides again with other phase, reason, message, summary and conditions in the status that was read.
pub fn assert_output_is_not_read(input: &Input<'_>, decision: &Decision) {
    let mut status = input.status.clone();
    scramble(&mut status);
    let again = decide(&Input { status: &status, ..input.clone() });
    assert_eq!((&decision.actions, decision.wake), (&again.actions, again.wake), "actions follow from output");
    let known = input.status.transitions.last().map_or(0, |transition| transition.number);
    assert_eq!(decided(&decision.status, known), decided(&again.status, known), "the next status follows from output");
}

fn scramble(status: &mut FleetRolloutStatus) {
    status.phase = if status.phase == Phase::Terminating { Phase::Succeeded } else { Phase::Terminating };
    status.reason = if status.reason == Reason::WindowClosed { Reason::Releasing } else { Reason::WindowClosed };
    "scrambled".clone_into(&mut status.message);
    status.summary = Summary { step: "9/9".to_owned(), weights: "nobody:100".to_owned(), verdict: "Fail".to_owned() };
    for condition in &mut status.conditions {
        condition.status = match condition.status {
            ConditionStatus::True => ConditionStatus::False,
            ConditionStatus::False | ConditionStatus::Unknown => ConditionStatus::True,
        };
        (condition.reason, condition.message) = (Reason::Suspended, "scrambled".to_owned());
    }
}

/// A status without its output, and of its transitions the new ones, without the one that says that the output changed.
fn decided(status: &FleetRolloutStatus, known: u64) -> FleetRolloutStatus {
    let mut status = status.clone();
    let reason = status.reason;
    status.transitions.retain(|new| new.number > known && !(new.warning && new.reason == reason));
    for (transition, number) in status.transitions.iter_mut().zip(1..) {
        transition.number = number;
    }
    (status.phase, status.reason, status.since) = (Phase::default(), Reason::default(), None);
    (status.message, status.summary) = Default::default();
    (status.conditions, status.announced, status.delivered) = Default::default();
    status
}
