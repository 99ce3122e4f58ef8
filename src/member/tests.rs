//! Members against API servers that answer well or badly.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use serde_json::{Value, json};

use super::{
    Declared, Member, Secrets, fixtures,
    health::{Health, check},
};
use crate::{
    api::{Reason, status::ConditionStatus},
    http::{
        AddressRules, Network,
        fixtures::{Manner, Server, loopback, response},
    },
    prometheus::Began,
};

mod bad_api_servers;
mod inspection;
mod registry;
mod renewal;

/// An API server that answers each path with what `answer` makes of the request's head.
async fn api_server(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Server {
    Server::tls("api.eu-3", Manner::Answers(Arc::new(answer))).await
}

fn healthy(head: &str) -> String {
    match head.split(' ').nth(1).unwrap_or_default() {
        "/version" => response(200, r#"{"gitVersion": "v1.34.1"}"#),
        "/api/v1/namespaces/kube-system" if head.contains("authorization: Bearer s3cret\r\n") => {
            response(200, r#"{"kind": "Namespace", "metadata": {"uid": "0b-1"}}"#)
        }
        proxied if proxied.starts_with("/api/v1/namespaces/monitoring/services/http:prom:9090/proxy/api/v1/query?") => {
            let time = head.split("time=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
            let data = format!(r#"{{"resultType": "scalar", "result": [{time}, "1"]}}"#);
            response(200, &format!(r#"{{"status": "success", "data": {data}}}"#))
        }
        _ => response(403, "s3cret"),
    }
}

fn kubeconfig(server: &Server) -> String {
    fixtures::kubeconfig(&server.url(), server.certificate.as_ref().unwrap(), "s3cret").to_string()
}

fn spec() -> Value {
    json!({
        "kubeconfigSecretRef": {"name": "s", "key": "k"},
        "endpoints": [{"host": "{{ service }}.eu-3.example.com", "port": 443}],
        "prometheus": {"service": {"namespace": "monitoring", "name": "prom", "port": 9090}},
        "allowedNamespaces": {"from": "All"},
    })
}

/// A Secret with this value under key `k`, for this purpose.
fn secret(value: &str, purpose: &str) -> Secret {
    let data = json!({"k": ByteString(value.as_bytes().to_vec())});
    let metadata =
        json!({"labels": {"cutover.dev/purpose": purpose}, "annotations": {"cutover.dev/hosts": "localhost"}});
    serde_json::from_value(json!({"metadata": metadata, "data": data})).unwrap()
}

/// A member with this spec, and this value under key `k` of Secret `s`, which is a kubeconfig.
fn member(spec: &Value, value: Option<&str>, network: Network) -> Member {
    member_with(spec, value.map(|value| secret(value, "kubeconfig")).as_ref(), network)
}

/// A member with this spec and this Secret `s`.
fn member_with(spec: &Value, secret: Option<&Secret>, network: Network) -> Member {
    let spec = serde_json::from_value(spec.clone()).unwrap();
    let secrets = Secrets::pick(&spec, "cutover-system", |name| secret.filter(|_| name == "s"));
    assert!(!format!("{secrets:?}").contains("s3cret"));
    let declared = Declared { name: "eu-3".to_owned(), uid: None, generation: Some(1), spec, secrets };
    Member::new(declared, network, Timestamp::now())
}

fn finding(health: &Health, condition: &str) -> (ConditionStatus, Reason, String) {
    assert!(!format!("{health:?}").contains("s3cret"), "{health:?}");
    let found = health.findings.iter().find(|found| found.condition == condition).unwrap();
    (found.status, found.reason, found.message.clone())
}

#[tokio::test]
async fn a_healthy_member_is_measured_through_its_api_server_alone() {
    let server = api_server(healthy).await;
    let member = member(&spec(), Some(&kubeconfig(&server)), loopback());
    assert_eq!(member.identity(), "", "not known before the first check");

    let health = check(&member, Timestamp::now()).await;
    assert_eq!(
        finding(&health, "Reachable"),
        (ConditionStatus::True, Reason::ApiServerAnswers, "the API server is v1.34.1".into())
    );
    assert_eq!(finding(&health, "CredentialsValid").1, Reason::CredentialsGood);
    assert_eq!(
        finding(&health, "MetricsAvailable"),
        (ConditionStatus::True, Reason::MetricsAnswer, "Prometheus answers".into())
    );
    assert_eq!(finding(&health, "EndpointsReady").0, ConditionStatus::Unknown);

    member.health.send_replace(Some(health));
    assert!(member.identity().starts_with("0b-1/"), "{}", member.identity());
}

#[tokio::test]
async fn certificates_are_warned_of_fourteen_days_ahead() {
    let server = api_server(healthy).await;
    let member = member(&spec(), Some(&kubeconfig(&server)), loopback());
    let end = member.api.as_ref().unwrap().as_ref().unwrap().expires.at;
    for (days, reason) in [(15, Reason::CredentialsGood), (13, Reason::CredentialsExpireSoon)] {
        let health = check(&member, end - SignedDuration::from_hours(24 * days)).await;
        let (status, found, message) = finding(&health, "CredentialsValid");
        assert_eq!((status, found), (ConditionStatus::True, reason), "{message}");
    }
}

#[tokio::test]
async fn a_token_that_says_when_it_ends_is_warned_of_two_days_ahead() {
    // {"exp":1798761600}, the first second of 2027.
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjE3OTg3NjE2MDB9.c2ln";
    let answer = move |head: &str| healthy(&head.replace(token, "s3cret"));
    let server = api_server(answer).await;
    let member = member(&spec(), Some(&kubeconfig(&server).replace("s3cret", token)), loopback());
    for (now, expected) in [
        ("2026-12-29T00:00:00Z", (Reason::CredentialsGood, "the credentials are good; the token ends on 2027-01-01")),
        (
            "2026-12-30T00:00:00Z",
            (Reason::CredentialsExpireSoon, "the token of the kubeconfig ends on 2027-01-01; issue a new one"),
        ),
    ] {
        let (status, reason, message) = finding(&check(&member, now.parse().unwrap()).await, "CredentialsValid");
        assert_eq!((status, (reason, message.as_str())), (ConditionStatus::True, expected));
    }
}

#[tokio::test]
async fn a_bad_api_server_is_described_and_never_quoted() {
    use ConditionStatus::{False, True, Unknown};
    for (answer, reachable, credentials) in [
        (response(401, "s3cret"), (True, Reason::ApiServerAnswers), (False, Reason::CredentialsRefused)),
        (response(403, "s3cret"), (True, Reason::ApiServerAnswers), (False, Reason::CredentialsRefused)),
        (response(500, "s3cret"), (False, Reason::ApiServerUnreachable), (Unknown, Reason::ApiServerUnreachable)),
        (response(302, "s3cret"), (False, Reason::UnexpectedResponse), (Unknown, Reason::UnexpectedResponse)),
        (response(200, "<html>s3cret"), (False, Reason::UnexpectedResponse), (Unknown, Reason::UnexpectedResponse)),
        (
            response(200, r#"{"items": null}"#),
            (False, Reason::UnexpectedResponse),
            (Unknown, Reason::UnexpectedResponse),
        ),
        ("s3cret\r\n\r\n".to_owned(), (False, Reason::ApiServerUnreachable), (Unknown, Reason::ApiServerUnreachable)),
    ] {
        let server = api_server(move |_| answer.clone()).await;
        let health = check(&member(&spec(), Some(&kubeconfig(&server)), loopback()), Timestamp::now()).await;
        let found = |condition| {
            let (status, reason, _) = finding(&health, condition);
            (status, reason)
        };
        assert_eq!((found("Reachable"), found("CredentialsValid")), (reachable, credentials));
        assert_eq!((health.cluster_id, health.kubernetes_version), (None, None));
    }
}

#[tokio::test]
async fn what_keeps_a_kubeconfig_from_being_used_is_a_reason() {
    use ConditionStatus::{False, Unknown};
    let server = api_server(healthy).await;
    let good = kubeconfig(&server);
    let missing = "spec.kubeconfigSecretRef: Secret s does not exist in namespace cutover-system, or lacks the label \
                   cutover.dev/purpose: kubeconfig; create it, or run: kubectl label secret s -n cutover-system \
                   cutover.dev/purpose=kubeconfig";
    for (value, rules, condition, expected) in [
        (None, loopback(), "CredentialsValid", (False, Reason::SecretNotFound, missing.to_owned())),
        (None, loopback(), "Reachable", (Unknown, Reason::SecretNotFound, missing.to_owned())),
        (None, loopback(), "MetricsAvailable", (False, Reason::SecretNotFound, missing.to_owned())),
        (
            Some("{exec: s3cret}"),
            loopback(),
            "CredentialsValid",
            (
                False,
                Reason::KubeconfigRefused,
                "ExecNotAllowed: exec; use a token or client certificate data".to_owned(),
            ),
        ),
        (
            Some(good.as_str()),
            Network::new(AddressRules::default()),
            "Reachable",
            (
                False,
                Reason::AddressNotAllowed,
                "the API server: AddressNotAllowed: 127.0.0.1 is 127.0.0.1, loopback; give the member's own address, \
                 or start the hub with --allow-addresses"
                    .to_owned(),
            ),
        ),
    ] {
        let health = check(&member(&spec(), value, rules), Timestamp::now()).await;
        assert_eq!(finding(&health, condition), expected);
    }
}

#[tokio::test]
async fn credentials_are_sent_over_tls_only() {
    let mut spec = spec();
    let reference = json!({"name": "s", "key": "k"});
    spec["prometheus"] = json!({"url": {"address": "http://prom.example.com", "bearerTokenSecretRef": reference}});
    let problem = member(&spec, Some("s3cret"), loopback()).prometheus().unwrap_err();
    assert_eq!(problem.message, "spec.prometheus.url.address: credentials need https; write https://host:port");
}

#[tokio::test]
async fn a_prometheus_by_url_gets_its_basic_credentials() {
    let server = Server::tls("localhost", Manner::Answers(Arc::new(|_| response(503, "")))).await;
    let address = format!("https://localhost:{}", server.address.port());
    let mut spec = spec();
    let (authority, user) = (json!({"name": "ca", "key": "k"}), json!({"name": "user", "key": "k"}));
    spec["prometheus"] = json!({"url": {"address": address, "caSecretRef": authority, "basicAuthSecretRef": user}});
    let spec: crate::api::MemberClusterSpec = serde_json::from_value(spec).unwrap();
    let trusted = secret(server.certificate.as_ref().unwrap(), "ca");
    let mut sent = secret("Aladdin:open sesame\n", "prometheus");
    let hosts = format!("localhost:{}", server.address.port());
    sent.metadata.annotations.get_or_insert_default().insert("cutover.dev/hosts".to_owned(), hosts);
    let find = |name: &str| [("ca", &trusted), ("user", &sent)].into_iter().find(|(known, _)| *known == name);
    let secrets = Secrets::pick(&spec, "cutover-system", |name| find(name).map(|(_, secret)| secret));
    let declared = Declared { name: "eu-3".to_owned(), uid: None, generation: None, spec, secrets };
    let member = Member::new(declared, loopback(), Timestamp::now());
    let missing =
        member.prometheus().unwrap().query("up", Timestamp::now(), Began::now(Timestamp::now())).await.unwrap_err();
    assert_eq!(missing.to_string(), "Prometheus answered with status 503");
    let heads = server.heads.lock().await.join("");
    assert!(heads.contains("authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"), "{heads}");
}

#[tokio::test]
async fn queries_of_a_rollout_are_limited_by_the_label_that_the_member_names() {
    let server = Server::fixed(503, "").await;
    let mut spec = spec();
    spec.as_object_mut().unwrap().remove("kubeconfigSecretRef");
    spec["prometheus"] = json!({"url": {"address": server.url()}, "namespaceLabel": "tenant"});
    let prometheus = member(&spec, None, loopback()).prometheus().unwrap();
    let began = Began::now(Timestamp::now());
    prometheus.query_for("shop", "up", Timestamp::now(), began).await.unwrap_err();
    let heads = server.heads.lock().await.join("");
    assert!(heads.contains("query=up%7Btenant%3D%22shop%22%7D&"), "{heads}");
}

#[test]
fn namespaces_are_allowed_by_name_or_all() {
    let mut spec = spec();
    assert_eq!(member(&spec, None, loopback()).consents("shop"), Ok(()));
    spec["allowedNamespaces"] = json!({"from": "Names", "names": ["shop"]});
    let some = member(&spec, None, loopback());
    assert_eq!((some.consents("shop").is_ok(), some.consents("other").is_ok()), (true, false));
}

#[test]
fn an_endpoint_that_changes_is_another_identity_and_nothing_else_is() {
    let mut spec = spec();
    spec.as_object_mut().unwrap().remove("kubeconfigSecretRef");
    let identity = |spec: &Value| member(spec, None, loopback()).identity();
    let first = identity(&spec);
    assert_eq!(first.len(), 16, "a member without kubeconfig has its endpoints only: {first}");
    spec["probe"] = json!({"path": "/healthz"});
    assert_eq!(identity(&spec), first);
    spec["endpoints"][0]["port"] = json!(8443);
    assert_ne!(identity(&spec), first);
}

#[test]
fn a_probe_trusts_what_its_endpoint_declares() {
    let reference = json!({"name": "s", "key": "k"});
    let mut spec = spec();
    spec.as_object_mut().unwrap().remove("kubeconfigSecretRef");
    spec["endpoints"] = json!([
        {"host": "a.example.com", "port": 8443, "tls": {"serverName": "a.example.com", "caSecretRef": reference}},
        {"host": "a.example.com", "port": 443, "tls": {"serverName": "a.example.com"}},
        {"host": "b.example.com", "port": 443, "tls": {"serverName": "{{ service }}.b.example.com", "caSecretRef": reference}},
    ]);
    let roots = |purpose: Option<&str>, name| {
        let secret = purpose.map(|purpose| secret("PEM", purpose));
        let probe = member_with(&spec, secret.as_ref(), loopback()).probe("h", 443, Some(name), "h");
        probe.map(|probe| probe.roots).map_err(|problem| problem.reason)
    };
    assert_eq!(roots(Some("ca"), "a.example.com"), Ok(None));
    assert_eq!(roots(Some("ca"), "shop.b.example.com"), Ok(Some(b"PEM".to_vec())));
    assert_eq!(roots(Some("kubeconfig"), "shop.b.example.com"), Err(Reason::SecretNotAllowed));
    assert_eq!(roots(None, "shop.b.example.com"), Err(Reason::SecretNotFound));
}
