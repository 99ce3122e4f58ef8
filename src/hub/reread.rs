//! What a decision rests on is read once more, where a watch that is behind would make it a wrong one.
//!
//! - In service mode, what the users' own Services declare, before a run begins or ends because of it: the watches of Services
//!   and of rollouts may be at different times, and an older Service looks like a new declaration.
//! - The routes, before a step is taken back because they do not show it: it may be the hub that does not see them.

use super::{Hub, calls::CallError, observe::source, subject::Subject, turns::Turn};
use crate::{
    api::{FleetRolloutStatus, Mode, Reason, status::Run},
    object::Target,
    route,
};

/// Reads the objects because of which the status is to become `after`. False if one of them is not what was seen of it.
pub(super) async fn is_as_seen(
    hub: &Hub,
    turn: &Turn,
    subject: &Subject<'_>,
    mode: Mode,
    after: &FleetRolloutStatus,
) -> Result<bool, CallError> {
    let mut same = true;
    for target in premises(subject, mode, after) {
        same &= hub.calls.is_current(turn, &target).await?;
    }
    Ok(same)
}

fn premises(subject: &Subject<'_>, mode: Mode, after: &FleetRolloutStatus) -> Vec<Target> {
    let mut premises = Vec::new();
    if mode == Mode::Service && is_by_services(subject.status, after) {
        premises.extend(subject.declared.iter().map(|placed| source(subject, placed)));
    }
    if is_by_lateness(subject.status, after) {
        premises.extend(routes(subject));
    }
    premises
}

fn routes(subject: &Subject<'_>) -> Vec<Target> {
    let of = |placed| {
        let context = subject.context(placed);
        placed.spec.routes.iter().flat_map(|route| route::targets(&context, route)).collect::<Vec<_>>()
    };
    subject.services.iter().flat_map(of).collect()
}

/// Whether the Services led from one status to the other.
fn is_by_services(before: &FleetRolloutStatus, after: &FleetRolloutStatus) -> bool {
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

/// The step is taken back because a route did not show it in time.
fn is_by_lateness(before: &FleetRolloutStatus, after: &FleetRolloutStatus) -> bool {
    let is_skewed = |status: &FleetRolloutStatus| {
        status.run.as_ref().and_then(|run| run.hold.as_ref()).is_some_and(|hold| hold.reason == Reason::Skewed)
    };
    is_skewed(after) && !is_skewed(before)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        hub::{
            fixtures::{
                objects::{at_rest, backend, member, rollout, route, stepping},
                world::World,
            },
            reconcile::Ended,
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
        let (subject, mut back) = (world.subject(), stepping());
        back["run"]["number"] = json!(2);
        let after = serde_json::from_value(back).unwrap();
        let is_as_seen =
            || async { super::is_as_seen(&world.hub, &turn, &subject, Mode::Service, &after).await.unwrap() };
        assert!(is_as_seen().await);
        world.api.store(&own_service("30"));
        assert!(!is_as_seen().await);
        assert!(is_as_seen().await);
        assert_eq!(world.api.calls(), ["GET services/shop"; 3]);
    }

    /// Step 1 was written to both routes a while ago, and the watch does not show that the Gateway took them.
    fn unconfirmed() -> Vec<Value> {
        let mut status = stepping();
        status["desired"]["confirmedAt"].take();
        status["routes"] = json!([]);
        let mut objects =
            vec![rollout(&status), member("eu-1"), member("eu-3"), backend("eu-1", "21"), backend("eu-3", "22")];
        objects.extend(named(1, ["11", "12"]));
        objects
    }

    /// Both routes name eu-3, still without weight; the Gateway took this generation of them.
    fn named(generation: i64, versions: [&str; 2]) -> [Value; 2] {
        let weights = [("eu-1", 100), ("eu-3", 0)];
        [("intern", versions[0]), ("public", versions[1])]
            .map(|(name, version)| accepted(route(name, version, &weights, 3), generation))
    }

    /// Both routes show step 1.
    fn raised(generation: i64, versions: [&str; 2]) -> [Value; 2] {
        let weights = [("eu-1", 80), ("eu-3", 20)];
        [("intern", versions[0]), ("public", versions[1])]
            .map(|(name, version)| accepted(route(name, version, &weights, 4), generation))
    }

    /// A route of generation 2, of which the Gateway took this one.
    fn accepted(mut route: Value, generation: i64) -> Value {
        route["metadata"]["generation"] = json!(2);
        for condition in route["status"]["parents"][0]["conditions"].as_array_mut().unwrap() {
            condition["observedGeneration"] = json!(generation);
        }
        route
    }

    #[tokio::test(start_paused = true)]
    async fn no_step_is_taken_back_for_routes_that_only_the_watch_does_not_show() {
        let lists = ["GET httproutes/intern", "GET httproutes/public"];
        for stored in [named(2, ["31", "32"]), raised(2, ["31", "32"])] {
            let mut world = World::of(unconfirmed()).await;
            for route in &stored {
                world.api.store(route);
            }
            tokio::time::sleep(Duration::from_secs(70)).await;
            assert_eq!(world.pass().await, Ok(Ended::Again));
            assert_eq!(world.api.calls(), lists);
            world.passes().await;
            let run = world.rollout().status.unwrap().run.unwrap();
            assert_eq!((run.step(), run.hold), (1, None));
            let weight = |route: &Value| route["spec"]["rules"][0]["backendRefs"][1]["weight"].clone();
            let weights: Vec<_> = world.api.stored("HTTPRoute").iter().map(weight).collect();
            assert_eq!(weights, [json!(20), json!(20)]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_is_taken_back_for_routes_that_really_do_not_show_it() {
        let mut world = World::of(unconfirmed()).await;
        tokio::time::sleep(Duration::from_secs(70)).await;
        world.pass().await.unwrap();
        assert_eq!(world.api.calls()[..2], ["GET httproutes/intern", "GET httproutes/public"]);
        let run = world.rollout().status.unwrap().run.unwrap();
        assert_eq!(run.hold.map(|hold| hold.reason), Some(Reason::Skewed));
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
        assert!(is_by_services(&rests, &steps));
        assert!(is_by_services(&steps, &back_for("OldTargetDeclared")));
        assert!(is_by_services(&steps, &back_for("NewTarget")));
        for (before, after) in [
            (&steps, &back_for("MetricFailed")),
            (&back_for("NewTarget"), &back_for("NewTarget")),
            (&steps, &steps),
            (&steps, &rests),
        ] {
            assert!(!is_by_services(before, after));
        }
    }
}
