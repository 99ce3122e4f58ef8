//! A step of the plan stands: it is proven, and then the next one is taken.

use super::{soaking, succeed};
use crate::{
    api::{
        Phase, Reason,
        status::{Promoting, RunState, Stepping},
        strategy::Wait,
    },
    rollout::{
        approvals, checks,
        draft::{Draft, Evidence},
        gates, hooks, promotion, schedule,
        standing::Standing,
        time::later,
    },
};

pub(super) fn advance(draft: &mut Draft<'_>) -> Standing {
    let obstacle = gates::not_proven(draft).or_else(|| waiting(draft));
    let closed = if obstacle.is_none() { closed(draft) } else { None };
    note_closed(draft, closed.is_some());
    match obstacle.or(closed).or_else(|| gates::stale(draft)) {
        Some(standing) => standing,
        None => go_on(draft),
    }
}

/// The next step; after the last one the soak, or success.
fn go_on(draft: &mut Draft<'_>) -> Standing {
    let run = draft.run();
    if run.is_some_and(|run| run.next().is_some()) {
        take_next(draft)
    } else if run.is_some_and(|run| run.pinned.strategy.keep_previous.is_some()) {
        soaking::begin(draft)
    } else {
        succeed(draft)
    }
}

/// The next step may not be taken yet: a window, another rollout or a hook stands in the way.
fn closed(draft: &mut Draft<'_>) -> Option<Standing> {
    schedule::closed(draft).or_else(|| hooks::before_the_next_step(draft))
}

/// Since when only a window, another rollout or a hook stands in the way: that time does not count against the deadline.
fn note_closed(draft: &mut Draft<'_>, closed: bool) {
    let now = draft.now();
    if let Some(stepping) = stepping(draft) {
        stepping.closed_since = closed.then(|| stepping.closed_since.unwrap_or(now));
    }
}

fn stepping<'d>(draft: &'d mut Draft<'_>) -> Option<&'d mut Stepping> {
    match &mut draft.run_mut()?.state {
        RunState::Stepping(stepping) => Some(stepping),
        RunState::Preparing(_) | RunState::Promoting(_) | RunState::Soaking(_) | RunState::RollingBack(_) => None,
    }
}

/// The step's own wait, after its bake.
fn waiting(draft: &mut Draft<'_>) -> Option<Standing> {
    let (now, run) = (draft.now(), draft.run()?);
    let number = run.step();
    let wait = run.present()?.wait.filter(|_| !run.approved.contains(&number))?;
    let (passed, approvals) = (draft.passed_in_words(), approvals::awaited(run));
    let since = *stepping(draft)?.waiting_since.get_or_insert(now);
    match wait {
        Wait::Promotion => {
            let whom = approvals.map_or_else(|| "a person".to_owned(), |approvals| format!("people, {approvals}"));
            let message = format!("step {number} {passed} and waits for {whom}: cutover promote");
            Some(Standing::new(Phase::WaitingPromotion, Reason::WaitingForPromotion, message))
        }
        Wait::For(time) => {
            let end = later(since, time);
            draft.wake_at(end);
            let message = || format!("step {number} {passed} and waits {time}, until {end:.0}");
            (now < end).then(|| Standing::progressing(Reason::WaitingForTime, message()))
        }
    }
}

/// Takes the next step of the plan; where it gives traffic back to the primary, that becomes what passed first.
pub(super) fn take_next(draft: &mut Draft<'_>) -> Standing {
    let promotes = draft.run().is_some_and(promotion::is_next);
    let begun = if promotes { promotion::begin(draft) } else { None };
    begun.unwrap_or_else(|| take_step(draft))
}

fn take_step(draft: &mut Draft<'_>) -> Standing {
    let evidence = draft.evidence();
    let Some(run) = draft.run_mut() else { return super::at_rest::stand(draft) };
    let (step, steps) = (run.step() + 1, run.plan.len());
    let bake = run.bake();
    let copied_at = match &run.state {
        RunState::Promoting(promoting) => promoting.copied_at,
        RunState::Preparing(_) | RunState::Stepping(_) | RunState::Soaking(_) | RunState::RollingBack(_) => None,
    };
    let promotes = copied_at.is_some() || run.step_at(step).is_some_and(|step| step.promotes);
    run.state = if promotes {
        RunState::Promoting(Promoting { step, copied_at })
    } else {
        RunState::Stepping(Stepping { step, bake, waiting_since: None, closed_since: None })
    };
    let (phase, why) = match (copied_at, promotes, step) {
        (Some(_), _, _) if evidence == Evidence::Checks => (run.promotion_phase(), "the primary is what passed"),
        (Some(_), _, _) => (run.promotion_phase(), "the primary is what the canary is"),
        (None, true, _) => (Phase::Promoting, "nothing goes to the primary while it is changed"),
        (None, false, 1) => (Phase::Progressing, "rehearsed and ready"),
        (None, false, _) if evidence == Evidence::Checks => (Phase::Progressing, "the step before it passed"),
        (None, false, _) => (Phase::Progressing, "the step before it is over, with nothing measured"),
    };
    let message = gates::being_written(run);
    let split = gates::split_in_words(run);
    draft.announce(false, Reason::Confirming, format!("step {step}/{steps}: {split}; {why}"));
    // A step that only proves the weights that are there waits for no write.
    checks::wake_for_next(draft);
    Standing::new(phase, Reason::Confirming, message)
}
