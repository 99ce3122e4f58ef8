//! Alerts are delivered after the write that records them, in the background, and forgotten in one write.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, advance, sleep};

use super::{at_step_1, at_target, request, settled};
use crate::{
    api::alert::AlertsStatus,
    hub::{
        fixtures::{
            api_server::Answer::Code,
            objects::BEGIN,
            world::{SILENT, World},
        },
        memory::Memory,
        reconcile::Ended,
    },
};

const STATUS: &str = "PUT fleetrollouts/shop/status";

fn provider(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "AlertProvider", "metadata": {"name": name, "namespace": "shop"},
           "spec": spec})
}

fn secret(name: &str, purpose: &str) -> Value {
    // https://chat.example.com/hooks/T0KEN
    let url = "aHR0cHM6Ly9jaGF0LmV4YW1wbGUuY29tL2hvb2tzL1QwS0VO";
    let metadata = json!({"name": name, "namespace": "shop", "labels": {"cutover.dev/purpose": purpose}});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"url": url}})
}

fn chat() -> [Value; 2] {
    [provider("chat", &json!({"slack": {}, "urlSecretRef": {"name": "chat", "key": "url"}})), secret("chat", "alert")]
}

fn alerts(objects: &mut [Value], declared: &[(&str, &str)]) {
    let one = |(name, provider): &(&str, &str)| json!({"name": name, "providerRef": {"name": provider}});
    objects[0]["spec"]["alerts"] = declared.iter().map(one).collect();
}

fn pending(number: u64, to: &[&str]) -> Value {
    json!({"number": number, "at": BEGIN, "severity": "Info", "about": "Transition", "phase": "Progressing",
           "reason": "Confirming", "message": "step 1/2", "to": to})
}

/// At rest, with alerts that wait to be sent.
async fn waiting(declared: &[(&str, &str)], waits: &[Value]) -> World {
    let mut status = settled();
    status["alerts"] = json!({"last": waits.len(), "pending": waits});
    let mut objects = at_target(&status);
    alerts(&mut objects, declared);
    World::of(objects.into_iter().chain(chat())).await
}

/// A pass, what it began, and the pass that sees what came of it.
async fn round(world: &mut World) -> Ended {
    world.passes().await;
    sleep(Duration::from_millis(1)).await;
    world.passes().await
}

fn recorded(world: &World) -> AlertsStatus {
    world.rollout().status.unwrap().alerts.unwrap()
}

fn posts(world: &World) -> Vec<String> {
    world.members.calls("POST")
}

#[tokio::test(start_paused = true)]
async fn what_happens_is_recorded_before_it_is_sent_and_forgotten_in_one_write() {
    let mut objects = at_step_1();
    alerts(&mut objects, &[("team", "chat")]);
    let mut world = World::of(objects.into_iter().chain([request("abort", "Abort")]).chain(chat())).await;
    world.api.script(STATUS, Code(500));
    assert!(world.pass().await.is_err());
    sleep(Duration::from_millis(1)).await;
    assert_eq!(posts(&world), [""; 0], "it is not recorded, so it did not happen");
    world.pass().await.unwrap();
    assert_eq!(recorded(&world).pending[0].number, 1);
    round(&mut world).await;
    let sent = posts(&world);
    let last = recorded(&world).last;
    assert_eq!(sent, vec!["POST /hooks/T0KEN"; usize::try_from(last).unwrap()], "all that was recorded");
    assert_eq!(recorded(&world).pending, []);
    world.api.calls();
    round(&mut world).await;
    assert_eq!((posts(&world), world.api.calls()), (vec![], vec![]), "nothing is left to be done");
}

