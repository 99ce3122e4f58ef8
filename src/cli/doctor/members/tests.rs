//! Members as the hub sees them and as they are seen from here; no cluster is needed.

use serde_json::{Value, json};

use super::*;
use crate::cli::fixtures::{self, lease};

fn now() -> Timestamp {
    fixtures::NOW.parse().unwrap()
}

fn alive() -> LeaseSeen {
    lease("2026-01-03T03:00:56.000000Z")
}

fn member(conditions: &Value) -> MemberCluster {
    serde_json::from_value(json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": "eu-3", "generation": 2},
        "spec": {
            "endpoints": [{"host": "{{ service }}.eu-3.example.com", "port": 443}, {"host": "eu-3.example.com", "port": 80}],
            "prometheus": {"service": {"namespace": "observe", "name": "prom", "port": 9091}},
            "allowedNamespaces": {"from": "All"},
        },
        "status": {"observedGeneration": 2, "conditions": conditions},
    }))
    .unwrap()
}

fn condition(type_: &str, status: &str, reason: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": "in words",
        "lastTransitionTime": "2026-01-03T03:00:20Z"})
}

fn texts(outcomes: &[Outcome]) -> Vec<String> {
    let word = |outcome: &Outcome| match outcome {
        Outcome::Good(_) => "ok",
        Outcome::Bad { .. } => "BAD",
        Outcome::NotKnown { .. } => "?",
    };
    outcomes.iter().map(|outcome| format!("{} {}", word(outcome), outcome.texts().0)).collect()
}

#[test]
fn what_the_hub_saw_is_said_with_its_age_and_what_follows_is_not_repeated() {
    let member = member(&json!([
        condition("Reachable", "True", "ApiServerAnswers"),
        condition("EndpointsReady", "False", "EndpointUnreachable"),
        condition("CredentialsValid", "Unknown", "NoKubeconfig"),
        condition("Healthy", "False", "EndpointUnreachable"),
    ]));
    assert_eq!(
        texts(&from_hub(&member, &alive(), now())),
        [
            "ok from the hub: Reachable is True for 40 s: in words",
            "BAD from the hub: EndpointsReady is False for 40 s: in words",
            "ok from the hub: CredentialsValid is Unknown for 40 s: in words",
        ]
    );
}

#[test]
fn a_cluster_that_is_registered_twice_is_bad() {
    let twice = condition("Healthy", "False", "ClusterRegisteredTwice");
    let member = member(&json!([condition("Reachable", "True", "ApiServerAnswers"), twice]));
    assert!(from_hub(&member, &alive(), now()).iter().any(|outcome| matches!(outcome, Outcome::Bad { .. })));
}

#[test]
fn what_a_silent_hub_saw_and_what_it_saw_of_an_older_declaration_is_not_known() {
    let good = json!([condition("Reachable", "True", "ApiServerAnswers")]);
    let silent = texts(&from_hub(&member(&good), &fixtures::silent(), now()));
    assert!(silent[0].starts_with("? from the hub: nothing that is true now: HUB SILENT"), "{silent:?}");
    let mut older = member(&good);
    older.metadata.generation = Some(3);
    let expected = ["? from the hub: it has not looked at generation 3 yet"];
    assert_eq!(texts(&from_hub(&older, &alive(), now())), expected);
}

fn seen(step: Step, result: Result<&str, &str>) -> Seen {
    Seen { step, result: result.map(str::to_owned).map_err(str::to_owned) }
}

#[test]
fn what_is_bad_from_here_and_good_from_the_hub_is_only_another_network() {
    let endpoint = Endpoint { host: "eu-3.example.com".to_owned(), port: 80, server_name: None };
    let here = Ok((
        vec![
            seen(Step::Dns, Err("x does not resolve")),
            seen(Step::Login, Err("401")),
            seen(Step::Prometheus, Ok("fine")),
        ],
        vec![(endpoint, Err("no answer".to_owned()))],
    ));
    let nothing_from_hub = member(&json!([]));
    assert_eq!(
        texts(&from_here(&nothing_from_hub, &here)),
        [
            "BAD from here: DNS: x does not resolve",
            "BAD from here: login: 401",
            "ok from here: Prometheus: fine",
            "BAD from here: endpoint eu-3.example.com:80: no answer",
        ]
    );
    let good = member(&json!([
        condition("Reachable", "True", "ApiServerAnswers"),
        condition("EndpointsReady", "True", "EndpointsAnswer"),
        condition("CredentialsValid", "True", "CredentialsGood"),
    ]));
    assert_eq!(
        texts(&from_here(&good, &here)),
        [
            "? from here: DNS: x does not resolve; the hub says otherwise: Reachable is True",
            "BAD from here: login: 401",
            "ok from here: Prometheus: fine",
            "? from here: endpoint eu-3.example.com:80: no answer; the hub says otherwise: EndpointsReady is True",
        ]
    );
}

#[test]
fn a_member_whose_secrets_may_not_be_read_is_not_tried() {
    let outcomes = from_here(&member(&json!([])), &Err("secrets is forbidden".to_owned()));
    assert_eq!(texts(&outcomes), ["? from here: not tried: secrets is forbidden"]);
}

#[test]
fn the_rights_are_those_of_the_file_for_the_prometheus_that_is_declared() {
    let by_service = member(&json!([]));
    assert_eq!(
        listed(&needed(&by_service, "cutover-system")),
        "get namespaces kube-system; get services/proxy http:prom:9091"
    );
    assert_eq!(needed(&by_service, "cutover-system")[1].namespace.as_deref(), Some("observe"));
    let mut by_url = by_service;
    by_url.spec.prometheus =
        serde_json::from_value(json!({"url": {"address": "https://prometheus.eu-3.example.com"}})).unwrap();
    assert_eq!(listed(&needed(&by_url, "cutover-system")), "get namespaces kube-system");
}

#[test]
fn an_endpoint_that_depends_on_the_service_needs_a_rollout() {
    let endpoints = endpoints::of(&member(&json!([])), &[]);
    assert_eq!(endpoints.iter().map(ToString::to_string).collect::<Vec<_>>(), ["eu-3.example.com:80"]);
}
