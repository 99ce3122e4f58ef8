//! The server through kube's client, as the hub uses it.

use std::sync::Arc;

use futures::{FutureExt, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Namespace, Service},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::{Value, json};
use tower::Service as _;

use super::{ApiServer, Verb};
use crate::{
    api::{RolloutRequest, crd::definitions},
    sandbox::server::Server,
};

fn server() -> ApiServer {
    ApiServer::new(Arc::new(|| Timestamp::from_second(1_700_000_000).unwrap()), 1)
}

async fn with_definitions() -> (ApiServer, Client) {
    let server = server();
    let client = server.client();
    for definition in definitions().unwrap() {
        let request = http::Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
            .body(definition.to_string().into_bytes())
            .unwrap();
        client.request::<Value>(request).await.unwrap();
    }
    (server, client)
}

fn request(name: &str) -> RolloutRequest {
    serde_json::from_value(json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "RolloutRequest", "metadata": {"name": name},
        "spec": {"requestedBy": "me", "rollout": {"name": "r", "uid": "u"}, "run": 1, "verb": "Abort"}
    }))
    .unwrap()
}

#[tokio::test]
async fn objects_live_and_die() {
    let (server, client) = with_definitions().await;
    let api: Api<RolloutRequest> = Api::namespaced(client, "default");
    let made = api.create(&PostParams::default(), &request("a")).await.unwrap();
    assert_eq!((made.metadata.generation, made.metadata.uid.is_some()), (Some(1), true));
    let labels = json!({"metadata": {"labels": {"x": "y"}}});
    let patched = api.patch("a", &PatchParams::default(), &Patch::Merge(&labels)).await.unwrap();
    assert_eq!(patched.metadata.generation, Some(1));
    let stale = api.replace("a", &PostParams::default(), &made).await.unwrap_err();
    assert!(matches!(stale, kube::Error::Api(status) if status.code == 409 && status.reason == "Conflict"));
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());
    let verbs: Vec<Verb> = server
        .history(0)
        .iter()
        .filter(|change| change.plural == "rolloutrequests")
        .map(|change| change.verb)
        .collect();
    assert_eq!(verbs, [Verb::Create, Verb::Update, Verb::Delete]);
}

