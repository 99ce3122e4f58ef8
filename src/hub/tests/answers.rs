//! What a pass does with each answer of the API server.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, advance, timeout};

use super::{ROLLBACK, aborted, at_step_1, at_target, settled};
use crate::hub::{
    cache::Key,
    calls::CallError,
    fixtures::{
        api_server::Answer::{self, Code, Never},
        objects::{rollout, stepping},
        world::World,
    },
    lease::Claim,
    reconcile::Ended,
};

const SECOND: Duration = Duration::from_secs(1);

/// A rollback whose first write to the route intern was answered so.
async fn failed(answer: Answer) -> World {
    let mut world = aborted().await;
    world.api.script("PUT httproutes/intern", answer);
    assert_eq!(world.pass().await, Ok(Ended::Again));
    world
}

#[tokio::test(start_paused = true)]
async fn a_rollback_goes_on_to_the_next_route_whatever_became_of_the_one_before() {
    for answer in [Code(403), Code(404), Code(409), Code(422), Code(429), Code(500), Never] {
        let world = failed(answer).await;
        let calls = world.api.calls();
        let first: Vec<&str> = calls.iter().map(String::as_str).filter(|call| !call.starts_with("GET")).collect();
        assert_eq!(first, ROLLBACK, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_newer_than_known_is_read_again_after_the_others_were_written() {
    for (answer, is_read) in
        [(Code(403), false), (Code(404), false), (Code(409), true), (Code(500), false), (Never, false)]
    {
        let world = failed(answer).await;
        let calls = world.api.calls();
        let place = |call: &str| calls.iter().position(|made| made.starts_with(call));
        let read = place("GET httproutes/intern");
        assert_eq!(read.is_some(), is_read, "{answer:?}");
        assert!(read.is_none_or(|read| Some(read) > place("PUT httproutes/public")), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_failed_is_made_again_after_a_second_and_then_after_two() {
    for answer in [Code(403), Code(500), Never] {
        let mut world = failed(answer).await;
        world.api.calls();
        let failed_at = Instant::now();
        assert_eq!(world.pass().await, Ok(Ended::Rest(Some(failed_at + SECOND))), "{answer:?}");
        assert!(!world.api.calls().iter().any(|call| call.contains("httproutes")), "{answer:?}");
        advance(SECOND).await;
        world.api.script("PUT httproutes/intern", answer);
        assert_eq!(world.pass().await, Ok(Ended::Again));
        let failed_at = Instant::now();
        assert_eq!(world.pass().await, Ok(Ended::Rest(Some(failed_at + 2 * SECOND))), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_met_a_newer_version_is_made_again_after_a_second_however_often() {
    let mut world = failed(Code(409)).await;
    for _ in 0..3 {
        let met_at = Instant::now();
        assert_eq!(world.pass().await, Ok(Ended::Rest(Some(met_at + SECOND))));
        advance(SECOND).await;
        world.api.script("PUT httproutes/intern", Code(409));
        assert_eq!(world.pass().await, Ok(Ended::Again));
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_status_stays_the_rollout_is_read_before_anything_is_written() {
    let mut world = failed(Code(500)).await;
    world.pass().await.unwrap();
    world.api.calls();
    advance(SECOND).await;
    assert_eq!(world.calls_of_a_pass().await, ["GET fleetrollouts/shop", "PUT httproutes/intern rv=11"]);
}

#[tokio::test(start_paused = true)]
async fn where_the_rollout_is_another_one_than_was_decided_about_nothing_is_written() {
    let mut world = failed(Code(500)).await;
    world.pass().await.unwrap();
    world.api.calls();
    advance(SECOND).await;
    let mut newer = world.api.stored("FleetRollout").remove(0);
    newer["metadata"]["resourceVersion"] = json!("200");
    world.api.store(&newer);
    assert_eq!(world.pass().await, Ok(Ended::Stale));
    assert_eq!(world.api.calls(), ["GET fleetrollouts/shop"]);
    assert_eq!(world.rollout().metadata.resource_version.as_deref(), Some("200"), "the next pass is about that one");
}

#[tokio::test(start_paused = true)]
async fn no_route_is_written_where_the_decision_was_not_recorded() {
    let message = || "scripted".to_owned();
    for (answer, ended) in [
        (Code(409), Ok(Ended::Stale)),
        (Code(404), Ok(Ended::Stale)),
        (Code(403), Err(CallError::Refused(message()))),
        (Code(500), Err(CallError::Failed(message()))),
        (Never, Err(CallError::Late)),
    ] {
        let mut world = aborted().await;
        world.api.script("PUT fleetrollouts/shop/status", answer);
        assert_eq!(world.pass().await, ended, "{answer:?}");
        assert_eq!(world.api.calls(), ["PUT fleetrollouts/shop/status rv=5"], "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_while_the_process_does_not_lead_or_could_not_end_the_call() {
    for claim in [Claim::None, Claim::Until(Instant::now() + 3 * SECOND)] {
        let mut world = aborted().await;
        world.claim.send_replace(claim);
        assert_eq!(world.pass().await, Err(CallError::NotLeading), "{claim:?}");
        assert_eq!(world.api.calls(), [""; 0], "{claim:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_runs_out_within_a_pass_ends_its_calls() {
    let mut world = aborted().await;
    world.claim.send_replace(Claim::Until(Instant::now() + 6 * SECOND));
    world.api.script("PUT httproutes/intern", Never);
    world.pass().await.unwrap();
    assert_eq!(world.api.calls().last().unwrap(), "PUT httproutes/intern rv=11");
}

#[tokio::test(start_paused = true)]
async fn a_route_that_is_gone_is_not_written_again() {
    let mut world = failed(Code(404)).await;
    advance(SECOND).await;
    world.api.calls();
    let calls = world.calls_of_a_pass().await;
    assert!(!calls.iter().any(|call| call.contains("httproutes/intern")), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn a_status_that_another_one_wrote_meanwhile_is_the_next_decision() {
    let mut world = World::of(at_step_1()).await;
    let mut newer = rollout(&stepping());
    newer["metadata"]["resourceVersion"] = json!("6");
    newer["spec"]["suspend"] = json!(true);
    world.api.store(&newer);
    assert_eq!(world.pass().await, Ok(Ended::Stale));
    world.list_all();
    world.pass().await.unwrap();
    assert_eq!(world.api.calls(), ["PUT fleetrollouts/shop/status rv=5", "PUT fleetrollouts/shop/status rv=6"]);
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_depends_on_this_one_is_woken_when_it_stands_otherwise() {
    let mut late = rollout(&json!({}));
    late["metadata"]["name"] = json!("late");
    late["spec"]["dependsOn"] = json!([{"name": "shop"}]);
    let mut world = World::of(at_target(&settled()).into_iter().chain([late])).await;
    let wake = world.hub.wakers.of(&Key::new("shop", "late"));
    world.pass().await.unwrap();
    assert!(timeout(Duration::ZERO, wake.notified()).await.is_ok());
    world.pass().await.unwrap();
    assert!(timeout(Duration::ZERO, wake.notified()).await.is_err(), "nothing changed for it");
}
