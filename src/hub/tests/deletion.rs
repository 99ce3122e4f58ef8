//! A rollout that is being deleted is gone only once everything has been given back.

use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use super::{at_target, settled};
use crate::api::{FINALIZER, ROLLOUT_LABEL};
use crate::hub::{
    cache::Key,
    fixtures::{
        api_server::Answer::Code,
        objects::{BEGIN, backend, route},
        world::World,
    },
    objects::Lookup,
    reconcile::Ended,
};

/// It is at its target, and what the hub made is to be removed if it is deleted.
fn reverting() -> Vec<Value> {
    let mut status = settled();
    status["desired"] = json!({"split": {"weights": {"eu-3": 100}}, "sequence": 4, "at": BEGIN, "confirmedAt": BEGIN});
    let mut objects = at_target(&status);
    objects[0]["spec"]["deletionPolicy"] = json!("Revert");
    objects
}

/// It is deleted, and there are these objects besides.
async fn deleted_with(others: &[Value]) -> World {
    let mut objects = reverting();
    objects[0]["metadata"]["deletionTimestamp"] = json!(BEGIN);
    objects.extend_from_slice(others);
    World::of(objects).await
}

async fn deleted() -> World {
    deleted_with(&[]).await
}

fn is_gone(world: &World) -> bool {
    world.hub.rollouts.get(&Key::new("shop", "shop")).is_none()
}

#[tokio::test(start_paused = true)]
async fn routes_are_given_back_before_backends_and_the_finalizer_goes_last() {
    let mut world = deleted().await;
    assert_eq!(
        world.calls_of_a_pass().await,
        [
            "PUT fleetrollouts/shop/status rv=5",
            "PUT httproutes/intern rv=11",
            "PUT httproutes/public rv=12",
            "POST events/shop.uid-shop.1",
        ]
    );
    assert_eq!(
        world.calls_of_a_pass().await,
        [
            "PUT fleetrollouts/shop/status rv=101",
            "DELETE services/shop-eu-1 uid=uid-of-shop-eu-1 rv=21",
            "PUT services/shop-eu-3 rv=22",
            "PATCH fleetrollouts/shop rv=105",
        ]
    );
    assert!(is_gone(&world));
    let backend = |name: &str| {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Service"));
        world.hub.objects.lookup(&resource, &Key::new("shop", name))
    };
    assert!(matches!(backend("shop-eu-1"), Lookup::Absent), "what was deleted is not read again");
    assert!(matches!(backend("shop-eu-3"), Lookup::Found(_)));
}

#[tokio::test(start_paused = true)]
async fn finalizers_of_others_stay() {
    let mut objects = reverting();
    objects[0]["metadata"]["deletionTimestamp"] = json!(BEGIN);
    objects[0]["metadata"]["finalizers"] = json!(["other.dev/first", FINALIZER, "other.dev/last"]);
    let mut world = World::of(objects).await;
    world.passes().await;
    advance(Duration::from_secs(1)).await;
    world.passes().await;
    let left = world.api.stored("FleetRollout").remove(0);
    assert_eq!(left["metadata"]["finalizers"], json!(["other.dev/first", "other.dev/last"]));
}

