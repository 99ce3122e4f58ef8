//! What runs in the background while a run is live: probes and measurements.

use std::sync::atomic::Ordering;

use serde_json::json;
use tokio::time::{Duration, Instant, advance, sleep};

use super::at_step_1;
use crate::{
    api::status::Check,
    hub::{
        fixtures::{
            objects::request,
            world::{SILENT, World},
        },
        reconcile::Ended,
    },
    rollout::input::EndpointSeen,
};

/// How the endpoint of eu-3 answered lately, if it was probed.
fn endpoint(world: &World) -> Option<EndpointSeen> {
    let key = ("shop".to_owned(), "eu-3".to_owned());
    world.memory.probes.endpoints(&world.subject()).get(&key).copied()
}

/// Its failures and successes in a row.
fn counted(world: &World) -> Option<(u32, u32)> {
    endpoint(world).map(|seen| (seen.failures, seen.successes))
}

/// A pass, and then one that sees what came of it in the background: paused time goes on once all of that is done.
async fn round(world: &mut World) -> Ended {
    world.pass().await.unwrap();
    sleep(Duration::from_millis(1)).await;
    world.pass().await.unwrap()
}

fn check(world: &World) -> Option<Check> {
    world.rollout().status?.run?.check
}

#[tokio::test(start_paused = true)]
async fn endpoints_are_probed_every_five_seconds_while_a_run_is_live() {
    let (mut world, began) = (World::of(at_step_1()).await, Instant::now());
    let five = Duration::from_secs(5);
    assert_eq!(round(&mut world).await, Ended::Rest(Some(began + five)));
    assert_eq!(counted(&world), Some((0, 1)));
    world.members.status.store(503, Ordering::Relaxed);
    advance(five).await;
    round(&mut world).await;
    assert_eq!(counted(&world), Some((1, 0)));
}

#[tokio::test(start_paused = true)]
async fn what_was_probed_is_forgotten_with_the_run() {
    let mut world = World::of(at_step_1()).await;
    round(&mut world).await;
    assert!(endpoint(&world).is_some());
    world.api.store(&request("abort", "Abort"));
    world.list_all();
    world.passes().await;
    assert!(world.rollout().status.unwrap().run.is_none());
    assert_eq!(endpoint(&world), None);
}

#[tokio::test(start_paused = true)]
async fn a_round_of_measurements_is_decided_on_once_and_followed_by_another() {
    let mut world = World::of(at_step_1()).await;
    round(&mut world).await;
    advance(Duration::from_mins(2)).await;
    round(&mut world).await;
    let first = check(&world).unwrap();
    assert_eq!(first.unknown_in_a_row, 1);
    world.pass().await.unwrap();
    assert_eq!(check(&world), Some(first));
    advance(Duration::from_secs(10)).await;
    round(&mut world).await;
    assert_eq!(check(&world).unwrap().unknown_in_a_row, 2);
}

#[tokio::test(start_paused = true)]
async fn a_round_that_takes_longer_than_the_interval_is_waited_for() {
    let mut objects = at_step_1();
    objects[0]["spec"]["analysis"]["interval"] = json!("1s");
    let mut world = World::of(objects).await;
    round(&mut world).await;
    world.members.status.store(SILENT, Ordering::Relaxed);
    advance(Duration::from_mins(2)).await;
    world.pass().await.unwrap();
    advance(Duration::from_secs(2)).await;
    assert!(world.memory.measuring.is_under_way());
    let ended = world.pass().await.unwrap();
    assert!(matches!(ended, Ended::Rest(at) if at.is_none_or(|at| at > Instant::now())), "{ended:?}");
}
