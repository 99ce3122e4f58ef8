//! The health of a member, as its checks found it, in its status.

use kube::ResourceExt;

use super::{CallError, Hub};
use crate::{api::MemberCluster, member::status, rollout::Urgency};

/// Writes the status if it differs from what the last check found; true if it did. A check of an object that is gone
/// says nothing about its successor.
pub(super) async fn write(hub: &Hub, object: &MemberCluster) -> Result<bool, CallError> {
    let Some(member) = hub.registry.member(&object.name_any()).filter(|member| member.declared.uid == object.uid())
    else {
        return Ok(false);
    };
    let Some(health) = member.health() else { return Ok(false) };
    let (before, duplicate) = (object.status.clone().unwrap_or_default(), hub.registry.duplicate_of(&member));
    let after = status::next(&before, &health, duplicate.as_deref(), member.declared.generation, hub.clock.now());
    match after {
        None => Ok(false),
        Some(after) => {
            let turn = hub.turns.wait("", Urgency::Ordinary).await;
            hub.calls.set_member_status(&turn, &object.metadata, &after).await.map(|()| true)
        }
    }
}
