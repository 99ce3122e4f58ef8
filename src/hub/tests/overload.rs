//! Who gets the turns at an API server that has too much to do.

use serde_json::json;
use tokio::time::{Duration, advance, sleep};

use super::{ROLLBACK, aborted, at_step_1};
use crate::{
    api::status::{Check, Verdict},
    hub::{
        fixtures::{api_server::Answer::Code, objects::request, world::World},
        reconcile::Ended,
        turns::Turn,
    },
    rollout::Urgency,
};

const INTERVAL: Duration = Duration::from_secs(10);
const LAG: Duration = Duration::from_secs(15);
const CHECK: [&str; 1] = ["PUT fleetrollouts/shop/status rv=102"];

/// At step 1 with a metric that passes while it is below 1.
async fn measured() -> World {
    let mut objects = at_step_1();
    objects[0]["spec"]["analysis"]["metrics"] =
        json!([{"name": "errors", "perMember": {"max": 1}, "query": "errors{service=\"{{ service }}\"}"}]);
    let mut world = World::of(objects).await;
    round(&mut world, "0.5").await;
    advance(Duration::from_secs(70)).await;
    round(&mut world, "0.5").await;
    assert_eq!(check(&world).verdict, Verdict::Pass, "{:?}", check(&world));
    world.api.calls();
    world
}

/// A pass while every member's Prometheus says so, and then one that sees what came of it in the background.
async fn round(world: &mut World, value: &str) -> Ended {
    let evaluated_at = world.hub.clock.now() - LAG;
    let sample = json!({"metric": {}, "value": [evaluated_at.as_second(), value]});
    let page = json!({"status": "success", "data": {"resultType": "vector", "result": [sample]}});
    world.members.answer_to("GET /api/v1/query", 200, &page);
    world.pass().await.unwrap();
    sleep(Duration::from_millis(1)).await;
    world.pass().await.unwrap()
}

fn check(world: &World) -> Check {
    world.rollout().status.unwrap().run.unwrap().check.unwrap()
}

/// Others have all turns.
fn busy(world: &World) -> Vec<Turn> {
    let turns = &world.hub.turns;
    std::iter::from_fn(|| turns.ask(None, "billing", Urgency::Ordinary, &std::sync::Arc::default()).ok()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_check_that_passed_again_is_dropped_and_the_next_one_is_recorded() {
    let mut world = measured().await;
    let (others, before) = (busy(&world), check(&world));
    advance(INTERVAL).await;
    assert!(matches!(round(&mut world, "0.5").await, Ended::Rest(Some(_))));
    assert_eq!(world.api.calls(), [""; 0]);
    drop(others);
    world.pass().await.unwrap();
    assert_eq!(world.api.calls(), [""; 0], "it was dropped");
    advance(INTERVAL).await;
    round(&mut world, "0.5").await;
    assert_eq!(world.api.calls(), CHECK);
    assert!(check(&world).at.duration_since(before.at).as_secs() >= 20);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_did_not_pass_waits_for_its_turn_and_is_recorded_although_the_next_one_passes() {
    let mut world = measured().await;
    let others = busy(&world);
    advance(INTERVAL).await;
    round(&mut world, "5").await;
    advance(INTERVAL).await;
    round(&mut world, "0.5").await;
    assert_eq!(world.api.calls(), [""; 0]);
    drop(others);
    world.woken().await;
    world.pass().await.unwrap();
    assert_eq!(world.api.calls()[..1], CHECK);
    assert_eq!(check(&world).metrics[0].value, Some(5.0));
}

#[tokio::test(start_paused = true)]
async fn a_canary_rises_on_what_is_measured_when_its_turn_has_come() {
    let mut world = measured().await;
    for _ in 0..5 {
        advance(INTERVAL).await;
        round(&mut world, "0.5").await;
    }
    world.api.calls();
    let others = busy(&world);
    advance(INTERVAL).await;
    round(&mut world, "0.5").await;
    assert!(world.memory.place.is_some(), "the last check of the bake passed, and the step waits for a turn");
    advance(INTERVAL).await;
    round(&mut world, "5").await;
    drop(others);
    world.woken().await;
    world.pass().await.unwrap();
    assert!(!world.api.calls().iter().any(|call| call.contains("httproutes")));
    assert_eq!(check(&world).metrics[0].value, Some(5.0));
    assert_eq!(world.rollout().status.unwrap().run.unwrap().step(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rollback_waits_for_nobody() {
    let mut world = World::of(at_step_1()).await;
    let _others = busy(&world);
    world.api.store(&request("abort", "Abort"));
    world.list_all();
    assert_eq!(world.pass().await, Ok(Ended::Again));
    assert_eq!(world.api.calls(), ROLLBACK);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_turn_that_is_not_needed_any_more() {
    let mut world = measured().await;
    let others = busy(&world);
    advance(INTERVAL).await;
    round(&mut world, "5").await;
    assert!(world.memory.place.is_some());
    world.memory.measuring.consumed();
    world.pass().await.unwrap();
    assert!(world.memory.place.is_none());
    drop(others);
    assert_eq!(busy(&world).len(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_answer_to_a_foreign_write_asks_for_holds_nothing_else_back() {
    let mut world = aborted().await;
    world.api.script("PUT httproutes/intern", Code(429));
    world.pass().await.unwrap();
    assert_eq!(busy(&world).len(), 8, "an admission webhook may have said so");
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_answer_to_a_write_of_the_status_asks_for_holds_all_back() {
    let mut world = aborted().await;
    world.api.script("PUT fleetrollouts/shop/status", Code(429));
    assert!(world.pass().await.is_err());
    assert_eq!(world.api.calls(), ROLLBACK[..1]);
    assert!(busy(&world).is_empty());
    sleep(Duration::from_secs(4)).await;
    assert!(!busy(&world).is_empty());
}
