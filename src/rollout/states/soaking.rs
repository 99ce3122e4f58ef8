//! All steps are done: checks go on, and rollback stays possible for `keepPrevious`.

use super::succeed;
use crate::{
    api::{
        Duration, Phase, Reason,
        status::{RunState, Soaking},
    },
    rollout::{draft::Draft, gates, standing::Standing, time::later},
};

pub(super) fn begin(draft: &mut Draft<'_>) -> Standing {
    let since = draft.now();
    if let Some(run) = draft.run_mut() {
        run.state = RunState::Soaking(Soaking { step: run.step(), since, bake: run.bake() });
    }
    draft.announce(false, Reason::KeepingPrevious, "all steps are done; rollback stays possible");
    advance(draft)
}

pub(super) fn advance(draft: &mut Draft<'_>) -> Standing {
    let obstacle = gates::not_proven(draft).or_else(|| not_over(draft)).or_else(|| gates::stale(draft));
    obstacle.unwrap_or_else(|| succeed(draft))
}

fn not_over(draft: &mut Draft<'_>) -> Option<Standing> {
    let run = draft.run()?;
    let RunState::Soaking(soaking) = &run.state else { return None };
    let end = later(soaking.since, run.pinned.strategy.keep_previous.unwrap_or(Duration::ZERO));
    if draft.now() >= end {
        return None;
    }
    let message = format!("all steps are done; rollback to {} stays possible until {end:.0}", run.rollback_to);
    draft.wake_at(end);
    Some(Standing::new(Phase::Soaking, Reason::KeepingPrevious, message))
}
