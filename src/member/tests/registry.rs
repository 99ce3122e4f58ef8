//! Which members there are, what is kept of them, and when they are made anew.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::{sync::watch, time::timeout};

use super::*;
use crate::{
    clock::Clock,
    member::{Manager, Registry},
    web::Metrics,
};

const MINUTE: Duration = Duration::from_mins(1);

fn declared(name: &str, spec: &Value) -> Declared {
    let spec = serde_json::from_value(spec.clone()).unwrap();
    Declared { name: name.to_owned(), uid: None, generation: Some(1), spec, secrets: Secrets::default() }
}

fn without_kubeconfig() -> Value {
    let mut spec = spec();
    spec.as_object_mut().unwrap().remove("kubeconfigSecretRef");
    spec
}

/// A registry, and its manager, which checks no member.
fn kept() -> (Registry, Manager, watch::Sender<bool>) {
    let (registry, (leads, leading)) = (Registry::default(), watch::channel(false));
    let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
    (registry.clone(), Manager::new(registry, loopback(), clock, leading, Metrics::default()), leads)
}

#[tokio::test]
async fn a_member_is_made_anew_when_its_declaration_changes_and_is_forgotten_with_it() {
    let (registry, mut manager, _leads) = kept();
    let mut changes = registry.changes();
    let spec = without_kubeconfig();
    manager.declare([declared("eu-1", &spec), declared("eu-3", &spec)], BTreeSet::new());
    let made = |name: &str| registry.member(name).unwrap();
    let (one, three) = (made("eu-1"), made("eu-3"));
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    manager.declare([declared("eu-1", &spec), declared("eu-3", &spec)], BTreeSet::new());
    assert!(Arc::ptr_eq(&one, &made("eu-1")) && !changes.has_changed().unwrap(), "nothing is new");
    let mut moved = spec.clone();
    moved["endpoints"][0]["port"] = json!(8443);
    manager.declare([declared("eu-1", &spec), declared("eu-3", &moved)], BTreeSet::new());
    assert!(Arc::ptr_eq(&one, &made("eu-1")) && !Arc::ptr_eq(&three, &made("eu-3")));
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    manager.declare([declared("eu-3", &moved)], BTreeSet::new());
    assert!(registry.member("eu-1").is_none() && changes.has_changed().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_member_is_checked_only_while_this_process_leads_and_only_news_is_announced() {
    let (registry, mut manager, leads) = kept();
    manager.declare([declared("eu-1", &without_kubeconfig())], BTreeSet::new());
    let mut changes = registry.changes();
    let health = || registry.member("eu-1").unwrap().health();
    assert!(timeout(MINUTE, changes.changed()).await.is_err() && health().is_none(), "another process leads");
    leads.send_replace(true);
    timeout(MINUTE, changes.changed()).await.unwrap().unwrap();
    assert!(health().is_some());
    assert!(timeout(MINUTE, changes.changed()).await.is_err(), "the same again is no news");
}

#[tokio::test]
async fn no_member_is_known_to_be_missing_before_the_first_list() {
    let (registry, mut manager, _leads) = kept();
    assert!(registry.changes().borrow().is_none());
    manager.declare([], BTreeSet::new());
    assert!(
        registry.changes().borrow().as_ref().is_some_and(|members| members.by_name.is_empty()),
        "an empty list is a list"
    );
}

#[tokio::test]
async fn another_member_with_the_same_cluster_is_a_duplicate() {
    let (registry, mut manager, _leads) = kept();
    let spec = without_kubeconfig();
    manager.declare(["eu-1", "eu-2", "eu-3"].map(|name| declared(name, &spec)), BTreeSet::new());
    let found = |name: &str, cluster: Option<&str>| {
        let member = registry.member(name).unwrap();
        member.health.send_replace(Some(Health { cluster_id: cluster.map(str::to_owned), ..Health::default() }));
        member
    };
    let (one, two) = (found("eu-1", Some("a")), found("eu-2", None));
    assert_eq!(
        (registry.duplicate_of(&one), registry.duplicate_of(&two)),
        (None, None),
        "who is not known is nobody's duplicate"
    );
    let other = found("eu-3", Some("b"));
    assert_eq!((registry.duplicate_of(&one), registry.duplicate_of(&other)), (None, None), "two clusters");
    let three = found("eu-3", Some("a"));
    assert_eq!(
        (registry.duplicate_of(&one), registry.duplicate_of(&three)),
        (Some("eu-3".to_owned()), Some("eu-1".to_owned()))
    );
}

#[tokio::test]
async fn what_was_known_of_a_cluster_is_kept_while_it_cannot_be_read() {
    let answers = Arc::new(AtomicBool::new(true));
    let up = Arc::clone(&answers);
    let answer = move |head: &str| if up.load(Ordering::Relaxed) { healthy(head) } else { response(503, "") };
    let server = api_server(answer).await;
    let member = member(&spec(), Some(&kubeconfig(&server)), loopback());
    member.health.send_replace(Some(check(&member, Timestamp::now()).await));
    answers.store(false, Ordering::Relaxed);
    let health = check(&member, Timestamp::now()).await;
    assert_eq!(finding(&health, "Reachable").0, ConditionStatus::False);
    assert_eq!((health.cluster_id.as_deref(), health.kubernetes_version.as_deref()), (Some("0b-1"), Some("v1.34.1")));
}

#[tokio::test]
async fn an_id_that_could_be_none_of_a_cluster_is_not_taken() {
    let (longest, longer) = ("a".repeat(64), "a".repeat(65));
    for (uid, taken) in [(longest.as_str(), true), (&longer, false), ("", false), ("a/b", false), ("a b", false)] {
        let body = json!({"kind": "Namespace", "metadata": {"uid": uid}, "gitVersion": "v1.34.1"}).to_string();
        let server = api_server(move |_| response(200, &body)).await;
        let health = check(&member(&spec(), Some(&kubeconfig(&server)), loopback()), Timestamp::now()).await;
        assert_eq!(health.cluster_id.is_some(), taken, "{uid:?}");
    }
}

#[tokio::test]
async fn endpoints_are_probed_where_they_depend_on_no_service() {
    use ConditionStatus::{False, True, Unknown};
    let (good, bad) = (Server::fixed(200, "").await, Server::fixed(500, "").await);
    let at = |server: &Server| json!({"host": "127.0.0.1", "port": server.address.port()});
    let by_name = json!({"host": "{{ service }}.eu-3.example.com", "port": 443});
    let by_sni = json!({"host": "127.0.0.1", "port": 1, "tls": {"serverName": "{{ service }}.eu-3.example.com"}});
    let refused = format!("{} answered 500", bad.address);
    let depend = "every endpoint depends on the service; the rollouts probe them";
    for (endpoints, expected) in [
        (vec![at(&good), by_name.clone(), by_sni.clone()], (True, "1 of 1 endpoints answer")),
        (vec![at(&good), at(&bad)], (False, refused.as_str())),
        (vec![by_name, by_sni], (Unknown, depend)),
    ] {
        let mut spec = without_kubeconfig();
        spec["endpoints"] = json!(endpoints);
        let health = check(&member(&spec, None, loopback()), Timestamp::now()).await;
        let (status, _, message) = finding(&health, "EndpointsReady");
        assert_eq!((status, message.as_str()), expected, "{endpoints:?}");
    }
}
