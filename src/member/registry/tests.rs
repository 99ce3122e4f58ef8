//! The registry against an API server that lists, watches and records, and members that answer or hang.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::IntoResponse,
};
use futures::StreamExt;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Registry;
use crate::clock::Clock;
use crate::http::{
    install_crypto,
    server::{Manner, Server, loopback, response},
};

/// An API server with these objects; it sends what is put into `events` to the watch of Secrets.
struct Hub {
    members: Vec<Value>,
    secrets: Vec<Value>,
    events: watch::Sender<Option<Value>>,
    /// The last status written for each member.
    written: Mutex<BTreeMap<String, Value>>,
}

impl Hub {
    async fn start(members: Vec<Value>, secrets: Vec<Value>) -> (Arc<Self>, kube::Client) {
        install_crypto();
        let written = Mutex::default();
        let hub = Arc::new(Self { members, secrets, events: watch::Sender::new(None), written });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&hub));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (hub, kube::Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap())
    }

    /// The condition of a member, as it was written last.
    fn condition(&self, member: &str, condition: &str) -> Option<(String, String)> {
        let written = self.written.lock().unwrap();
        let mut conditions = written.get(member)?["status"]["conditions"].as_array()?.iter();
        let found = conditions.find(|found| found["type"] == condition)?;
        Some((found["status"].as_str()?.to_owned(), found["reason"].as_str()?.to_owned()))
    }

    /// Waits until the condition was written so.
    async fn says(&self, member: &str, condition: &str, status: &str, reason: &str) {
        let wanted = Some((status.to_owned(), reason.to_owned()));
        let seen = async {
            while self.condition(member, condition) != wanted {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(5), seen).await;
        assert!(in_time.is_ok(), "{member} {condition}: {:?}", self.condition(member, condition));
    }
}

async fn answer(State(hub): State<Arc<Hub>>, request: Request) -> impl IntoResponse {
    let path = request.uri().path().to_owned();
    let watching = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let secrets = path.ends_with("/namespaces/cutover/secrets");
    if request.method() == "PATCH" {
        let member = path.split('/').nth_back(1).unwrap().to_owned();
        let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
        hub.written.lock().unwrap().insert(member, serde_json::from_slice(&body).unwrap());
        return Body::from(hub.members[0].to_string());
    }
    if !watching {
        let items = if secrets { &hub.secrets } else { &hub.members };
        return Body::from(json!({"metadata": {"resourceVersion": "1"}, "items": items}).to_string());
    }
    let events = futures::stream::unfold(hub.events.subscribe(), |mut events| async {
        events.changed().await.ok()?;
        let line = format!("{}\n", events.borrow_and_update().as_ref()?);
        Some((line, events))
    });
    if secrets { Body::from_stream(events.map(Ok::<_, Infallible>)) } else { Body::from_stream(endless()) }
}

fn endless() -> impl futures::Stream<Item = Result<String, Infallible>> {
    futures::stream::pending()
}

fn member(name: &str, endpoint: &Server, prometheus: &Value) -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster",
        "metadata": {"name": name, "generation": 1, "uid": name},
        "spec": {
            "endpoints": [{"host": "127.0.0.1", "port": endpoint.address.port()}],
            "prometheus": prometheus,
        },
    })
}

fn secret(version: u32, certificate: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "ca", "namespace": "cutover", "resourceVersion": version.to_string()},
        "data": {"ca.crt": ByteString(certificate.as_bytes().to_vec())},
    })
}

