//! What people read: phase, reason, one sentence, the columns and the conditions.

use super::{draft::Draft, standing::Standing};
use crate::api::{
    Phase, Reason,
    status::{Check, Condition, ConditionStatus, Summary},
};

/// Writes where the rollout stands into the status; a new hold is announced.
pub(super) fn write(draft: &mut Draft<'_>, standing: &Standing) {
    let changed = (draft.status.phase, draft.status.reason) != (standing.phase, standing.reason);
    if changed || draft.status.since.is_none() {
        draft.status.since = Some(draft.now());
        if standing.phase == Phase::Held && !is_announced(draft, standing) {
            draft.announce(true, standing.reason, standing.message.clone());
        }
    }
    draft.status.phase = standing.phase;
    draft.status.reason = standing.reason;
    draft.status.message.clone_from(&standing.message);
    draft.status.observed_generation = Some(draft.input.generation);
    draft.status.summary = summary(draft);
    conditions(draft, standing);
}

fn is_announced(draft: &Draft<'_>, standing: &Standing) -> bool {
    draft.status.transitions.last().is_some_and(|last| last.at == draft.now() && last.reason == standing.reason)
}

fn summary(draft: &Draft<'_>) -> Summary {
    let status = &draft.status;
    let weights = status.desired.as_ref().map(|desired| &desired.split.weights).or(status.primary.as_ref());
    let is_about_desired = |check: &&Check| {
        let desired = status.desired.as_ref().map(|desired| desired.sequence);
        desired.is_none_or(|desired| desired == check.sequence) && check.reason != Reason::Settling
    };
    let (step, check) = match (&status.run, status.history.last()) {
        (Some(run), _) => (format!("{}/{}", run.step(), run.plan.len()), run.check.as_ref().filter(is_about_desired)),
        (None, Some(ended)) => (format!("{}/{}", ended.step, ended.steps), ended.check.as_ref()),
        (None, None) => (String::new(), None),
    };
    Summary {
        step,
        weights: weights.map(ToString::to_string).unwrap_or_default(),
        verdict: check.map(verdict_in_words).unwrap_or_default(),
    }
}

fn verdict_in_words(check: &Check) -> String {
    if check.reason == Reason::NothingMeasured { "NotMeasured".to_owned() } else { format!("{:?}", check.verdict) }
}

const ACCEPTED: &str = "Accepted";
const APPLIED: &str = "Applied";
const PROGRESSING: &str = "Progressing";
const STALLED: &str = "Stalled";
pub(super) const READY: &str = "Ready";
/// The conditions that every status has.
pub const CONDITIONS: [&str; 5] = [ACCEPTED, APPLIED, PROGRESSING, STALLED, READY];

/// What `kubectl wait` and kstatus ask for.
fn conditions(draft: &mut Draft<'_>, standing: &Standing) {
    let refused = draft.input.seen.refused.clone();
    let (accepted, why, words) = match refused {
        Some(problem) => (false, problem.reason, problem.message),
        None => (true, standing.reason, "the declaration is valid".to_owned()),
    };
    set(draft, ACCEPTED, accepted, why, &words);
    let confirmed = draft.status.desired.as_ref().is_none_or(|desired| desired.confirmed_at.is_some())
        && draft.confirmed_everywhere();
    set(
        draft,
        APPLIED,
        confirmed,
        standing.reason,
        if confirmed { "every route shows what is desired" } else { "a write is not confirmed" },
    );
    let moving = match standing.phase {
        Phase::Initializing
        | Phase::Progressing
        | Phase::WaitingPromotion
        | Phase::Soaking
        | Phase::Promoting
        | Phase::Finalizing
        | Phase::Terminating => true,
        Phase::Initialized | Phase::Held | Phase::Paused | Phase::Succeeded | Phase::Failed | Phase::RolledBack => {
            false
        }
    };
    set(draft, PROGRESSING, moving, standing.reason, &standing.message);
    let stalled = matches!(standing.phase, Phase::Held | Phase::Failed)
        || standing.phase == Phase::Initializing && standing.reason != Reason::Initializing;
    set(draft, STALLED, stalled, standing.reason, &standing.message);
    let ready = matches!(standing.phase, Phase::Initialized | Phase::Succeeded) && confirmed;
    set(draft, READY, ready, standing.reason, &standing.message);
}

fn set(draft: &mut Draft<'_>, type_: &str, holds: bool, reason: Reason, message: &str) {
    let status = if holds { ConditionStatus::True } else { ConditionStatus::False };
    let generation = Some(draft.input.generation);
    let now = draft.now();
    let old = draft.status.conditions.iter_mut().find(|condition| condition.type_ == type_);
    let fresh = |since| Condition {
        type_: type_.to_owned(),
        status,
        reason,
        message: message.to_owned(),
        last_transition_time: since,
        observed_generation: generation,
    };
    match old {
        Some(old) => *old = fresh(if old.status == status { old.last_transition_time } else { now }),
        None => draft.status.conditions.push(fresh(now)),
    }
}