#[tokio::test(start_paused = true)]
async fn another_life_of_the_hub_sends_what_is_recorded_with_the_same_key() {
    let mut world = waiting(&[("team", "chat")], &[pending(1, &["team"]), pending(2, &["team"])]).await;
    world.pass().await.unwrap();
    sleep(Duration::from_millis(1)).await;
    assert_eq!(posts(&world).len(), 2);
    // The hub dies before it records the delivery.
    world.memory = Memory::default();
    world.pass().await.unwrap();
    sleep(Duration::from_millis(1)).await;
    assert_eq!(posts(&world).len(), 2, "once more, for nobody knows that it was sent");
    let keys = world.members.keys();
    assert_eq!(keys[..2], keys[2..]);
    let at = "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap().as_second();
    assert_eq!(keys[..2], [1, 2].map(|number| format!("uid-shop.{number}.{at}")));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_hangs_delays_no_pass_and_no_other_provider() {
    let other = provider("other", &json!({"webhook": {}, "url": "https://other.example.com/in", "timeout": "1s"}));
    let mut world = waiting(&[("team", "chat"), ("ops", "other")], &[pending(1, &["team", "ops"])]).await;
    world.api.store(&other);
    world.members.answer_to("POST /hooks/T0KEN", SILENT, &json!({}));
    let began = Instant::now();
    let ended = round(&mut world).await;
    assert!(began.elapsed() < Duration::from_secs(1) && ended == Ended::Rest(None), "{ended:?}");
    let mut sent = posts(&world);
    sent.sort();
    assert_eq!(sent, ["POST /hooks/T0KEN", "POST /in"]);
    assert_eq!(recorded(&world).pending[0].to, ["team", "ops"], "one write for what is sent together");
    advance(Duration::from_secs(10)).await;
    sleep(Duration::from_millis(1)).await;
    let ended = world.passes().await;
    assert_eq!(recorded(&world).pending[0].to, ["team"], "after the provider's timeout");
    let failing = recorded(&world).failing.remove(0);
    assert_eq!((failing.name.as_str(), failing.message.as_str()), ("team", "no answer within 10 s"));
    assert!(matches!(ended, Ended::Rest(Some(_))), "it is tried again: {ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_delivery_is_tried_again_after_growing_times_and_written_once() {
    let mut world = waiting(&[("team", "chat")], &[pending(1, &["team"])]).await;
    world.members.status.store(500, Ordering::Relaxed);
    let began = Instant::now();
    let mut tries = Vec::new();
    while began.elapsed() < Duration::from_mins(40) {
        let ended = round(&mut world).await;
        tries.extend(posts(&world).iter().map(|_| began.elapsed().as_secs()));
        let Ended::Rest(Some(next)) = ended else { panic!("{ended:?}") };
        tokio::time::sleep_until(next).await;
    }
    assert_eq!(tries, [0, 5, 15, 35, 75, 155, 315, 635, 1235, 1835]);
    let writes = world.api.calls().into_iter().filter(|call| call.starts_with(STATUS)).count();
    assert_eq!(writes, 2, "the first pass writes the conditions, and that it fails is said once");
    world.members.status.store(200, Ordering::Relaxed);
    round(&mut world).await;
    assert_eq!(recorded(&world), AlertsStatus { last: 1, ..AlertsStatus::default() });
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_lacks_is_named_with_the_remedy_and_nothing_secret() {
    let webhook = |change: Value| {
        let mut spec = json!({"webhook": {}, "url": "https://other.example.com/in"});
        json_patch::merge(&mut spec, &change);
        provider("chat", &spec)
    };
    let token = json!({"tokenSecretRef": {"name": "chat", "key": "url"}});
    for (stored, expected) in [
        (vec![], "AlertProvider chat does not exist in namespace shop; create it"),
        (vec![chat()[0].clone()], "Secret chat does not exist in namespace shop; create it"),
        (
            vec![chat()[0].clone(), secret("chat", "kubeconfig")],
            "Secret chat is not for alerts; label it with cutover.dev/purpose=alert if it is meant",
        ),
        (
            vec![
                webhook(json!({"url": null, "urlSecretRef": {"name": "chat", "key": "uri"}})),
                secret("chat", "alert"),
            ],
            "Secret chat has no key uri; correct the key",
        ),
        (
            vec![webhook(token), secret("chat", "alert")],
            "Secret chat may not be sent to the URL of the provider; add its host to the annotation cutover.dev/hosts of the Secret if it may have it",
        ),
        (vec![webhook(json!({"timeout": "5m"}))], "AlertProvider chat: spec.timeout: is 5m; from 1s to 30s"),
    ] {
        let mut status = settled();
        status["alerts"] = json!({"last": 1, "pending": [pending(1, &["team"])]});
        let mut objects = at_target(&status);
        alerts(&mut objects, &[("team", "chat")]);
        let mut world = World::of(objects.into_iter().chain(stored)).await;
        round(&mut world).await;
        assert_eq!(recorded(&world).failing[0].message, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hub_without_the_right_to_read_a_secret_says_which_role_gives_it() {
    let mut world = waiting(&[("team", "chat")], &[pending(1, &["team"])]).await;
    world.api.script("GET secrets/chat", Code(403));
    round(&mut world).await;
    let expected = "the hub may not read Secret chat; apply config/rbac/hub-alerts.yaml to its namespace";
    assert_eq!(recorded(&world).failing[0].message, expected);
}

#[tokio::test(start_paused = true)]
async fn without_alerts_nothing_is_read_or_written_for_them() {
    let mut world = World::of(at_target(&settled())).await;
    world.passes().await;
    world.api.calls();
    round(&mut world).await;
    assert_eq!((world.api.calls(), posts(&world)), (vec![], vec![]));
}