#[tokio::test(start_paused = true)]
async fn a_route_that_could_not_be_given_back_keeps_the_rollout() {
    let mut world = deleted().await;
    world.api.script("PUT httproutes/intern", Code(500));
    world.pass().await.unwrap();
    world.api.calls();
    world.passes().await;
    let calls = world.api.calls();
    assert!(!calls.iter().any(|call| call.starts_with("PATCH") || call.starts_with("DELETE")), "{calls:?}");
    advance(Duration::from_secs(1)).await;
    world.pass().await.unwrap();
    world.pass().await.unwrap();
    assert!(is_gone(&world));
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_could_not_be_given_back_keeps_the_rollout_and_not_the_other_backends() {
    let mut world = deleted().await;
    world.pass().await.unwrap();
    world.api.calls();
    world.api.script("DELETE services/shop-eu-1", Code(500));
    let calls = world.calls_of_a_pass().await;
    assert!(calls.contains(&"PUT services/shop-eu-3 rv=22".to_owned()), "{calls:?}");
    let failed_at = Instant::now();
    assert_eq!(world.pass().await, Ok(Ended::Rest(Some(failed_at + Duration::from_secs(1)))));
    assert_eq!(world.api.calls(), [""; 0]);
    advance(Duration::from_secs(1)).await;
    let calls = world.calls_of_a_pass().await;
    assert_eq!(calls[1], "DELETE services/shop-eu-1 uid=uid-of-shop-eu-1 rv=21");
    assert!(is_gone(&world));
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_another_one_changed_meanwhile_is_not_deleted() {
    let mut world = deleted().await;
    world.pass().await.unwrap();
    let mut changed = backend("eu-1", "90");
    changed["spec"]["externalName"] = json!("elsewhere.example.com");
    world.api.store(&changed);
    world.pass().await.unwrap();
    assert!(world.api.stored("Service").contains(&changed));
    assert!(!is_gone(&world));
}

/// The backend that the hub made for a member of some service.
fn made_for(service: &str, member: &str) -> Value {
    let mut made = backend(member, "23");
    let name = format!("{service}-{member}");
    made["metadata"]["uid"] = json!(format!("uid-of-{name}"));
    made["metadata"]["name"] = json!(name);
    made
}

#[tokio::test(start_paused = true)]
async fn the_backend_of_a_member_that_left_the_declaration_is_given_back_with_the_others() {
    let mut world = deleted_with(&[made_for("shop", "eu-2")]).await;
    world.pass().await.unwrap();
    world.api.calls();
    let calls = world.calls_of_a_pass().await;
    assert_eq!(calls[3], "DELETE services/shop-eu-2 uid=uid-of-shop-eu-2 rv=23", "{calls:?}");
    assert!(is_gone(&world));
}

#[tokio::test(start_paused = true)]
async fn the_backend_of_a_service_that_left_the_declaration_stays_without_its_label() {
    let mut world = deleted_with(&[made_for("checkout", "eu-3")]).await;
    world.pass().await.unwrap();
    world.pass().await.unwrap();
    let left = world.api.stored("Service");
    let left = left.iter().find(|service| service["metadata"]["name"] == "checkout-eu-3").unwrap();
    assert!(left["metadata"]["labels"].get(ROLLOUT_LABEL).is_none(), "{left}");
    assert!(is_gone(&world));
}

#[tokio::test(start_paused = true)]
async fn at_rest_the_backend_of_a_member_that_left_is_given_back_once_no_route_names_it() {
    for (named, policy, expected) in [
        (false, "Revert", Some("DELETE services/shop-eu-2 uid=uid-of-shop-eu-2 rv=23")),
        (false, "Retain", Some("PUT services/shop-eu-2 rv=23")),
        (true, "Revert", None),
    ] {
        let mut objects = reverting();
        objects[0]["spec"]["deletionPolicy"] = json!(policy);
        objects.push(made_for("shop", "eu-2"));
        if named {
            objects[1] = route("intern", "11", &[("eu-2", 0), ("eu-3", 100)], 4);
        }
        let mut world = World::of(objects).await;
        world.passes().await;
        let calls = world.api.calls();
        let about = calls.iter().find(|call| call.contains("services/")).map(String::as_str);
        assert_eq!(about, expected, "{policy} {named}: {calls:?}");
        world.passes().await;
        assert_eq!(world.api.calls(), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_run_no_backend_is_given_back() {
    let mut world = World::of(super::at_step_1().into_iter().chain([made_for("shop", "eu-2")])).await;
    world.passes().await;
    let calls = world.api.calls();
    assert!(!calls.iter().any(|call| call.contains("services/")), "{calls:?}");
}
