//! Addresses of endpoints, from a resolver that answers as a test says.

use serde_json::json;
use tokio::time::{advance, sleep};

use super::*;
use crate::hub::fixtures::{
    objects::{member, rollout, stepping},
    world::World,
};

/// A rollout whose backends hold addresses.
async fn world() -> World {
    let slices = json!({"endpointSlice": {}});
    let mut object = rollout(&stepping());
    object["spec"]["services"][0]["backend"] = slices.clone();
    object["status"]["run"]["pinned"]["services"][0]["backend"] = slices;
    World::of([object, member("eu-1"), member("eu-3")]).await
}

/// Asks, and takes what comes back; says when it is time again.
async fn refresh(addresses: &mut Addresses, world: &World) -> Option<Instant> {
    let wake = Arc::default();
    let next = addresses.start_if_due(&world.hub, &world.subject(), &wake);
    if addresses.task.is_running() {
        wake.notified().await;
    }
    addresses.collect();
    next
}

fn known(addresses: &Addresses, world: &World) -> Vec<IpAddr> {
    addresses.of(&world.subject().services[0], "eu-3").to_vec()
}

#[tokio::test(start_paused = true)]
async fn addresses_are_looked_up_again_after_half_a_minute_and_kept_where_nobody_knows_any() {
    let (world, mut addresses) = (world().await, Addresses::default());
    let (first, second) = (IpAddr::from([203, 0, 113, 7]), IpAddr::from([203, 0, 113, 8]));
    let next = Some(Instant::now() + REFRESH_EVERY);
    assert_eq!(refresh(&mut addresses, &world).await, next);
    assert_eq!((known(&addresses, &world), world.members.lookups()), (vec![first], 2));
    *world.members.addresses.lock().unwrap() = vec![second];
    advance(Duration::from_secs(29)).await;
    assert_eq!(refresh(&mut addresses, &world).await, next);
    assert_eq!((known(&addresses, &world), world.members.lookups()), (vec![first], 0));
    advance(Duration::from_secs(1)).await;
    refresh(&mut addresses, &world).await;
    assert_eq!((known(&addresses, &world), world.members.lookups()), (vec![second], 2));
    world.members.addresses.lock().unwrap().clear();
    advance(REFRESH_EVERY).await;
    refresh(&mut addresses, &world).await;
    assert_eq!((known(&addresses, &world), world.members.lookups()), (vec![second], 2));
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_new_is_looked_up_at_once() {
    let (world, mut addresses) = (world().await, Addresses::default());
    refresh(&mut addresses, &world).await;
    addresses.hosts.remove("eu-3.example.com");
    world.members.lookups();
    refresh(&mut addresses, &world).await;
    assert_eq!(world.members.lookups(), 2);
}

#[tokio::test(start_paused = true)]
async fn where_no_backend_holds_addresses_none_are_looked_up_and_those_known_are_forgotten() {
    let (world, mut addresses) = (world().await, Addresses::default());
    refresh(&mut addresses, &world).await;
    let plain = World::of([rollout(&stepping()), member("eu-1"), member("eu-3")]).await;
    assert_eq!(refresh(&mut addresses, &plain).await, None);
    assert_eq!(plain.members.lookups(), 0);
    assert!(addresses.known.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pass_sees_the_addresses_that_were_looked_up_after_the_one_before() {
    let mut world = world().await;
    world.passes().await;
    sleep(Duration::from_millis(1)).await;
    assert!(known(&world.memory.addresses, &world).is_empty());
    world.pass().await.unwrap();
    assert_eq!(known(&world.memory.addresses, &world), [IpAddr::from([203, 0, 113, 7])]);
}
