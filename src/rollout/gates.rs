//! What stands between a run and its next step.

use super::{
    draft::{Draft, Standing, above, between, in_words, intended, later},
    health,
    input::{Accepted, LiveRoute, Problem, RouteSeen},
    plan::bake,
    promotion, schedule, start,
};
use crate::api::{
    Duration, Phase, Reason, Steering,
    status::{Run, Verdict},
    strategy::Wait,
};

/// The first thing that stands in the way; `None` opens the next step.
pub(super) fn obstacle(draft: &mut Draft<'_>) -> Option<Standing> {
    if draft.run().is_some_and(promotion::goes_on) {
        return promoting(draft);
    }
    stopped(draft)
        .or_else(|| unconfirmed(draft))
        .or_else(|| not_rehearsed(draft))
        .or_else(|| unproven(draft))
        .or_else(|| unsafe_to_go_on(draft))
        .or_else(|| paused(draft))
        .or_else(|| waiting(draft))
        .or_else(|| schedule::closed(draft))
        .or_else(|| soaking(draft))
        .or_else(|| stale(draft))
}

/// While what passed becomes the primary nothing is left to prove: the primary must be there and serve, and every route
/// must show what is asked. Until then the traffic stays where it is healthy.
fn promoting(draft: &mut Draft<'_>) -> Option<Standing> {
    let standing = stopped(draft)
        .or_else(|| unconfirmed(draft))
        .or_else(|| unsafe_to_go_on(draft))
        .or_else(|| promotion::is_learnt(draft, promotion::changed_at(draft)?))
        .or_else(|| paused(draft))?;
    let phase = if standing.phase == Phase::Progressing { Phase::Promoting } else { standing.phase };
    Some(Standing { phase, ..standing })
}

/// A hold that only a person ends.
fn stopped(draft: &Draft<'_>) -> Option<Standing> {
    let hold = draft.run()?.hold.as_ref()?;
    Some(Standing::new(Phase::Held, hold.reason, hold.message.clone()))
}

fn unconfirmed(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    if let Some(pause) = run.pause.as_ref().filter(|pause| pause.is_by_foreign_edit()) {
        return Some(Standing::new(Phase::Paused, pause.reason, pause.message.clone()));
    }
    // A projection that is still to be asked for is a write under way as well.
    let moving = draft
        .status
        .desired
        .as_ref()
        .is_some_and(|desired| draft.projected(intended(run)).is_some_and(|want| !draft.is_what(&want, desired)));
    if run.step == 0 && !moving && draft.status.desired.is_none() || !moving && draft.confirmed_everywhere() {
        return None;
    }
    let message =
        format!("waiting for the routes to confirm {}:{}", in_words(intended(run)), unconfirmed_in_words(draft));
    let (phase, reason) =
        if draft.is_late() { (Phase::Held, Reason::NotConfirmed) } else { (Phase::Progressing, Reason::Confirming) };
    Some(Standing::new(phase, reason, message))
}

/// The routes that do not show what is asked, with the best reason that is known.
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
    match (&live.failed, &live.accepted) {
        (Some(why), _) => format!("the write was refused: {why}"),
        (None, Accepted::No(why)) => format!("the data plane refused it: {why}"),
        (None, Accepted::Pending) => "the data plane has not accepted it yet".to_owned(),
        (None, Accepted::Yes | Accepted::Unsaid) => match &live.steering {
            None => format!("it shows {}", in_words(&live.weights)),
            Some(steering) => format!("it shows {} and {steering}", in_words(&live.weights)),
        },
    }
}

fn not_rehearsed(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    if run.step > 0 {
        return None;
    }
    let (begun_at, gaining) = (run.start.clone(), gaining(run));
    let changed_at = (!run.services.is_empty() && !gaining.is_empty()).then_some(run.started_at);
    let problem = start::routes_show(draft, &begun_at)
        .err()
        .or_else(|| health::not_ready(draft, &gaining))
        .or_else(|| start::rehearse(draft));
    match problem {
        Some(problem) => Some(Standing::not_ready(problem)),
        None => promotion::is_learnt(draft, changed_at?),
    }
}

/// The members that the next step raises, or tries beside their weight.
fn gaining(run: &Run) -> Vec<String> {
    let Some(next) = run.next() else { return Vec::new() };
    let tried = next.steering.iter().flat_map(Steering::members).map(str::to_owned);
    above(&next.weights, intended(run)).into_iter().chain(tried).collect()
}

