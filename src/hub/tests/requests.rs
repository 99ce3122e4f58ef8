//! Requests of people: each is answered once, by its own rollout, and removed when it is old.

use serde_json::{Value, json};

use super::{at_step_1, at_target, settled};
use crate::hub::{
    fixtures::{api_server::Answer::Code, objects::request, world::World},
    reconcile::Ended,
};

/// A day and a second before the world begins.
const LONG_AGO: &str = "2025-12-30T23:59:59Z";

async fn with(requests: impl IntoIterator<Item = Value>) -> World {
    World::of(at_target(&settled()).into_iter().chain(requests)).await
}

async fn calls_about_requests(world: &mut World) -> Vec<String> {
    world.pass().await.unwrap();
    world.api.calls().into_iter().filter(|call| call.contains("rolloutrequests")).collect()
}

/// A request that was answered at that time.
fn answered(name: &str, at: &str) -> Value {
    let mut request = request(name, "Pause");
    request["status"] = json!({"state": "Refused", "reason": "no run is going on", "at": at});
    request
}

fn of_another_rollout(mut request: Value) -> Value {
    request["spec"]["rollout"]["name"] = json!("other");
    request
}

fn in_another_namespace(mut request: Value) -> Value {
    request["metadata"]["namespace"] = json!("elsewhere");
    request
}

#[tokio::test(start_paused = true)]
async fn a_request_is_answered_by_its_own_rollout_alone() {
    let others = [of_another_rollout(request("other", "Pause")), in_another_namespace(request("elsewhere", "Pause"))];
    let mut world = with(others.into_iter().chain([request("mine", "Pause")])).await;
    assert_eq!(calls_about_requests(&mut world).await, ["PUT rolloutrequests/mine/status rv=7"]);
    assert_eq!(calls_about_requests(&mut world).await, [""; 0], "it has its answer");
}

#[tokio::test(start_paused = true)]
async fn what_a_person_wrote_is_cleaned_before_anybody_reads_it() {
    let mut hostile = request("mine", "Abort");
    hostile["spec"]["reason"] = json!("look:\u{1b}[2J\u{202e}gnp.exe\nline two");
    hostile["spec"]["requestedBy"] = json!("ann\u{7}\u{200b}");
    let mut world = World::of(at_step_1().into_iter().chain([hostile])).await;
    world.pass().await.unwrap();
    let status = serde_json::to_string(&world.rollout().status).unwrap();
    let written = ["RolloutRequest", "Event"].map(|kind| json!(world.api.stored(kind)).to_string());
    let notes: Vec<&str> = written[1].split("\"note\":").collect();
    let expected = r"ann\\u{7}\\u{200b} requested Abort: look:\\u{1b}[2J\\u{202e}gnp.exe line two";
    assert!(status.contains(expected) && notes.iter().any(|note| note.contains(expected)), "{status}");
    for text in [status, written[1].clone()] {
        assert!(!text.contains(['\u{202e}', '\u{200b}']) && !text.contains(r"\u001b") && !text.contains(r"\u0007"));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_answered_oldest_first() {
    let mut newer = request("a", "Pause");
    newer["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:01Z");
    let mut world = with([newer, request("c", "Pause"), request("b", "Pause")]).await;
    let expected = ["b", "c", "a"].map(|name| format!("PUT rolloutrequests/{name}/status rv=7"));
    assert_eq!(calls_about_requests(&mut world).await, expected);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_could_not_be_written_is_written_later_and_is_the_same() {
    let mut world = with([request("mine", "Pause")]).await;
    world.api.script("PUT rolloutrequests/mine/status", Code(500));
    assert_eq!(world.pass().await, Ok(Ended::Again));
    let recorded = serde_json::to_value(&world.rollout().status.unwrap().answers).unwrap();
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    assert_eq!(calls_about_requests(&mut world).await, ["PUT rolloutrequests/mine/status rv=7"; 2]);
    let given = &world.api.stored("RolloutRequest")[0]["status"];
    assert_eq!((&given["reason"], &given["at"]), (&recorded[0]["reason"], &recorded[0]["at"]));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_for_a_day_and_then_removed_by_its_own_rollout_alone() {
    let old = answered("old", LONG_AGO);
    let others = [of_another_rollout(answered("other", LONG_AGO)), in_another_namespace(answered("else", LONG_AGO))];
    let kept = [answered("kept", "2025-12-31T00:00:01Z"), old];
    let mut world = with(others.into_iter().chain(kept)).await;
    assert_eq!(calls_about_requests(&mut world).await, ["DELETE rolloutrequests/old uid=uid-old rv=7"]);
    assert_eq!(calls_about_requests(&mut world).await, [""; 0], "it is gone");
}

#[tokio::test(start_paused = true)]
async fn an_old_request_that_cannot_be_removed_holds_up_nothing() {
    for code in [403, 404, 409, 500] {
        let mut world = with([answered("old", LONG_AGO)]).await;
        world.api.script("DELETE rolloutrequests/old", Code(code));
        assert_eq!(world.pass().await, Ok(Ended::Rest(None)), "{code}");
    }
}
