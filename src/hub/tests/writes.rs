//! What is sent, in which order, and over which version.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{ROLLBACK, aborted, at_step_1};
use crate::{
    api::{FINALIZER, Split},
    hub::{
        fixtures::{
            api_server::Answer::Code,
            objects::{at_rest, backend, member, request, rollout, route},
            world::World,
        },
        reconcile::Ended,
    },
    rollout::{Action, RouteKey},
};

#[tokio::test(start_paused = true)]
async fn a_rollback_is_recorded_first_and_then_written_to_every_route_over_the_version_that_was_read() {
    let mut world = aborted().await;
    assert_eq!(world.pass().await, Ok(Ended::Again));
    assert_eq!(world.api.calls(), ROLLBACK);
    let weights = |route: &serde_json::Value| route["spec"]["rules"][0]["backendRefs"][1]["weight"].clone();
    let written: Vec<_> = world.api.stored("HTTPRoute").iter().map(weights).collect();
    assert_eq!(written, [json!(0), json!(0)]);
}

#[tokio::test(start_paused = true)]
async fn what_a_write_answered_is_what_the_next_pass_reads_and_writes_over() {
    let mut world = aborted().await;
    world.pass().await.unwrap();
    world.api.calls();
    assert_eq!(world.calls_of_a_pass().await, ["PUT fleetrollouts/shop/status rv=101", "POST events/shop.uid-shop.2"]);
    assert!(world.rollout().status.unwrap().run.is_none(), "every route confirmed the rollback");
}

#[tokio::test(start_paused = true)]
async fn the_first_writes_of_a_run_are_tried_without_being_stored() {
    let objects = [
        rollout(&at_rest()),
        route("intern", "11", &[("eu-1", 100)], 0),
        route("public", "12", &[("eu-1", 100)], 0),
        member("eu-1"),
        member("eu-3"),
        backend("eu-1", "21"),
        backend("eu-3", "22"),
    ];
    let mut world = World::of(objects).await;
    world.passes().await;
    world.woken().await;
    world.api.calls();
    let tried = ["PUT httproutes/intern rv=11 dryRun", "PUT httproutes/public rv=12 dryRun"];
    assert_eq!(world.calls_of_a_pass().await[1..], tried);
    let written = world.calls_of_a_pass().await;
    assert_eq!(written[1..3], ["PUT httproutes/intern rv=11", "PUT httproutes/public rv=12"]);
    let weight = |route: &serde_json::Value| route["spec"]["rules"][0]["backendRefs"][1]["weight"].clone();
    let of_the_canary: Vec<_> = world.api.stored("HTTPRoute").iter().map(weight).collect();
    assert_eq!(of_the_canary, [json!(0), json!(0)], "it is named before it gets traffic");
}

#[tokio::test(start_paused = true)]
async fn the_finalizer_is_set_over_the_version_that_was_read_and_nothing_else_is_sent() {
    let mut unguarded = rollout(&at_rest());
    unguarded["metadata"]["finalizers"] = json!(["other.dev/mine"]);
    let mut world = World::of([unguarded, member("eu-1"), member("eu-3")]).await;
    let calls = world.calls_of_a_pass().await;
    assert!(calls.contains(&"PATCH fleetrollouts/shop rv=101".to_owned()), "{calls:?}");
    assert_eq!(world.api.stored("FleetRollout")[0]["metadata"]["finalizers"], json!(["other.dev/mine", FINALIZER]));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_decided_before_all_that_the_rollout_names_was_read() {
    let mut world = World::of_late(at_step_1().into_iter().chain([request("abort", "Abort")])).await;
    world.api.script("GET httproutes/intern", Code(500));
    for _ in 0..2 {
        assert_eq!(world.pass().await, Ok(Ended::Rest(None)), "at most one of the routes was read");
        sleep(Duration::from_millis(10)).await;
    }
    let both = ["GET httproutes/intern", "GET httproutes/public"];
    assert_eq!(world.api.calls(), both);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(world.pass().await, Ok(Ended::Again));
    assert_eq!(world.api.calls(), [&both[..1], &ROLLBACK].concat());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_nothing_is_to_be_done() {
    let mut world = World::of(at_step_1()).await;
    world.pass().await.unwrap();
    world.api.calls();
    assert!(matches!(world.pass().await, Ok(Ended::Rest(Some(_)))));
    assert_eq!(world.api.calls(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_first_writes_of_a_rollback_do_not_wait_for_the_pace_of_writes() {
    let mut world = World::of(at_step_1()).await;
    world.pass().await.unwrap();
    let write = |route: &str| Action::WriteRoute {
        route: RouteKey { service: "shop".to_owned(), route: route.to_owned() },
        split: Split::default(),
        run: 1,
        sequence: 4,
    };
    world.memory.attempts.record(&write("HTTPRoute/intern"), &Ok(()), Instant::now());
    world.api.calls();
    world.api.store(&request("abort", "Abort"));
    world.list_all();
    assert_eq!(world.pass().await, Ok(Ended::Again));
    let written = |calls: Vec<String>| calls.into_iter().filter(|call| call.contains("httproutes")).collect::<Vec<_>>();
    assert_eq!(written(world.api.calls()), ROLLBACK[1..3]);
}
