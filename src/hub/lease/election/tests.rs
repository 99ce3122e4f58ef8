//! The election against an API server of which every answer is scripted. The hub's own namespace is that of the Lease of
//! the whole cluster here, so there is one.

mod installations;

use std::{future::pending, time::Duration};

use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle, time::sleep};

use super::*;
use crate::hub::fixtures::api_server::{
    Answer::{self, Code, Lost, Never},
    ApiServer,
};

const LOOK: &str = "GET leases/cutover-hub";
const TAKE: &str = "PUT leases/cutover-hub";

fn enter(api: &ApiServer, stop: impl Future<Output = ()> + Send + 'static) -> (Leadership, JoinHandle<()>) {
    let (election, leadership) = Election::new(&api.client(), Clock::default(), "kube-system", "hub-1");
    (leadership, tokio::spawn(election.run(stop)))
}

fn renewal(version: u32) -> String {
    format!("PUT leases/cutover-hub rv={version}")
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A lease that another process holds, at version 3.
fn held(validity: u32) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "cutover-hub", "namespace": "kube-system", "resourceVersion": "3"},
        "spec": {"holderIdentity": "hub-2", "leaseDurationSeconds": validity, "leaseTransitions": 1},
    })
}

/// A process that took the lease a second ago and whose first renewal will be answered so.
async fn renews(answer: Answer) -> (ApiServer, Leadership) {
    let api = ApiServer::default();
    api.script(&renewal(101), answer);
    let (leadership, _) = enter(&api, pending());
    sleep(seconds(1)).await;
    assert_eq!(api.calls(), [LOOK, TAKE]);
    assert!(leadership.is_current());
    (api, leadership)
}

#[tokio::test(start_paused = true)]
async fn who_holds_the_lease_renews_it_over_the_version_that_it_wrote() {
    let (api, leadership) = renews(Code(500)).await;
    sleep(seconds(15)).await;
    assert_eq!(api.calls(), [renewal(101), LOOK.to_owned(), renewal(101), renewal(102)]);
    assert!(leadership.is_current());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_of_which_no_answer_came_is_looked_up_before_the_next_one() {
    let (api, leadership) = renews(Lost).await;
    sleep(seconds(10)).await;
    assert_eq!(api.calls(), [renewal(101), LOOK.to_owned(), renewal(102)]);
    assert!(leadership.is_current());
}

#[tokio::test(start_paused = true)]
async fn who_meets_a_newer_lease_does_not_lead_from_then_on() {
    let (api, leadership) = renews(Code(409)).await;
    api.store(&held(15));
    sleep(seconds(5)).await;
    assert_eq!(api.calls(), [renewal(101), LOOK.to_owned()]);
    assert!(!leadership.is_current());
}

#[tokio::test(start_paused = true)]
async fn who_made_the_lease_first_leads() {
    let api = ApiServer::default();
    api.script(TAKE, Code(422));
    let (leadership, _) = enter(&api, pending());
    sleep(seconds(1)).await;
    assert_eq!(api.calls(), [LOOK, TAKE, LOOK]);
    assert!(!leadership.is_current());
}

#[tokio::test(start_paused = true)]
async fn what_is_read_late_is_counted_from_the_answer() {
    let api = ApiServer::default();
    api.store(&held(15));
    api.delay(LOOK, seconds(3));
    let (leadership, _) = enter(&api, pending());
    sleep(seconds(17)).await;
    assert!(!leadership.is_current(), "the holder may have renewed it when the first request was nearly answered");
    sleep(seconds(3)).await;
    assert!(leadership.is_current());
}

#[tokio::test(start_paused = true)]
async fn who_cannot_renew_leads_until_no_call_could_end_in_time() {
    for answer in [Code(500), Never] {
        let (api, leadership) = renews(answer).await;
        for _ in 0..9 {
            api.script(LOOK, answer);
        }
        sleep(seconds(9)).await;
        assert!(leadership.is_current(), "{answer:?}");
        sleep(seconds(2)).await;
        assert!(!leadership.is_current(), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_holder_is_looked_at_every_two_seconds_and_followed_once_its_lease_ran_out() {
    for (validity, looks) in [(15, 9), (1, 9), (30, 16)] {
        let api = ApiServer::default();
        api.store(&held(validity));
        let (leadership, _) = enter(&api, pending());
        for _ in 1..looks {
            sleep(seconds(1)).await;
            assert!(!leadership.is_current(), "{validity}");
            sleep(seconds(1)).await;
        }
        sleep(seconds(1)).await;
        let calls = api.calls();
        assert_eq!(calls.iter().filter(|call| *call == LOOK).count(), looks, "{validity}");
        assert_eq!(*calls.last().unwrap(), renewal(3), "{validity}");
        assert!(leadership.is_current(), "{validity}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_stops_gives_the_lease_back_and_who_does_not_hold_it_leaves_it() {
    for (other, expected) in [(None, vec![LOOK, TAKE, "PUT leases/cutover-hub rv=101"]), (Some(held(15)), vec![LOOK])] {
        let api = ApiServer::default();
        if let Some(lease) = &other {
            api.store(lease);
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let (leadership, task) = enter(&api, async { drop(stopped.await) });
        sleep(seconds(1)).await;
        stop.send(()).unwrap();
        task.await.unwrap();
        assert!(!leadership.is_current());
        assert_eq!(api.calls(), expected);
        let holder = &api.stored("Lease")[0]["spec"]["holderIdentity"];
        assert_eq!(holder.as_str(), other.map(|_| "hub-2"));
    }
}
