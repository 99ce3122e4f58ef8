//! Transitions become events, each once.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{at_target, settled};
use crate::hub::{
    fixtures::{
        api_server::Answer::{Code, Never},
        objects::BEGIN,
        world::World,
    },
    reconcile::Ended,
};

const FIRST: &str = "POST events/shop.uid-shop.1";
const SECOND: &str = "POST events/shop.uid-shop.2";

/// Nothing is to be done but to announce two transitions.
async fn unannounced() -> World {
    let transition =
        |number: u64| json!({"number": number, "at": BEGIN, "warning": false, "reason": "AtTarget", "message": "m"});
    let mut status = settled();
    status["transitions"] = json!([transition(1), transition(2)]);
    World::of(at_target(&status)).await
}

fn events(world: &World) -> Vec<String> {
    world.api.calls().into_iter().filter(|call| call.contains("events")).collect()
}

#[tokio::test(start_paused = true)]
async fn each_transition_is_announced_once() {
    let mut world = unannounced().await;
    assert_eq!(world.pass().await, Ok(Ended::Rest(None)));
    assert_eq!(events(&world), [FIRST, SECOND]);
    let event = world.api.stored("Event").remove(0);
    let shown = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap();
    let shown = ["/reason", "/note", "/type", "/regarding/uid", "/reportingInstance"].map(shown);
    assert_eq!(shown, ["AtTarget", "m", "Normal", "uid-shop", "hub-1"]);
    world.pass().await.unwrap();
    assert_eq!(events(&world), [""; 0]);
    let counted = world.hub.metrics.text(None);
    assert!(counted.contains("cutover_transitions_total{reason=\"AtTarget\"} 2"), "{counted}");
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_announced_is_announced_after_ten_seconds_and_in_order() {
    for answer in [Code(500), Never] {
        let mut world = unannounced().await;
        world.api.script(FIRST, answer);
        let ended = world.pass().await;
        assert_eq!(ended, Ok(Ended::Rest(Some(Instant::now() + Duration::from_secs(10)))), "{answer:?}");
        assert_eq!(events(&world), [FIRST], "{answer:?}");
        assert_eq!(world.pass().await, Ok(Ended::Rest(None)));
        assert_eq!(events(&world), [FIRST, SECOND], "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_exists_already_or_is_refused_is_not_announced_again() {
    for answer in [Code(409), Code(403)] {
        let mut world = unannounced().await;
        world.api.script(FIRST, answer);
        assert_eq!(world.pass().await, Ok(Ended::Rest(None)), "{answer:?}");
        world.pass().await.unwrap();
        assert_eq!(events(&world), [FIRST, SECOND], "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_life_of_the_hub_announces_from_where_the_status_says() {
    let mut status = settled();
    status["announced"] = json!(1);
    let transition =
        |number: u64| json!({"number": number, "at": BEGIN, "warning": true, "reason": "AtTarget", "message": "m"});
    status["transitions"] = json!([transition(1), transition(2)]);
    let mut world = World::of(at_target(&status)).await;
    world.pass().await.unwrap();
    assert_eq!(events(&world), [SECOND]);
    assert_eq!(world.api.stored("Event")[0]["type"], "Warning");
}
