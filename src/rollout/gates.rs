//! What can stand between a run and its next step, whatever its state.

use super::{
    draft::Draft,
    health, hooks,
    input::{Accepted, LiveRoute, RouteSeen},
    plan::bake,
    standing::Standing,
    time::{between, later},
};
use crate::api::{
    Phase, Reason, Steering,
    status::{Check, Run, RunState, Stop, Verdict},
};

/// What stands between weights that are being proven and what comes after them.
pub(super) fn not_proven(draft: &mut Draft<'_>) -> Option<Standing> {
    stopped(draft)
        .or_else(|| unconfirmed(draft))
        .or_else(|| hooks::failing(draft))
        .or_else(|| unproven(draft))
        .or_else(|| hooks::silent(draft))
        .or_else(|| unsafe_to_go_on(draft))
        .or_else(|| paused(draft))
}

/// A hold that only a person ends.
pub(super) fn stopped(draft: &Draft<'_>) -> Option<Standing> {
    let hold = draft.run()?.hold.as_ref()?;
    Some(Standing::new(Phase::Held, hold.reason, hold.message.clone()))
}

/// A route does not show what the state means.
pub(super) fn unconfirmed(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    if let Some(pause) = run.pause.as_ref().filter(|pause| pause.is_by_foreign_edit()) {
        return Some(Standing::new(Phase::Paused, pause.reason, pause.message.clone()));
    }
    // A projection that is still to be desired is a write under way as well.
    let moving = draft
        .status
        .desired
        .as_ref()
        .is_some_and(|desired| draft.projected().is_some_and(|projected| !projected.same_as(&desired.split)));
    if !moving && draft.confirmed_everywhere() {
        return None;
    }
    let just_until = draft.just_desired_until().filter(|_| run.step() > 0 && !is_refused(draft));
    let message = match just_until {
        Some(_) => being_written(run),
        None => format!("waiting for the routes to confirm {}:{}", run.weights(), unconfirmed_in_words(draft)),
    };
    let (phase, reason) =
        if draft.is_late() { (Phase::Held, late(draft)) } else { (Phase::Progressing, Reason::Confirming) };
    if let Some(at) = just_until {
        draft.wake_at(at);
    }
    Some(Standing::new(phase, reason, message))
}

/// What is said of a step when it is taken.
pub(super) fn being_written(run: &Run) -> String {
    format!("step {}/{}: {} is being written", run.step(), run.plan.len(), split_in_words(run))
}

/// The weights that the state means, and what else it sends to whom.
pub(super) fn split_in_words(run: &Run) -> String {
    let split = run.split();
    let steering = split.steering.as_ref().map(|steering| format!(", and {steering} to {}", recipients(steering)));
    format!("{}{}", split.weights, steering.unwrap_or_default())
}

/// Who gets steered requests, with the weights among them where they are divided.
fn recipients(steering: &Steering) -> String {
    match steering {
        Steering::Matched(matched) => matched.weights.to_string(),
        Steering::Mirrored(mirrored) => mirrored.members.join(" "),
    }
}

/// A write went wrong, and not for want of time.
fn is_refused(draft: &Draft<'_>) -> bool {
    draft.live_routes().any(|(_, live)| live.failed.is_some() || matches!(live.accepted, Accepted::No(_)))
}

/// Why a write is late: it is not confirmed, or the data plane refused it.
pub(super) fn late(draft: &Draft<'_>) -> Reason {
    let refused = draft.live_routes().any(|(_, live)| matches!(live.accepted, Accepted::No(_)));
    if refused { Reason::RouteNotAccepted } else { Reason::NotConfirmed }
}

/// The routes that do not show what is desired, with the best reason that is known.
pub(super) fn unconfirmed_in_words(draft: &Draft<'_>) -> String {
    let Some(desired) = &draft.status.desired else { return String::new() };
    let why = |seen: &RouteSeen| match seen {
        RouteSeen::Live(live) if draft.confirmed(live, desired) => None,
        RouteSeen::Live(live) => Some(lacks(live)),
        RouteSeen::Unseen => Some("it has not been read yet".to_owned()),
        RouteSeen::ToCreate => Some("it is being made".to_owned()),
        RouteSeen::Unusable(problem) => Some(problem.message.clone()),
    };
    let routes = draft.input.seen.routes.iter();
    routes.filter_map(|(key, seen)| Some(format!(" {key}: {}", why(seen)?))).collect::<Vec<_>>().join(";")
}