#[tokio::test]
async fn rules_of_a_definition_are_kept() {
    let (_, client) = with_definitions().await;
    let api: Api<RolloutRequest> = Api::namespaced(client, "default");
    api.create(&PostParams::default(), &request("a")).await.unwrap();
    let other = json!({"spec": {"run": 2}});
    let refused = api.patch("a", &PatchParams::default(), &Patch::Merge(&other)).await.unwrap_err();
    assert!(refused.to_string().contains("a request cannot be changed"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_sees_changes_and_survives_compaction() {
    let (server, client) = with_definitions().await;
    let api: Api<RolloutRequest> = Api::namespaced(client, "default");
    api.create(&PostParams::default(), &request("a")).await.unwrap();
    let mut seen = Box::pin(watcher(api.clone(), watcher::Config::default()).applied_objects());
    let first = seen.try_next().await.unwrap().unwrap();
    assert_eq!(first.metadata.name.as_deref(), Some("a"));
    tokio::time::sleep(std::time::Duration::from_hours(1)).await;
    server.compact();
    api.create(&PostParams::default(), &request("b")).await.unwrap();
    loop {
        if seen.try_next().await.unwrap().unwrap().metadata.name.as_deref() == Some("b") {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_revision_is_gone_and_an_idle_watch_gets_bookmarks() {
    let (server, client) = with_definitions().await;
    let api: Api<RolloutRequest> = Api::namespaced(client, "default");
    api.create(&PostParams::default(), &request("a")).await.unwrap();
    server.compact();
    let params = WatchParams::default();
    let gone = api.watch(&params, "3").await.unwrap().try_collect::<Vec<_>>().await.unwrap();
    assert!(matches!(gone.as_slice(), [WatchEvent::Error(status)] if status.code == 410));
    let now = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let idle = api.watch(&params.timeout(100), &now).await.unwrap().try_collect::<Vec<_>>().await.unwrap();
    assert!(matches!(idle.as_slice(), [WatchEvent::Bookmark(_)]));
}

#[tokio::test]
async fn a_watch_that_is_behind_what_is_forgotten_ends() {
    let (server, client) = with_definitions().await;
    let api: Api<RolloutRequest> = Api::namespaced(client, "default");
    let made = api.create(&PostParams::default(), &request("a")).await.unwrap();
    let watch = api.watch(&WatchParams::default(), &made.metadata.resource_version.unwrap()).await.unwrap();
    api.create(&PostParams::default(), &request("b")).await.unwrap();
    let seen = server.history(0).len();
    server.forget(Timestamp::from_second(1_700_000_001).unwrap());
    let gone = watch.try_collect::<Vec<_>>().await.unwrap();
    assert!(matches!(gone.as_slice(), [WatchEvent::Error(status)] if status.code == 410), "{gone:?}");
    api.create(&PostParams::default(), &request("c")).await.unwrap();
    let names = server.history(seen).iter().map(|change| change.name.clone()).collect::<Vec<_>>();
    assert_eq!((names, api.list(&ListParams::default()).await.unwrap().items.len()), (vec!["c".to_owned()], 3));
}

#[tokio::test]
async fn the_same_requests_give_the_same_history() {
    let run = || async {
        let (server, client) = with_definitions().await;
        let api: Api<RolloutRequest> = Api::namespaced(client, "default");
        api.create(&PostParams::default(), &request("a")).await.unwrap();
        format!("{:?}", server.history(0))
    };
    assert_eq!(run().await, run().await);
}

#[tokio::test]
async fn kinds_that_are_known_from_the_start() {
    let client = server().client();
    let services: Api<Service> = Api::namespaced(client.clone(), "default");
    let service =
        serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})).unwrap();
    let made = services.create(&PostParams::default(), &service).await.unwrap();
    assert_eq!(made.spec.unwrap().cluster_ip.as_deref(), Some("10.96.0.3"));
    let system = Api::<Namespace>::all(client.clone()).get("kube-system").await.unwrap();
    assert!(system.metadata.uid.is_some());
    assert_eq!(client.apiserver_version().await.unwrap().minor, "34");
    let absent: Api<Service> = Api::namespaced(client, "nowhere");
    let missing = absent.create(&PostParams::default(), &service).await.unwrap_err();
    assert!(matches!(missing, kube::Error::Api(status) if status.code == 404));
}

#[tokio::test(start_paused = true)]
async fn with_a_definition_go_its_objects_and_their_watches() {
    let (_, client) = with_definitions().await;
    let api: Api<RolloutRequest> = Api::namespaced(client.clone(), "default");
    api.create(&PostParams::default(), &request("a")).await.unwrap();
    let watch = api.watch(&WatchParams::default(), "0").await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    definitions.delete("rolloutrequests.cutover.dev", &DeleteParams::default()).await.unwrap();
    let seen = watch.try_collect::<Vec<_>>().await.unwrap();
    assert!(matches!(seen.as_slice(), [WatchEvent::Added(_), WatchEvent::Deleted(_)]), "{seen:?}");
    let gone = api.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(gone, kube::Error::Api(status) if status.code == 404));
}

#[tokio::test]
async fn bodies_that_make_no_sense_are_refused() {
    let (_, client) = with_definitions().await;
    let things = "/apis/cutover.dev/v1alpha1/namespaces/default/rolloutrequests";
    let services = "/api/v1/namespaces/default/services";
    let cases = [
        ("POST", things, r#"{"apiVersion":"cutover.dev/v1alpha1","kind":"RolloutRequest","metadata":[],"spec":7}"#),
        ("POST", things, r#"{"apiVersion":"cutover.dev/v1alpha1","kind":"RolloutRequest","metadata":{"labels":7}}"#),
        ("POST", services, r#"{"metadata":{"name":"a"},"spec":[]}"#),
        ("POST", services, r#"{"metadata":{"name":"a"},"spec":{"ports":7}}"#),
        ("POST", "/api/v1/namespaces", r#"{"metadata":{"name":"a","labels":[]}}"#),
        ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", r#"{"metadata":{"name":"a"},"spec":{}}"#),
        ("DELETE", things, "[]"),
        ("PUT", "/api/v1/namespaces/default", "7"),
    ];
    for (method, path, body) in cases {
        let request = http::Request::builder().method(method).uri(path).body(body.as_bytes().to_vec()).unwrap();
        let refused = client.request::<Value>(request).await.unwrap_err();
        assert!(matches!(&refused, kube::Error::Api(status) if (400..500).contains(&status.code)), "{body}: {refused}");
    }
}

#[tokio::test]
async fn it_answers_on_a_socket() {
    let _another_test_was_faster = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let api = server();
    let served = Server::start(None, move |request| api.clone().call(request).map(|Ok(answer)| answer)).await.unwrap();
    let page = reqwest::get(format!("http://{}/api/v1/namespaces/default", served.address)).await.unwrap();
    let namespace: Value = serde_json::from_str(&page.text().await.unwrap()).unwrap();
    assert_eq!(namespace["status"]["phase"], "Active");
}
