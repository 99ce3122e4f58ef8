//! Service mode: while what passed becomes the primary nothing is left to prove. The primary must be there and serve, and
//! every route must show what is desired; until then the traffic stays where it is healthy.

use super::{stepping, succeed};
use crate::{
    api::{Phase, status::Run},
    rollout::{draft::Draft, gates, promotion, standing::Standing},
};

pub(super) fn advance(draft: &mut Draft<'_>) -> Standing {
    let obstacle = gates::stopped(draft)
        .or_else(|| gates::unconfirmed(draft))
        .or_else(|| gates::unsafe_to_go_on(draft))
        .or_else(|| promotion::not_learnt(draft, promotion::changed_at(draft)?))
        .or_else(|| promotion::primary_not_ready(draft))
        .or_else(|| gates::paused(draft));
    match obstacle {
        Some(Standing { phase: Phase::Progressing, reason, message }) => {
            let phase = draft.run().map_or(Phase::Promoting, Run::promotion_phase);
            Standing { phase, reason, message }
        }
        Some(standing) => standing,
        None if draft.run().is_some_and(|run| run.next().is_some()) => stepping::take_next(draft),
        None => succeed(draft),
    }
}
