//! Members against an API server that lists, watches and stores, and clusters that answer or hang.

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
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use k8s_openapi::ByteString;
use kube::{Api, runtime::watcher};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use super::{keep_objects, keep_registry, watched_secrets};
use crate::{
    api::{FINALIZER, MemberCluster},
    http::{
        fixtures::{Manner, Server, loopback, response},
        install_crypto,
    },
    hub::{
        Guarded, Hub, fixtures,
        lease::{Claim, DURATION, Leadership},
        watch::fill,
        why_unreadable,
    },
};

/// An API server with these objects; it sends what is put into `events` to the watch of Secrets, and takes only patches
/// of the version that it has.
struct Cluster {
    members: Mutex<BTreeMap<String, Value>>,
    secrets: Vec<Value>,
    events: watch::Sender<Option<Value>>,
    patches: Mutex<Vec<Value>>,
}

impl Cluster {
    async fn start(members: Vec<Value>, secrets: Vec<Value>) -> (Arc<Self>, kube::Client) {
        install_crypto();
        let named = members.into_iter().map(|member| (member["metadata"]["name"].as_str().unwrap().to_owned(), member));
        let (members, patches) = (Mutex::new(named.collect()), Mutex::default());
        let cluster = Arc::new(Self { members, secrets, events: watch::Sender::new(None), patches });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&cluster));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (cluster, kube::Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap())
    }

    /// The condition of a member, as it is stored.
    fn condition(&self, member: &str, condition: &str) -> Option<(String, String)> {
        let members = self.members.lock().unwrap();
        let mut conditions = members.get(member)?["status"]["conditions"].as_array()?.iter();
        let found = conditions.find(|found| found["type"] == condition)?;
        Some((found["status"].as_str()?.to_owned(), found["reason"].as_str()?.to_owned()))
    }

    /// Waits until the condition is stored so.
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

    /// Stores a merge patch over the version that it names.
    fn patch(&self, name: &str, patch: &Value) -> Response {
        self.patches.lock().unwrap().push(patch.clone());
        let mut members = self.members.lock().unwrap();
        let member = members.get_mut(name).unwrap();
        let version = member["metadata"]["resourceVersion"].clone();
        if patch["metadata"]["resourceVersion"] != version {
            return (StatusCode::CONFLICT, json!({"code": 409, "reason": "Conflict"}).to_string()).into_response();
        }
        json_patch::merge(member, patch);
        let next = version.as_str().unwrap().parse::<u64>().unwrap() + 1;
        member["metadata"]["resourceVersion"] = json!(next.to_string());
        member.to_string().into_response()
    }
}

async fn answer(State(cluster): State<Arc<Cluster>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let watching = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let secrets = path.ends_with("/namespaces/cutover-system/secrets");
    if request.method() == "PATCH" {
        let name = path.trim_end_matches("/status").rsplit('/').next().unwrap();
        let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
        return cluster.patch(name, &serde_json::from_slice(&body).unwrap());
    }
    if !watching {
        let members = || cluster.members.lock().unwrap().values().cloned().collect();
        let items: Vec<Value> = if secrets { cluster.secrets.clone() } else { members() };
        return json!({"metadata": {"resourceVersion": "1"}, "items": items}).to_string().into_response();
    }
    let events = futures::stream::unfold(cluster.events.subscribe(), |mut events| async {
        events.changed().await.ok()?;
        let line = format!("{}\n", events.borrow_and_update().as_ref()?);
        Some((line, events))
    });
    let stream =
        if secrets { Body::from_stream(events.map(Ok::<_, Infallible>)) } else { Body::from_stream(endless()) };
    stream.into_response()
}

fn endless() -> impl futures::Stream<Item = Result<String, Infallible>> {
    futures::stream::pending()
}

fn member(name: &str, endpoint: &Server, prometheus: &Value) -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster",
        "metadata": {"name": name, "generation": 1, "uid": name, "resourceVersion": "7"},
        "spec": {
            "endpoints": [{"host": "127.0.0.1", "port": endpoint.address.port()}],
            "prometheus": prometheus,
            "allowedNamespaces": {"from": "All"},
        },
    })
}