/// The present weights have not held long enough with passing checks.
fn unproven(draft: &mut Draft<'_>) -> Option<Standing> {
    let analysis = &draft.input.spec.analysis;
    let run = draft.run()?.clone();
    let (number, step) = (run.step, run.present()?);
    if let Some(problem) = health::nobody_answers(draft, &run) {
        return Some(Standing::held(problem));
    }
    let desired = draft.status.desired.as_ref()?;
    let settled = later(desired.confirmed_at?, analysis.settle);
    let check = run.check.as_ref().filter(|check| check.at >= settled);
    match check.map(|check| (check.verdict, check)) {
        None => {
            let message =
                format!("step {number}: samples are ignored until the data plane has settled and a window is full");
            return Some(Standing::new(Phase::Progressing, Reason::Settling, message));
        }
        Some((Verdict::Unknown, check)) if check.reason == Reason::Settling => {
            return Some(Standing::new(
                Phase::Progressing,
                Reason::Settling,
                format!("step {number}: {}", check.message),
            ));
        }
        Some((Verdict::Unknown, check)) => {
            return Some(Standing::new(Phase::Held, check.reason, check.message.clone()));
        }
        Some((Verdict::Fail, check)) => {
            return Some(Standing::new(
                Phase::Progressing,
                Reason::Baking,
                format!("step {number}: a check failed, the bake starts again; {}", check.message),
            ));
        }
        Some((Verdict::Pass, _)) => {}
    }
    let (needed, checks) = (bake(step, analysis), step.iterations.unwrap_or(0));
    let missing = if run.baked < needed {
        format!("{} of bake {needed} left with passing checks", needed.saturating_sub(run.baked))
    } else {
        format!("{} of {checks} checks passed", run.passes)
    };
    ((run.baked < needed || run.passes < checks) && run.waiting_since.is_none())
        .then(|| Standing::new(Phase::Progressing, Reason::Baking, format!("step {number}: {missing}")))
}

/// Going on would leave no rollback target, or feed a member that cannot serve.
fn unsafe_to_go_on(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    if run.step == 0 {
        return None;
    }
    let next = gaining(run);
    let nobody_fit = draft.projected(intended(run)).is_none();
    let problem = match health::rollback_target_unavailable(run) {
        Some(problem) => Some(problem),
        None if nobody_fit => {
            Some(Problem::new(Reason::NoFitMember, "no member that can serve is left to take the weight"))
        }
        None => health::not_ready(draft, &next),
    };
    problem.map(Standing::not_ready)
}

fn paused(draft: &Draft<'_>) -> Option<Standing> {
    if let Some(pause) = draft.run()?.pause.as_ref() {
        return Some(Standing::new(Phase::Paused, pause.reason, pause.message.clone()));
    }
    draft
        .input
        .spec
        .paused
        .then(|| Standing::new(Phase::Paused, Reason::PausedBySpec, "spec.paused is true; checks and rollback go on"))
}

/// The step's own wait, after its bake.
fn waiting(draft: &mut Draft<'_>) -> Option<Standing> {
    let now = draft.now();
    let run = draft.run_mut()?;
    let number = run.step;
    let wait = run
        .present()
        .and_then(|step| step.wait)
        .filter(|_| !run.promoted.contains(&number) && run.soaking_since.is_none())?;
    let since = *run.waiting_since.get_or_insert(now);
    match wait {
        Wait::Promotion => {
            let message = format!("step {number} passed and waits for a person: cutover promote");
            Some(Standing::new(Phase::WaitingPromotion, Reason::WaitingForPromotion, message))
        }
        Wait::For(time) => {
            let end = later(since, time);
            draft.wake_at(end);
            (now < end).then(|| {
                Standing::new(
                    Phase::Progressing,
                    Reason::WaitingForTime,
                    format!("step {number} passed and waits {time}, until {end:.0}"),
                )
            })
        }
    }
}

fn soaking(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    let (since, time) = (run.soaking_since?, run.pinned.strategy.keep_previous.unwrap_or(Duration::ZERO));
    let end = later(since, time);
    if draft.now() >= end {
        return None;
    }
    let message =
        format!("all steps are done; rollback to {} stays possible until {end:.0}", in_words(&run.rollback_to));
    draft.wake_at(end);
    Some(Standing::new(Phase::Soaking, Reason::KeepingPrevious, message))
}

/// While a person or a time was waited for, unchanged checks were not recorded, or nobody looked: the last word before
/// an advance is a check of now.
fn stale(draft: &Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    let (number, checked) = (run.step, run.check.as_ref()?.at);
    let interval = draft.input.spec.analysis.interval;
    let fresh = draft.passes_now || between(checked, draft.now()) <= interval.saturating_add(interval);
    let message = || format!("step {number} passed before the wait; the next check decides");
    (run.step > 0 && !fresh).then(|| Standing::new(Phase::Progressing, Reason::Baking, message()))
}