/// A Prometheus with a certificate for localhost.
async fn prometheus() -> Server {
    let answer = |head: &str| {
        let time = head.split("time=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("0");
        let result = json!([{"metric": {}, "value": [time.parse::<f64>().unwrap(), "1"]}]);
        response(200, &json!({"status": "success", "data": {"resultType": "vector", "result": result}}).to_string())
    };
    Server::tls("localhost", Manner::Answers(Arc::new(answer))).await
}

fn run(client: kube::Client, leading: watch::Receiver<bool>) -> Registry {
    let registry = Registry::new(Clock::default());
    let running = registry.clone();
    tokio::spawn(async move { running.run(client, "cutover", loopback(), leading).await });
    registry
}

#[tokio::test]
async fn a_rotated_secret_is_used_within_seconds_and_a_member_that_hangs_delays_no_other() {
    let (metrics, other) = (prometheus().await, prometheus().await);
    let (gateway, hung) = (Server::fixed(200, "").await, Server::start(Manner::Hangs).await);
    let by_url = json!({"url": {
        "address": format!("https://localhost:{}", metrics.address.port()),
        "caSecretRef": {"name": "ca", "key": "ca.crt"}}});
    let silent = json!({"url": {"address": hung.url()}});
    let malformed = json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": "bad"}, "spec": {"endpoints": 7}});
    let members = vec![malformed, member("eu-1", &gateway, &by_url), member("eu-2", &hung, &silent)];
    let (hub, client) = Hub::start(members, vec![secret(1, &other.certificate.unwrap())]).await;

    let leading = watch::Sender::new(true);
    let registry = run(client, leading.subscribe());
    hub.says("eu-1", "EndpointsReady", "True", "EndpointsAnswer").await;
    hub.says("eu-1", "MetricsAvailable", "False", "MetricsUnreachable").await;
    hub.says("eu-1", "Reachable", "Unknown", "NoKubeconfig").await;
    hub.says("eu-1", "Healthy", "False", "MetricsUnreachable").await;
    assert_eq!(hub.condition("eu-2", "Healthy"), None, "eu-2 is still being checked");
    assert!(registry.member("bad").is_none());

    let before = registry.member("eu-1").unwrap();
    let rotated = json!({"type": "MODIFIED", "object": secret(2, &metrics.certificate.unwrap())});
    hub.events.send_replace(Some(rotated));
    hub.says("eu-1", "MetricsAvailable", "True", "MetricsAnswer").await;
    hub.says("eu-1", "Healthy", "True", "MemberHealthy").await;
    let after = registry.member("eu-1").unwrap();
    assert!(!Arc::ptr_eq(&before, &after));
    assert_eq!(before.identity(), after.identity(), "another certificate is no other member");
}

#[tokio::test]
async fn a_standby_asks_nobody_and_writes_nothing_until_it_leads() {
    let (metrics, gateway) = (prometheus().await, Server::fixed(200, "").await);
    let by_url = json!({"url": {
        "address": format!("https://localhost:{}", metrics.address.port()),
        "caSecretRef": {"name": "ca", "key": "ca.crt"}}});
    let certificate = metrics.certificate.clone().unwrap();
    let (hub, client) = Hub::start(vec![member("eu-1", &gateway, &by_url)], vec![secret(1, &certificate)]).await;

    let leading = watch::Sender::new(false);
    let registry = run(client, leading.subscribe());
    registry.changes().wait_for(Option::is_some).await.unwrap();
    assert!(registry.member("eu-1").is_some_and(|member| member.health().is_none()));
    assert_eq!((metrics.connections(), gateway.connections()), (0, 0));

    leading.send_replace(true);
    hub.says("eu-1", "Healthy", "True", "MemberHealthy").await;
}

#[tokio::test]
async fn one_cluster_under_two_names_is_reported() {
    let api = |head: &str| match head {
        head if head.starts_with("GET /version ") => response(200, r#"{"gitVersion": "v1.34.1"}"#),
        _ => response(200, r#"{"kind": "Namespace", "metadata": {"uid": "0b-1"}}"#),
    };
    let api = Server::tls("localhost", Manner::Answers(Arc::new(api))).await;
    let gateway = Server::fixed(200, "").await;
    let kubeconfig = json!({
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {
            "server": format!("https://localhost:{}", api.address.port()),
            "certificate-authority-data": ByteString(api.certificate.clone().unwrap().into_bytes())}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    let mut members = Vec::new();
    for name in ["eu-1", "eu-2"] {
        let mut member = member(name, &gateway, &json!({"url": {"address": gateway.url()}}));
        member["spec"]["kubeconfigSecretRef"] = json!({"name": "ca", "key": "ca.crt"});
        members.push(member);
    }
    let (hub, client) = Hub::start(members, vec![secret(1, &kubeconfig.to_string())]).await;
    let leading = watch::Sender::new(true);
    let _registry = run(client, leading.subscribe());
    let twice = ("False".to_owned(), "ClusterRegisteredTwice".to_owned());
    let reported = async {
        while !["eu-1", "eu-2"].iter().all(|name| hub.condition(name, "Healthy").as_ref() == Some(&twice)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), reported).await.unwrap();
}
