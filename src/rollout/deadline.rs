//! `progressDeadline`: how long a run may take, not counting what people, windows and other rollouts take.

use super::{checks, draft::Draft, standing::Standing, time::later};
use crate::api::{
    Reason,
    status::{Run, RunState},
};

/// Counts the time in which nothing but a member that does not become ready stands in the way; there are no checks in it that
/// would count. True if the deadline has passed by that, and what follows is decided.
pub(super) fn passes_while_not_ready(draft: &mut Draft<'_>, standing: &Standing) -> bool {
    let (now, paused) = (draft.now(), draft.input.spec.paused);
    let Some(run) = draft.run_mut() else { return false };
    let waits = !paused && waits_for_a_member(run, standing.reason);
    if waits {
        return passes_now(draft, &standing.message);
    }
    (run.deadline_used, run.not_ready_since) = (run.deadline_used_at(now), None);
    false
}

fn waits_for_a_member(run: &Run, reason: Reason) -> bool {
    let is_its_turn = match run.state {
        RunState::Preparing(_) | RunState::Stepping(_) => true,
        // What passed has the traffic, and no rollback target serves better.
        RunState::Promoting(_) | RunState::Soaking(_) | RunState::RollingBack(_) => false,
    };
    let is_free = run.pause.is_none() && run.hold.is_none();
    is_its_turn && is_free && matches!(reason, Reason::MemberNotReady | Reason::BackendNotReady)
}

fn passes_now(draft: &mut Draft<'_>, obstacle: &str) -> bool {
    let now = draft.now();
    let Some(run) = draft.run_mut() else { return false };
    run.not_ready_since.get_or_insert(now);
    let used = run.deadline_used_at(now);
    let Some(deadline) = run.pinned.strategy.progress_deadline else { return false };
    if used <= deadline {
        draft.wake_at(later(now, deadline.saturating_sub(used).saturating_add(checks::SHORTEST)));
        return false;
    }
    let message = format!("progressDeadline of {deadline} has passed: {obstacle}");
    checks::fail(draft, Reason::ProgressDeadlineExceeded, message);
    true
}
