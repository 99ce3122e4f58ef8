//! Whose a mark on a route is, and whether a hub can have left it there.

use super::input::{LiveRoute, Mark, RouteKey};
use crate::api::{FleetRolloutStatus, status::AdoptedMark};

/// A status from a backup is behind its routes by fewer writes than this: at one a second they take eleven days.
const FAR: u64 = 1_000_000;

/// The mark of a route, unless no hub can have left it: such a mark is an edit, judged like any other, and stops nothing.
///
/// Of our own marks only those ahead of the status matter: they say that the status is an old one, if our field manager
/// wrote them and they are not further ahead than we ever get. Another's mark that somebody else wrote counts only as
/// long as this rollout has not written the route itself.
#[must_use]
pub fn credible<'l>(
    status: &FleetRolloutStatus,
    hub: &str,
    uid: &str,
    key: &RouteKey,
    live: &'l LiveRoute,
) -> Option<&'l Mark> {
    let mark = live.mark.as_ref()?;
    let by_a_hub = live.marked_by.is_none();
    let is_credible = if mark.hub == hub && mark.rollout == uid {
        mark.sequence <= status.sequence || by_a_hub && is_within_reach(status, mark)
    } else {
        by_a_hub || !is_written(status, key)
    };
    is_credible.then_some(mark)
}

fn is_within_reach(status: &FleetRolloutStatus, mark: &Mark) -> bool {
    mark.sequence <= status.sequence.saturating_add(FAR)
}

/// The route confirmed a write of this rollout.
pub(super) fn is_written(status: &FleetRolloutStatus, key: &RouteKey) -> bool {
    status.route(&key.service, &key.route).is_some()
}

/// Records that the writers of these marks are gone, and goes on with a sequence above theirs.
pub(super) fn adopt(status: &mut FleetRolloutStatus, hub: &str, uid: &str, marks: &[&Mark]) {
    let reached = marks.iter().filter(|mark| is_within_reach(status, mark)).map(|mark| mark.sequence).max();
    let others = marks.iter().filter(|mark| mark.hub != hub || mark.rollout != uid);
    status.adopted = others
        .map(|mark| AdoptedMark { hub: mark.hub.clone(), rollout: mark.rollout.clone(), sequence: mark.sequence })
        .collect();
    status.sequence = status.sequence.max(reached.unwrap_or(0));
}

/// The writer of this mark was gone when a person adopted what it had left, and has not written since.
#[must_use]
pub(super) fn is_adopted(status: &FleetRolloutStatus, mark: &Mark) -> bool {
    status
        .adopted
        .iter()
        .any(|adopted| adopted.hub == mark.hub && adopted.rollout == mark.rollout && mark.sequence <= adopted.sequence)
}