fn secret(version: u32, purpose: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "ca", "namespace": "cutover-system", "resourceVersion": version.to_string(),
                     "labels": {"cutover.dev/purpose": purpose}},
        "data": {"ca.crt": ByteString(value.as_bytes().to_vec())},
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

/// The members' part of a hub, as long as this process may act; rollouts are not listed.
fn run(client: &kube::Client, claim: &watch::Sender<Claim>) -> Arc<Hub> {
    let leadership = Leadership::new(claim.subscribe());
    let hub = Hub { network: loopback(), ..fixtures::hub(client.clone(), leadership) };
    let (hub, config) = (Arc::new(hub), watcher::Config::default);
    let leading = watch::Sender::new(*claim.borrow() != Claim::None);
    let (members, secrets) = (Api::all(client.clone()), Api::namespaced(client.clone(), "cutover-system"));
    tokio::spawn(fill(members, config(), hub.members.clone(), |_| {}, |_| {}));
    tokio::spawn(fill(secrets, watched_secrets(), hub.secrets.clone(), |_| {}, |_| {}));
    let (registry, objects) = (hub.clone(), hub.clone());
    let receiver = leading.subscribe();
    tokio::spawn(async move { keep_registry(&registry, receiver).await });
    tokio::spawn(async move { keep_objects(&objects).await });
    let announcing = hub.clone();
    tokio::spawn(async move {
        announcing.leadership.gained().await;
        leading.send_replace(true);
        leading.closed().await;
    });
    hub
}

fn held() -> Claim {
    Claim::Until(Instant::now() + DURATION)
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
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": "bad", "resourceVersion": "3"}, "spec": {"endpoints": 7}});
    let members = vec![malformed, member("eu-1", &gateway, &by_url), member("eu-2", &hung, &silent)];
    let (cluster, client) = Cluster::start(members, vec![secret(1, "ca", &other.certificate.unwrap())]).await;

    let claim = watch::Sender::new(held());
    let registry = run(&client, &claim).registry.clone();
    cluster.says("eu-1", "EndpointsReady", "True", "EndpointsAnswer").await;
    cluster.says("eu-1", "MetricsAvailable", "False", "MetricsUnreachable").await;
    cluster.says("eu-1", "Reachable", "Unknown", "NoKubeconfig").await;
    cluster.says("eu-1", "Healthy", "False", "MetricsUnreachable").await;
    assert_eq!(cluster.condition("eu-2", "Healthy"), None, "eu-2 is still being checked");
    assert!(registry.member("bad").is_none());
    assert_eq!(registry.why_absent("bad"), "cannot be read; correct it as the log of the hub says");
    assert_eq!(registry.why_absent("eu-9"), "does not exist; register it, or correct the name");

    let before = registry.member("eu-1").unwrap();
    let rotated = json!({"type": "MODIFIED", "object": secret(2, "ca", &metrics.certificate.unwrap())});
    cluster.events.send_replace(Some(rotated));
    cluster.says("eu-1", "MetricsAvailable", "True", "MetricsAnswer").await;
    cluster.says("eu-1", "Healthy", "True", "MemberHealthy").await;
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
    let (cluster, client) =
        Cluster::start(vec![member("eu-1", &gateway, &by_url)], vec![secret(1, "ca", &certificate)]).await;

    let claim = watch::Sender::new(Claim::None);
    let registry = run(&client, &claim).registry.clone();
    registry.changes().wait_for(Option::is_some).await.unwrap();
    assert!(registry.member("eu-1").is_some_and(|member| member.health().is_none()));
    assert_eq!((metrics.connections(), gateway.connections()), (0, 0));
    assert!(cluster.patches.lock().unwrap().is_empty());

    claim.send_replace(held());
    cluster.says("eu-1", "Healthy", "True", "MemberHealthy").await;
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
    let (cluster, client) = Cluster::start(members, vec![secret(1, "kubeconfig", &kubeconfig.to_string())]).await;
    let claim = watch::Sender::new(held());
    run(&client, &claim);
    let twice = ("False".to_owned(), "ClusterRegisteredTwice".to_owned());
    let reported = async {
        while !["eu-1", "eu-2"].iter().all(|name| cluster.condition(name, "Healthy").as_ref() == Some(&twice)) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), reported).await.unwrap();
}

