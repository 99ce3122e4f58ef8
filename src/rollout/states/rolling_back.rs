//! Traffic goes back until every route confirms it; then the run has ended.

use super::{at_rest, end};
use crate::{
    api::{
        Distribution, Phase, Reason,
        status::{Outcome, RollingBack},
    },
    rollout::{draft::Draft, gates, standing::Standing},
};

pub(super) fn advance(draft: &mut Draft<'_>) -> Standing {
    let Some(rollback) = draft.run().and_then(|run| run.state.rollback().cloned()) else {
        return at_rest::stand(draft);
    };
    if !is_back(draft) {
        return on_the_way(draft, &rollback);
    }
    let outcome = match (rollback.reason, &rollback.by) {
        (Reason::NewTarget | Reason::ConfigChanged, _) => Outcome::Superseded,
        (_, Some(_)) => Outcome::RolledBack,
        (_, None) => Outcome::Failed,
    };
    if outcome != Outcome::Superseded {
        draft.status.failed_revision = draft.run().map(|run| run.revision.clone());
    }
    end(draft, outcome, rollback.reason, &rollback.message, rollback.by);
    at_rest::stand(draft)
}

/// Every route shows the rollback target, as far as its members can serve, and steers nothing and keeps nobody.
fn is_back(draft: &Draft<'_>) -> bool {
    let (Some(desired), Some(run)) = (&draft.status.desired, draft.run()) else { return true };
    let shows = |weights: &Distribution| desired.split.same_as(&weights.clone().into());
    let desired = shows(&run.rollback_to) || draft.projected().is_some_and(|split| shows(&split.weights));
    desired && draft.confirmed_everywhere()
}

fn on_the_way(draft: &Draft<'_>, rollback: &RollingBack) -> Standing {
    let rollback_to = draft.run().map(|run| run.rollback_to.to_string()).unwrap_or_default();
    let (phase, reason, unconfirmed) = if draft.is_late() {
        (Phase::Held, gates::late(draft), gates::unconfirmed_in_words(draft))
    } else {
        (Phase::Progressing, rollback.reason, String::new())
    };
    Standing::new(phase, reason, format!("going back to {rollback_to}: {}{unconfirmed}", rollback.message))
}
