//! Requests to rollouts that do not exist, and floods of requests.

use serde_json::{Value, json};

use super::*;
use crate::hub::{
    fixtures::{
        objects::{BEGIN, request},
        world::World,
    },
    tests::{at_target, settled},
};

/// So long after the world began.
fn later(seconds: u64) -> Timestamp {
    BEGIN.parse::<Timestamp>().unwrap() + Duration::from_secs(seconds)
}

fn to_rollout(name: &str, mut request: Value) -> Value {
    request["spec"]["rollout"]["name"] = json!(name);
    request
}

fn answered(mut request: Value, at: Timestamp) -> Value {
    request["status"] = json!({"state": "Refused", "reason": "no run is going on", "at": at});
    request
}

/// What becomes of these, so long after the world began, where rollout shop alone exists.
fn fates(requests: &[Value], seconds: u64) -> Vec<(String, Due)> {
    let read: Vec<RolloutRequest> =
        requests.iter().map(|request| serde_json::from_value(request.clone()).unwrap()).collect();
    let all: Vec<&RolloutRequest> = read.iter().collect();
    let fates = due(&all, |rollout| *rollout == Key::new("shop", "shop"), later(seconds));
    fates.into_iter().map(|(request, due)| (request.name_any(), due)).collect()
}

#[test]
fn a_request_to_a_rollout_that_does_not_exist_expires_after_a_minute() {
    let requests = [request("mine", "Pause"), to_rollout("gone", request("lost", "Pause"))];
    assert_eq!(fates(&requests, 59), []);
    let expired = Due::Answer(RequestState::Expired, "there is no FleetRollout shop/gone".to_owned());
    assert_eq!(fates(&requests, 60), [("lost".to_owned(), expired)]);
}

#[test]
fn an_answer_of_a_rollout_that_is_gone_is_removed_after_a_day() {
    let requests = ["shop", "gone"].map(|name| answered(to_rollout(name, request(name, "Pause")), later(0)));
    assert_eq!(fates(&requests, 86_400), []);
    assert_eq!(fates(&requests, 86_401), [("gone".to_owned(), Due::Delete)], "the other has a rollout that removes it");
}

#[test]
fn of_many_open_requests_the_oldest_are_kept_and_the_others_refused() {
    let made = |number: usize| {
        let mut request = request(&format!("r{number}"), "Pause");
        request["metadata"]["creationTimestamp"] = json!(later(1000 - number as u64));
        request
    };
    let requests: Vec<Value> = (0..OPEN + 2).map(made).collect();
    let reason = "namespace shop has more than 64 open requests, and this is not among the oldest; ask again later";
    let refused = |name: &str| (name.to_owned(), Due::Answer(RequestState::Refused, reason.to_owned()));
    assert_eq!(fates(&requests, 1000), [refused("r1"), refused("r0")], "they are the newest");
    assert_eq!(fates(&requests[2..], 1000), []);
}

#[test]
fn of_many_answers_the_newest_are_kept() {
    let made = |number: usize| answered(request(&format!("r{number}"), "Pause"), later(number as u64));
    let requests: Vec<Value> = (0..=ANSWERED).map(made).collect();
    assert_eq!(fates(&requests, 1000), [("r0".to_owned(), Due::Delete)]);
}

#[tokio::test(start_paused = true)]
async fn they_are_answered_while_this_process_leads() {
    let lost = to_rollout("gone", request("lost", "Pause"));
    let old = answered(to_rollout("gone", request("old", "Pause")), later(0) - Duration::from_hours(25));
    let world = World::of(at_target(&settled()).into_iter().chain([lost, old, request("mine", "Pause")])).await;
    let keeping = world.hub.clone();
    tokio::spawn(async move { keep_requests(&keeping).await });
    sleep(Duration::from_secs(130)).await;
    let calls = world.api.calls();
    assert_eq!(calls, ["DELETE rolloutrequests/old uid=uid-old rv=7", "PUT rolloutrequests/lost/status rv=7"]);
}

#[tokio::test(start_paused = true)]
async fn a_rollout_leaves_those_alone_that_are_too_many() {
    let made = |number: usize| request(&format!("r{number:02}"), "Pause");
    let mut world = World::of(at_target(&settled()).into_iter().chain((0..=OPEN).map(made))).await;
    world.pass().await.unwrap();
    let answered = world.api.calls().into_iter().filter(|call| call.contains("rolloutrequests")).count();
    assert_eq!(answered, OPEN);
}
