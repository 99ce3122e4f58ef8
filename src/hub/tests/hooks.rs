//! Hooks: what is called after which write, what is sent, and that nothing waits for a receiver.

use serde_json::{Value, json};
use tokio::time::{Duration, advance, sleep};

use super::at_step_1;
use crate::{
    api::{FleetRolloutStatus, hook::Hook, status::RunState},
    hook::{Moment, payload},
    hub::fixtures::{
        objects::{request, stepping},
        world::{SILENT, World},
    },
    rollout::{HookCall, input::Occasion},
};

const CALL: &str = "POST /hook";

/// Step 1 stands, and this hook is declared.
fn with_hook(declared: &Value) -> Vec<Value> {
    let mut hook =
        json!({"name": "smoke", "type": "Rollout", "url": "https://hooks.example.com/hook", "timeout": "5s"});
    json_patch::merge(&mut hook, declared);
    let mut objects = at_step_1();
    objects[0]["spec"]["hooks"] = json!([hook]);
    objects
}

fn status(world: &World) -> FleetRolloutStatus {
    world.rollout().status.unwrap()
}

fn recorded(world: &World) -> Option<(String, String)> {
    let record = status(world).run?.hooks.first()?.clone();
    Some((format!("{:?}", record.verdict), record.message))
}

/// A pass, time for what is in the background, and a pass that sees it.
async fn round(world: &mut World) {
    world.pass().await.unwrap();
    sleep(Duration::from_millis(1)).await;
    world.passes().await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_called_once_an_interval_and_its_answer_is_recorded() {
    let mut world = World::of(with_hook(&json!({}))).await;
    round(&mut world).await;
    assert_eq!(world.members.calls(CALL).len(), 1);
    assert_eq!(recorded(&world), Some(("Pass".to_owned(), "it answered 200".to_owned())));
    advance(Duration::from_secs(9)).await;
    round(&mut world).await;
    assert!(world.members.calls(CALL).is_empty());
    world.members.answer_to(CALL, 500, &json!({}));
    advance(Duration::from_secs(1)).await;
    round(&mut world).await;
    assert_eq!(world.members.calls(CALL).len(), 1);
    assert_eq!(recorded(&world), Some(("Fail".to_owned(), "it answered 500".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_hangs_keeps_no_abort_waiting() {
    let mut world = World::of(with_hook(&json!({"timeout": "5m", "retries": 5}))).await;
    world.members.answer_to(CALL, SILENT, &json!({}));
    round(&mut world).await;
    assert_eq!((world.members.calls(CALL).len(), recorded(&world)), (1, None));
    world.api.store(&request("abort", "Abort"));
    world.list_all();
    world.pass().await.unwrap();
    let state = status(&world).run.map(|run| run.state);
    assert!(matches!(state, Some(RunState::RollingBack(_))), "{state:?}");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_answers_is_unknown_after_its_timeout_and_no_later() {
    let mut world = World::of(with_hook(&json!({"timeout": "5s"}))).await;
    world.members.answer_to(CALL, SILENT, &json!({}));
    round(&mut world).await;
    sleep(Duration::from_millis(5001)).await;
    world.passes().await;
    assert_eq!(recorded(&world), Some(("Unknown".to_owned(), "no answer within 5 s".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_called_for_what_could_not_be_recorded() {
    let mut objects = with_hook(&json!({"type": "PostRollout"}));
    objects[0]["status"]["postRollout"] = json!([{"name": "smoke", "run": 1}]);
    objects.push(request("abort", "Abort"));
    let mut world = World::of(objects).await;
    world.api.script("PUT fleetrollouts/shop/status", crate::hub::fixtures::api_server::Answer::Code(409));
    world.pass().await.unwrap();
    assert!(world.members.calls(CALL).is_empty());
    round(&mut world).await;
    assert_eq!(world.members.calls(CALL).len(), 1);
    assert!(status(&world).post_rollout.iter().all(|pending| pending.run != 1 || pending.name != "smoke"));
}

#[tokio::test(start_paused = true)]
async fn a_key_comes_from_a_secret_of_that_purpose_and_is_never_shown() {
    let hook = json!({"signingKeySecretRef": {"name": "signing", "key": "key"}});
    let secret = |labels: Value, key: &str| {
        let data = json!({ key: "MDEyMzQ1Njc4OWFiY2RlZg==" });
        let metadata = json!({"name": "signing", "namespace": "shop", "labels": labels, "resourceVersion": "3"});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    };
    for (secret, expected) in [
        (None, "Secret signing does not exist in namespace shop; create it"),
        (
            Some(secret(json!({}), "key")),
            "Secret signing is not for hooks; label it with cutover.dev/purpose=hook if it is meant",
        ),
        (
            Some(secret(json!({"cutover.dev/purpose": "hook"}), "other")),
            "Secret signing has no key key; correct the key",
        ),
        (Some(secret(json!({"cutover.dev/purpose": "hook"}), "key")), "it answered 200"),
    ] {
        let mut world = World::of(with_hook(&hook).into_iter().chain(secret)).await;
        round(&mut world).await;
        assert_eq!(recorded(&world).unwrap().1, expected);
        assert_eq!(world.members.calls(CALL).len(), usize::from(expected == "it answered 200"));
        assert!(!serde_json::to_string(&world.rollout()).unwrap().contains("0123456789abcdef"));
    }
}

fn sent(status: &Value, hook: &Value, occasion: Occasion) -> Value {
    let rollout = world_free(status);
    let hook: Hook = serde_json::from_value(hook.clone()).unwrap();
    let status = rollout.status.clone().unwrap();
    let moment = Moment { namespace: "shop", rollout: "shop", uid: "uid-shop", spec: &rollout.spec, status: &status };
    let call = HookCall { name: hook.name.clone(), kind: hook.kind, occasion };
    serde_json::from_slice(&payload(&moment, &hook, &call)).unwrap()
}

fn world_free(status: &Value) -> crate::api::FleetRollout {
    serde_json::from_value(crate::hub::fixtures::objects::rollout(status)).unwrap()
}

#[test]
fn a_call_says_what_flagger_says_and_where_the_run_stands() {
    let mut status = stepping();
    status["phase"] = json!("Progressing");
    status["reason"] = json!("Baking");
    status["message"] = json!("step 1: 20s of bake 1m left");
    let revision = status["run"]["revision"].clone();
    let hook = json!({"name": "smoke", "type": "Rollout", "url": "https://hooks.example.com/hook", "metadata": {"suite": "shop"}});
    let occasion = Occasion::Step { run: 1, step: 1, attempt: 3, sequence: 4 };
    let expected = json!({
        "name": "shop", "namespace": "shop", "phase": "Progressing", "checksum": revision, "metadata": {"suite": "shop"},
        "hook": "smoke", "type": "Rollout", "key": "uid-shop/run-1/step-1/3/smoke", "uid": "uid-shop", "services": ["shop"],
        "reason": "Baking", "message": "step 1: 20s of bake 1m left",
        "run": 1, "step": 1, "steps": 2, "attempt": 3, "weights": {"eu-1": 80, "eu-3": 20}, "nextWeights": {"eu-3": 100},
        "target": {"eu-3": 100}, "rollbackTo": {"eu-1": 100}, "canaries": ["eu-3"], "check": null,
    });
    assert_eq!(sent(&status, &hook, occasion), expected);
}

#[test]
fn an_event_says_in_metadata_what_flagger_says_there() {
    let mut status = stepping();
    status["transitions"] = json!([{"number": 7, "at": "2026-01-01T00:00:09Z", "warning": true, "reason": "GuardBreached", "message": "40 % errors"}]);
    let hook = json!({"name": "bus", "type": "Event", "url": "https://hooks.example.com/hook", "metadata": {"eventType": "mine", "team": "a"}});
    let said = sent(&status, &hook, Occasion::Transition { number: 7 });
    let metadata =
        json!({"eventMessage": "40 % errors", "eventType": "Warning", "timestamp": "1767225609000", "team": "a"});
    assert_eq!(said["metadata"], metadata);
    let about = ["event", "reason", "message", "warning", "at", "key"].map(|field| said[field].clone());
    let expected = json!([7, "GuardBreached", "40 % errors", true, "2026-01-01T00:00:09Z", "uid-shop/event-7/bus"]);
    assert_eq!(json!(about), expected);
}