#[tokio::test]
async fn a_member_that_does_not_say_who_may_use_it_is_left_out_and_no_other_is() {
    let mut silent = fixtures::objects::member("eu-2");
    silent["spec"].as_object_mut().unwrap().remove("allowedNamespaces");
    let hub = fixtures::world::World::of([fixtures::objects::member("eu-1"), silent]).await.hub;
    assert!(hub.registry.member("eu-1").is_some() && hub.registry.member("eu-2").is_none());
    let said = |member: &Guarded<MemberCluster>| member.0.as_ref().err().map(why_unreadable);
    let said: Vec<String> = hub.members.all().iter().filter_map(|member| said(member)).collect();
    assert_eq!(said, ["Missing field allowedNamespaces"]);
}

/// A cluster with one member, whose Prometheus does not know the question.
async fn one_member() -> (Arc<Cluster>, kube::Client) {
    let gateway = Server::fixed(200, "").await;
    Cluster::start(vec![member("eu-1", &gateway, &json!({"url": {"address": gateway.url()}}))], Vec::new()).await
}

#[tokio::test]
async fn every_write_is_over_the_version_that_was_read() {
    let (cluster, client) = one_member().await;
    let claim = watch::Sender::new(held());
    let hub = run(&client, &claim);
    hub.rollouts.take(watcher::Event::InitDone);
    cluster.says("eu-1", "Healthy", "False", "MetricsUnreachable").await;
    let patches = cluster.patches.lock().unwrap();
    let versions: Vec<_> = patches.iter().map(|patch| patch["metadata"]["resourceVersion"].clone()).collect();
    assert_eq!(versions, ["7", "8"], "{patches:?}");
    assert_eq!(patches[0]["metadata"]["finalizers"], json!([FINALIZER]));
}

#[tokio::test]
async fn a_write_that_met_a_newer_version_is_made_again_over_that() {
    let (cluster, client) = one_member().await;
    let claim = watch::Sender::new(held());
    let hub = run(&client, &claim);
    hub.registry.changes().wait_for(Option::is_some).await.unwrap();
    let newer = {
        let mut members = cluster.members.lock().unwrap();
        let member = members.get_mut("eu-1").unwrap();
        member["metadata"]["resourceVersion"] = json!("9");
        member.clone()
    };
    while cluster.patches.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(cluster.condition("eu-1", "Healthy"), None, "what another one wrote is not written over");
    hub.members.take(watcher::Event::Apply(serde_json::from_value(newer).unwrap()));
    cluster.says("eu-1", "Healthy", "False", "MetricsUnreachable").await;
}

#[tokio::test]
async fn health_that_is_found_while_the_lease_is_not_held_is_written_when_it_is() {
    let (cluster, client) = one_member().await;
    let claim = watch::Sender::new(held());
    let hub = Arc::new(Hub { network: loopback(), ..fixtures::hub(client, Leadership::new(claim.subscribe())) });
    claim.send_replace(Claim::None);
    let stored = cluster.members.lock().unwrap()["eu-1"].clone();
    let listed = watcher::Event::InitApply(serde_json::from_value(stored).unwrap());
    for event in [watcher::Event::Init, listed, watcher::Event::InitDone] {
        hub.members.take(event);
    }
    hub.secrets.take(watcher::Event::InitDone);
    let (registry, objects, leading) = (hub.clone(), hub.clone(), watch::Sender::new(true));
    let receiver = leading.subscribe();
    tokio::spawn(async move { keep_registry(&registry, receiver).await });
    tokio::spawn(async move { keep_objects(&objects).await });
    let mut changes = hub.registry.changes();
    let is_checked = || hub.registry.member("eu-1").is_some_and(|member| member.health().is_some());
    changes.wait_for(|_| is_checked()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(cluster.patches.lock().unwrap().is_empty());
    claim.send_replace(held());
    cluster.says("eu-1", "Healthy", "False", "MetricsUnreachable").await;
}
