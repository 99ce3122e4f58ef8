//! Members are registered once all that is declared of them is known, and checked again after whatever ended a check.

use std::sync::{Arc, atomic::Ordering};

use kube::ResourceExt;
use serde_json::json;
use tokio::{sync::watch, task::yield_now};

use crate::hub::{
    Hub,
    fixtures::{
        self,
        api_server::ApiServer,
        objects::member,
        world::{TURNS, World, list, soon, until},
    },
    instance::watch_all,
    lease::Leadership,
    members::keep_registry,
};

fn keep(hub: &Arc<Hub>) -> watch::Sender<bool> {
    let (hub, leading) = (hub.clone(), watch::Sender::new(false));
    let receiver = leading.subscribe();
    tokio::spawn(async move { keep_registry(&hub, receiver).await });
    leading
}

async fn turns() {
    for _ in 0..TURNS {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn no_member_is_registered_before_its_secrets_have_been_listed() {
    let hub = Arc::new(fixtures::hub(fixtures::no_client(), Leadership::alone()));
    let _leading = keep(&hub);
    list(&hub.members, vec![member("eu-1")]);
    turns().await;
    assert!(hub.registry.changes().borrow().is_none());
    list(&hub.secrets, Vec::new());
    until("eu-1 is registered", || hub.registry.member("eu-1").is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_nobody_gave_a_purpose_never_reaches_the_hub() {
    let api = ApiServer::default();
    for (name, labels) in [("other", json!({"team": "web"})), ("eu-1", json!({"cutover.dev/purpose": "kubeconfig"}))] {
        let metadata = json!({"name": name, "namespace": "cutover-system", "resourceVersion": "9", "labels": labels});
        api.store(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}));
    }
    let hub = Arc::new(fixtures::hub(api.client(), Leadership::alone()));
    watch_all(&hub, &api.client(), "cutover-system");
    until("Secrets are listed", || hub.secrets.availability().is_synced()).await;
    let names: Vec<_> = hub.secrets.all().iter().map(|secret| secret.name_any()).collect();
    assert_eq!(names, ["eu-1"]);
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_secret_comes_late_is_made_anew_with_it() {
    let mut secured = member("eu-1");
    secured["spec"]["prometheus"]["url"]["bearerTokenSecretRef"] = json!({"name": "eu-1", "key": "token"});
    let world = World::of([secured]).await;
    let unusable = || world.hub.registry.member("eu-1").unwrap().prometheus().is_err();
    assert!(unusable());
    let metadata = json!({"name": "eu-1", "namespace": "cutover-system", "resourceVersion": "9",
                          "labels": {"cutover.dev/purpose": "prometheus"},
                          "annotations": {"cutover.dev/hosts": "prometheus.eu-1.example.com"}});
    world.api.store(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"token": "dA=="}}));
    world.list_all();
    until("its Prometheus can be queried", || !unusable()).await;
}

#[tokio::test(start_paused = true)]
async fn checks_that_ended_in_a_panic_are_counted_and_begin_again() {
    let world = World::of([member("eu-1")]).await;
    world.members.status.store(fixtures::world::PANIC, Ordering::Relaxed);
    world.checks.send_replace(true);
    turns().await;
    let is_checked = || world.hub.registry.member("eu-1").unwrap().health().is_some();
    assert!(!is_checked());
    assert!(world.hub.metrics.text(None).contains("cutover_panics_total 1"));
    world.members.status.store(200, Ordering::Relaxed);
    soon("the member is checked", is_checked).await;
}
