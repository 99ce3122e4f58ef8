//! Which rollouts have a task, seen by what is written of them.

use std::sync::Mutex;

use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::*;
use crate::{
    api::FleetRollout,
    hub::{
        Guarded,
        cache::Availability,
        fixtures::{
            objects::{at_rest, member, rollout, route},
            world::{TURNS, World, soon},
        },
    },
};

type RolloutEvent = Event<Guarded<FleetRollout>>;

/// A world in which the first pass of a rollout writes its status.
async fn world() -> (World, JoinHandle<()>) {
    let routes = ["intern", "public"].map(|name| route(name, "11", &[("eu-1", 100)], 0));
    let objects = [rollout(&at_rest()), member("eu-1"), member("eu-3")].into_iter().chain(routes);
    let world = World::of(objects).await;
    let controller = tokio::spawn(run(world.hub.clone()));
    (world, controller)
}

/// Waits until this was called.
async fn called(world: &World, call: &str) {
    let calls = Mutex::new(Vec::new());
    let is_called = || {
        calls.lock().unwrap().extend(world.api.calls());
        calls.lock().unwrap().iter().any(|one| one == call)
    };
    soon(call, is_called).await;
}

/// The watch shows this.
fn show(world: &World, event: fn(Guarded<FleetRollout>) -> RolloutEvent, object: &Value) {
    let change = world.hub.rollouts.take(event(serde_json::from_value(object.clone()).unwrap()));
    world.hub.declarations_changed(&change);
}

#[tokio::test(start_paused = true)]
async fn every_rollout_has_a_task_until_the_process_resigns() {
    let (world, controller) = world().await;
    called(&world, "PUT fleetrollouts/shop/status rv=5").await;
    world.hub.leadership.resign();
    controller.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_rollout_of_the_same_name_is_another_one_and_has_a_task_of_its_own() {
    let (world, _controller) = world().await;
    called(&world, "PUT fleetrollouts/shop/status rv=5").await;
    let waker = world.hub.wakers.of(&Key::new("shop", "shop"));
    show(&world, Event::Delete, &world.api.stored("FleetRollout")[0]);
    soon("the task has ended", || !Arc::ptr_eq(&waker, &world.hub.wakers.of(&Key::new("shop", "shop")))).await;
    let mut next = rollout(&at_rest());
    next["metadata"]["uid"] = json!("uid-next");
    next["metadata"]["resourceVersion"] = json!("200");
    world.api.store(&next);
    show(&world, Event::Apply, &next);
    called(&world, "PUT fleetrollouts/shop/status rv=200").await;
}

#[tokio::test(start_paused = true)]
async fn no_task_begins_before_everything_that_is_declared_was_listed() {
    let (world, _controller) = world().await;
    world.hub.requests.unavailable(Availability::Forbidden);
    assert_eq!(world.hub.missing(), Some("RolloutRequests have not been listed yet"));
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.api.calls(), [""; 0]);
    world.list_all();
    world.hub.changed.notify_one();
    called(&world, "PUT fleetrollouts/shop/status rv=5").await;
}
