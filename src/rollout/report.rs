//! What people read: phase, reason, one sentence, the columns and the conditions.

use super::pass::{Pass, Standing, in_words};
use crate::api::{
    Phase, Reason,
    status::{Condition, ConditionStatus, Summary},
};
use crate::mistakes::{Mistake, made};

/// Writes where the rollout stands into the status; a new hold is told.
pub(super) fn write(pass: &mut Pass<'_>, standing: &Standing) {
    let changed = (pass.status.phase, pass.status.reason) != (standing.phase, standing.reason);
    if changed || pass.status.since.is_none() || made(Mistake::RestlessStatus) {
        pass.status.since = Some(pass.now());
        if standing.phase == Phase::Held && !told(pass, standing) {
            pass.tell(true, standing.reason, standing.message.clone());
        }
    }
    pass.status.phase = standing.phase;
    pass.status.reason = standing.reason;
    pass.status.message.clone_from(&standing.message);
    pass.status.observed_generation = Some(pass.input.generation);
    pass.status.summary = summary(pass);
    conditions(pass, standing);
}

fn told(pass: &Pass<'_>, standing: &Standing) -> bool {
    pass.status.transitions.last().is_some_and(|last| last.at == pass.now() && last.reason == standing.reason)
}

fn summary(pass: &Pass<'_>) -> Summary {
    let shown = pass.status.asked.as_ref().map(|asked| &asked.weights).or(pass.status.primary.as_ref());
    let run = pass.status.run.as_ref();
    Summary {
        step: run.map(|run| format!("{}/{}", run.step, run.plan.len())).unwrap_or_default(),
        weights: shown.map(in_words).unwrap_or_default(),
        verdict: run.and_then(|run| run.check.as_ref()).map(|check| format!("{:?}", check.verdict)).unwrap_or_default(),
    }
}

/// What `kubectl wait` and kstatus ask for.
fn conditions(pass: &mut Pass<'_>, standing: &Standing) {
    let refused = pass.input.seen.refused.clone();
    let (accepted, why, words) = match refused {
        Some(problem) => (false, problem.reason, problem.message),
        None => (true, standing.reason, "the declaration is valid".to_owned()),
    };
    set(pass, "Accepted", accepted, why, &words);
    let confirmed =
        pass.status.asked.as_ref().is_none_or(|asked| asked.confirmed_at.is_some()) && pass.confirmed_everywhere();
    set(
        pass,
        "Applied",
        confirmed,
        standing.reason,
        if confirmed { "every route shows what is asked" } else { "a write is not confirmed" },
    );
    let moving = match standing.phase {
        Phase::Initializing
        | Phase::Progressing
        | Phase::WaitingPromotion
        | Phase::Soaking
        | Phase::Promoting
        | Phase::Terminating => true,
        Phase::Initialized | Phase::Held | Phase::Paused | Phase::Succeeded | Phase::Failed | Phase::RolledBack => {
            false
        }
    };
    set(pass, "Progressing", moving, standing.reason, &standing.message);
    let stalled = matches!(standing.phase, Phase::Held | Phase::Failed)
        || standing.phase == Phase::Initializing && standing.reason != Reason::FirstSight;
    set(pass, "Stalled", stalled, standing.reason, &standing.message);
    let ready = matches!(standing.phase, Phase::Initialized | Phase::Succeeded) && confirmed;
    set(pass, "Ready", ready, standing.reason, &standing.message);
}

fn set(pass: &mut Pass<'_>, type_: &str, holds: bool, reason: Reason, message: &str) {
    let status = if holds { ConditionStatus::True } else { ConditionStatus::False };
    let generation = Some(pass.input.generation);
    let now = pass.now();
    let old = pass.status.conditions.iter_mut().find(|condition| condition.type_ == type_);
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
        None => pass.status.conditions.push(fresh(now)),
    }
}
