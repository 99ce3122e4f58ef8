//! Write-ahead: a decision is recorded before anything is done about it.

use kube::core::ObjectMeta;

use super::{Hub, cache::Key, calls::CallError, subject::recorded, turns::Turn};
use crate::{
    api::{FleetRollout, FleetRolloutStatus},
    rollout::Action,
};

/// The rollout whose status says what is decided, as it is stored; `None` if another version was faster, and then
/// nothing is done: the pass is made again.
pub(super) async fn persist(
    hub: &Hub,
    turn: &Turn,
    rollout: &FleetRollout,
    status: &FleetRolloutStatus,
    actions: &[Action],
) -> Result<Option<FleetRollout>, CallError> {
    if recorded(rollout) != status {
        return record(hub, turn, rollout, status).await;
    }
    if actions.is_empty() {
        return Ok(Some(rollout.clone()));
    }
    still_the_same(hub, turn, rollout).await
}

async fn record(
    hub: &Hub,
    turn: &Turn,
    rollout: &FleetRollout,
    status: &FleetRolloutStatus,
) -> Result<Option<FleetRollout>, CallError> {
    let metadata = ObjectMeta { managed_fields: None, ..rollout.metadata.clone() };
    let next = FleetRollout { metadata, spec: rollout.spec.clone(), status: Some(status.clone()) };
    match hub.calls.write_rollout_status(turn, &next).await {
        Ok(written) => {
            let key = Key::of(rollout);
            hub.metrics.count_recorded((&key.namespace, &key.name), recorded(rollout), status);
            Ok(Some(written))
        }
        Err(CallError::Conflict | CallError::Gone) => {
            hub.metrics.count_status_conflict();
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Where the status does not change, nothing guards against an old copy; so the rollout itself is read.
async fn still_the_same(hub: &Hub, turn: &Turn, rollout: &FleetRollout) -> Result<Option<FleetRollout>, CallError> {
    match hub.calls.read(turn, &Key::of(rollout)).await {
        Ok(now) => Ok((now.metadata.resource_version == rollout.metadata.resource_version).then_some(now)),
        Err(CallError::Gone) => Ok(None),
        Err(error) => Err(error),
    }
}
