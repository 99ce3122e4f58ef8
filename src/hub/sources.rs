//! Service mode: what the users' own Services declare is read once more before a run begins or ends because of it. The
//! watches of Services and of rollouts may be at different times, and an older Service looks like a new declaration.

use super::{Hub, calls::CallError, observe::source, subject::Subject, turns::Turn};
use crate::api::{FleetRolloutStatus, Reason, status::Run};

/// Whether the Services led from one status to the other.
pub(super) fn lead(before: &FleetRolloutStatus, after: &FleetRolloutStatus) -> bool {
    let Some(run) = &after.run else { return false };
    match before.run.as_ref().filter(|before| before.number == run.number) {
        None => true,
        Some(before) => turned(run) && !before.is_rolling_back(),
    }
}

/// The run goes back because something else is declared.
fn turned(run: &Run) -> bool {
    let reason = run.state.rollback().map(|rollback| &rollback.reason);
    matches!(reason, Some(Reason::NewTarget | Reason::OldTargetDeclared))
}

/// Reads the Services that the rollout names. False if one of them is not what was seen of it.
pub(super) async fn are_as_seen(hub: &Hub, turn: &Turn, subject: &Subject<'_>) -> Result<bool, CallError> {
    let mut same = true;
    for placed in &subject.declared {
        same &= hub.calls.is_current(turn, &source(subject, placed)).await?;
    }
    Ok(same)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        hub::fixtures::{
            objects::{at_rest, backend, rollout, stepping},
            world::World,
        },
        rollout::Urgency,
    };

    fn own_service(version: &str) -> Value {
        let mut service = backend("eu-1", version);
        service["metadata"]["name"] = json!("shop");
        service
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_the_watch_has_not_shown_yet_is_noticed_once() {
        let world = World::of([rollout(&stepping()), own_service("21")]).await;
        let turn = world.hub.turns.wait("shop", Urgency::Ordinary).await;
        let are_as_seen = || async { super::are_as_seen(&world.hub, &turn, &world.subject()).await.unwrap() };
        assert!(are_as_seen().await);
        world.api.store(&own_service("30"));
        assert!(!are_as_seen().await);
        assert!(are_as_seen().await);
        assert_eq!(world.api.calls(), ["GET services/shop"; 3]);
    }

    #[test]
    fn a_run_that_begins_or_turns_back_for_another_declaration_is_led_by_services() {
        let status = |status: Value| serde_json::from_value::<FleetRolloutStatus>(status).unwrap();
        let back_for = |reason: &str| {
            let mut back = stepping();
            back["run"]["state"] = json!({"rollingBack": {
                "step": 1, "at": "2026-11-21T12:00:00Z", "reason": reason, "message": ""}});
            status(back)
        };
        let (rests, steps) = (status(at_rest()), status(stepping()));
        assert!(lead(&rests, &steps));
        assert!(lead(&steps, &back_for("OldTargetDeclared")));
        assert!(lead(&steps, &back_for("NewTarget")));
        for (before, after) in [
            (&steps, &back_for("MetricFailed")),
            (&back_for("NewTarget"), &back_for("NewTarget")),
            (&steps, &steps),
            (&steps, &rests),
        ] {
            assert!(!lead(before, after));
        }
    }
}