/// What keeps a live route from being confirmed.
fn lacks(live: &LiveRoute) -> String {
    let weights = &live.split.weights;
    match (&live.failed, &live.accepted) {
        (Some(why), _) => format!("the write was refused: {why}"),
        (None, Accepted::No(why)) => format!("the data plane refused it: {why}"),
        (None, Accepted::Pending) => "the data plane has not accepted it yet".to_owned(),
        (None, Accepted::Yes | Accepted::Unsaid) => match &live.split.steering {
            None => format!("it shows {weights}"),
            Some(steering) => format!("it shows {weights} and {steering}"),
        },
    }
}

/// The members that the next step raises, or steers requests to.
pub(super) fn gaining(run: &Run) -> Vec<String> {
    let Some(next) = run.next() else { return Vec::new() };
    let steered = next.split.steered().map(str::to_owned);
    next.split.weights.above(run.weights()).into_iter().chain(steered).collect()
}

/// The present weights have not held long enough with passing checks.
fn unproven(draft: &Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    if let Some(problem) = health::nobody_answers(draft, run) {
        return Some(Standing::held(problem));
    }
    let analysis = &draft.input.spec.analysis;
    let settled = later(draft.status.desired.as_ref()?.confirmed_at?, analysis.settle);
    match run.check.as_ref().filter(|check| check.at >= settled) {
        None => {
            let message = if draft.measures() {
                "samples are ignored until the data plane has settled and a window is full"
            } else {
                "the time counts once the data plane has settled; nothing is measured"
            };
            Some(Standing::progressing(Reason::Settling, format!("step {}: {message}", run.step())))
        }
        Some(check) => not_passed(run, check).or_else(|| not_baked(draft, run)),
    }
}

/// The last check did not pass.
fn not_passed(run: &Run, check: &Check) -> Option<Standing> {
    let number = run.step();
    match (check.verdict, check.reason) {
        (Verdict::Pass, _) => None,
        (Verdict::Unknown, Reason::Settling) => {
            Some(Standing::progressing(Reason::Settling, format!("step {number}: {}", check.message)))
        }
        (Verdict::Unknown, reason) => Some(Standing::new(Phase::Held, reason, check.message.clone())),
        (Verdict::Fail, _) => {
            let message = format!("step {number}: a check failed, the bake starts again; {}", check.message);
            Some(Standing::progressing(Reason::Baking, message))
        }
    }
}

/// Once only the step's wait stood in the way, its bake was over.
fn not_baked(draft: &Draft<'_>, run: &Run) -> Option<Standing> {
    let (step, baked) = (run.present()?, run.bake());
    let (needed, checks) = (bake(step, &draft.input.spec.analysis), step.iterations.unwrap_or(0));
    let waits = matches!(&run.state, RunState::Stepping(stepping) if stepping.waiting_since.is_some());
    if waits || baked.time >= needed && baked.passes >= checks {
        return None;
    }
    let left = needed.saturating_sub(baked.time);
    let missing = match (baked.time < needed, draft.measures()) {
        (true, true) => format!("{left} of bake {needed} left with passing checks"),
        (true, false) => format!("{left} of bake {needed} left; nothing is measured"),
        (false, true) => format!("{} of {checks} checks passed", baked.passes),
        (false, false) => format!("{} of {checks} intervals are over; nothing is measured", baked.passes),
    };
    Some(Standing::progressing(draft.bakes_because(), format!("step {}: {missing}", run.step())))
}

/// Going on would leave no rollback target that can serve, or give weight to a member that cannot.
pub(super) fn unsafe_to_go_on(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    if run.step() == 0 {
        return None;
    }
    let next = gaining(run);
    let problem = health::rollback_target_unavailable(run);
    problem.or_else(|| health::not_ready(draft, &next)).map(Standing::not_ready)
}

pub(super) fn paused(draft: &Draft<'_>) -> Option<Standing> {
    let standing = |pause: &Stop| Standing::new(Phase::Paused, pause.reason, pause.message.clone());
    if let Some(pause) = draft.run()?.pause.as_ref() {
        return Some(standing(pause));
    }
    let message = "spec.paused is true; checks and rollback go on";
    draft.input.spec.paused.then(|| Standing::new(Phase::Paused, Reason::PausedBySpec, message))
}

/// While a person or a time was waited for, unchanged checks were not recorded, or nobody looked: the last word before
/// an advance is a check of now.
pub(super) fn stale(draft: &Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    let (number, checked) = (run.step(), run.check.as_ref()?.at);
    let interval = draft.input.spec.analysis.interval;
    let fresh = draft.passes_now || between(checked, draft.now()) <= interval.saturating_add(interval);
    let message = || format!("step {number} {} before the wait; the next check decides", draft.passed_in_words());
    (!fresh).then(|| Standing::progressing(draft.bakes_because(), message()))
}
