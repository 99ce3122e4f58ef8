use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::client::Body;
use serde_json::json;
use tower::service_fn;

use super::*;
use crate::{api::track::WorkloadKind, object::Write};

const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/shop/deployments/web";
const SECRET: &str = "/api/v1/namespaces/shop/secrets/token";

/// An API server that has these objects, and answers other paths with a status.
fn hub(objects: &[(&str, Value)], otherwise: u16) -> Source {
    let objects: BTreeMap<String, Value> =
        objects.iter().map(|(path, object)| ((*path).to_owned(), object.clone())).collect();
    let answer = move |request: http::Request<Body>| {
        let found = objects.get(request.uri().path()).cloned();
        let status = if found.is_some() { 200 } else { otherwise };
        let failure =
            || json!({"kind": "Status", "status": "Failure", "code": status, "message": "no", "reason": "No"});
        let body = Body::from(found.unwrap_or_else(failure).to_string().into_bytes());
        async move { http::Response::builder().status(status).body(body) }
    };
    Source::Hub(Client::new(service_fn(answer), "default"))
}

fn deployment(containers: &Value) -> Value {
    json!({"spec": {"template": {"spec": {"containers": containers}}}})
}

fn workload() -> Workload {
    Workload { kind: WorkloadKind::Deployment, name: "web".to_owned() }
}

async fn found(source: &Source) -> Result<Value, String> {
    let place = Place { site: &Site::Hub, namespace: "shop", salt: "uid" };
    let configs = read(source, &place, &[workload()]).await.map_err(|problem| problem.message)?;
    Ok(serde_json::to_value(configs).unwrap())
}

#[tokio::test]
async fn what_a_workload_uses_is_read_by_name_and_what_may_be_absent_is() {
    let containers = json!([{"envFrom": [
        {"secretRef": {"name": "token"}}, {"configMapRef": {"name": "later", "optional": true}}, {"secretRef": {"name": "mine"}}]}]);
    let opted_out = json!({"metadata": {"annotations": {"cutover.dev/track": "false"}}, "data": {"a": "MQ=="}});
    let of = |text: &str| {
        hub(
            &[
                (DEPLOYMENT, deployment(&containers)),
                (SECRET, json!({"data": {"token": text}})),
                ("/api/v1/namespaces/shop/secrets/mine", opted_out.clone()),
            ],
            404,
        )
    };
    let (first, second) = (found(&of("MQ==")).await.unwrap(), found(&of("Mg==")).await.unwrap());
    assert_eq!(first.as_object().unwrap().keys().collect::<Vec<_>>(), ["ConfigMap/later", "Secret/token"]);
    assert_eq!((&first["ConfigMap/later"], first["Secret/token"] == second["Secret/token"]), (&json!("absent"), false));
}

#[tokio::test]
async fn workloads_of_every_kind_are_read() {
    let object = deployment(&json!([{"envFrom": [{"configMapRef": {"name": "later", "optional": true}}]}]));
    for (kind, plural) in [
        (WorkloadKind::Deployment, "deployments"),
        (WorkloadKind::StatefulSet, "statefulsets"),
        (WorkloadKind::DaemonSet, "daemonsets"),
    ] {
        let path = format!("/apis/apps/v1/namespaces/shop/{plural}/web");
        let place = Place { site: &Site::Hub, namespace: "shop", salt: "uid" };
        let workload = Workload { kind, name: "web".to_owned() };
        let found = read(&hub(&[(&path, object.clone())], 404), &place, &[workload]).await.unwrap();
        assert_eq!(found.fingerprint("ConfigMap/later"), Some(ABSENT), "{kind:?}");
    }
}

#[tokio::test]
async fn what_is_missing_or_refused_is_named_with_the_remedy() {
    let needs = deployment(&json!([{"envFrom": [{"secretRef": {"name": "token"}}]}]));
    for (source, message) in [
        (
            hub(&[], 404),
            "the hub cluster: Deployment web does not exist in namespace shop; make it, or correct `track`",
        ),
        (
            hub(&[(DEPLOYMENT, needs.clone())], 404),
            "the hub cluster: Secret/token does not exist in namespace shop; make it, or correct `track`",
        ),
        (
            hub(&[(DEPLOYMENT, needs)], 403),
            "the hub cluster: the API server answered 403 to GET /api/v1/namespaces/shop/secrets/token; give the hub that right \
             (config/rbac/hub-tracking.yaml), or remove `track`",
        ),
        (
            hub(&[], 503),
            "the hub cluster: the API server answered 503 to GET /apis/apps/v1/namespaces/shop/deployments/web; it is tried again",
        ),
    ] {
        assert_eq!(found(&source).await.unwrap_err(), message);
    }
}

#[tokio::test]
async fn more_than_can_be_tracked_is_refused() {
    let many: Vec<Value> =
        (0..33).map(|number| json!({"configMapRef": {"name": format!("c{number}"), "optional": true}})).collect();
    let all = |count: usize| hub(&[(DEPLOYMENT, deployment(&json!([{"envFrom": many[..count]}])))], 404);
    assert_eq!(found(&all(32)).await.unwrap().as_object().unwrap().len(), 32);
    let message = "the hub cluster: 33 ConfigMaps and Secrets are used, at most 32 can be tracked";
    assert_eq!(found(&all(33)).await.unwrap_err(), message);
}

/// A rollout that owns copies.
fn owner(uid: &str) -> OwnerReference {
    OwnerReference {
        api_version: "cutover.dev/v1alpha1".to_owned(),
        kind: "FleetRollout".to_owned(),
        name: "shop".to_owned(),
        uid: uid.to_owned(),
        ..OwnerReference::default()
    }
}

const COPY: &str = "/api/v1/namespaces/shop/secrets/token-primary";

fn secret(text: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"token": text},
        "metadata": {"name": "token", "namespace": "shop", "uid": "s-1", "resourceVersion": "7", "labels": {"app": "shop"}}})
}

/// What the copy is made by the rollout of this uid, where the passed original was this, and these are there now.
async fn copied(uid: &str, passed: &Value, there: &[(&str, Value)]) -> Result<Option<Write>, CopyError> {
    let place = Place { site: &Site::Hub, namespace: "shop", salt: uid };
    let reference = references::Reference::parse("Secret/token").unwrap();
    let fingerprint = content::content(passed, &reference, uid);
    copy(&hub(there, 404), &place, ("Secret/token", &fingerprint), &owner(uid)).await
}

fn written(write: Result<Option<Write>, CopyError>) -> Value {
    match write {
        Ok(Some(Write::Create(object) | Write::Replace(object))) => serde_json::to_value(object).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_copy_has_the_data_that_passed_and_every_rollout_that_uses_it_as_its_owner() {
    let original = secret("MQ==");
    let first = written(copied("uid-1", &original, &[(SECRET, original.clone())]).await);
    assert_eq!(
        first,
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"token": "MQ=="},
            "metadata": {"name": "token-primary", "namespace": "shop", "annotations": {"cutover.dev/copy-of": "token"},
                         "ownerReferences": [owner("uid-1")]}})
    );
    let there = [(SECRET, original.clone()), (COPY, first)];
    assert_eq!(copied("uid-1", &original, &there).await, Ok(None));
    let second = written(copied("uid-2", &original, &there).await);
    assert_eq!(second["metadata"]["ownerReferences"], json!([owner("uid-1"), owner("uid-2")]));
    let place = Place { site: &Site::Hub, namespace: "shop", salt: "uid-2" };
    let used = Configs::at(
        &Site::Hub,
        [("Secret/token".to_owned(), "x".to_owned()), ("ConfigMap/a".to_owned(), ABSENT.to_owned())],
    );
    for (copy, count) in [(&second, 1), (&there[1].1, 0)] {
        let source = hub(&[(COPY, copy.clone())], 404);
        assert_eq!(read_copies(&source, &place, &used).await.unwrap().len(), count, "only its own");
    }
    let released = released_copy(&hub(&[(COPY, second)], 404), &place, "Secret/token").await.unwrap();
    assert_eq!(written(Ok(released))["metadata"]["ownerReferences"], json!([owner("uid-1")]));
}

#[tokio::test]
async fn a_copy_changes_in_its_data_alone() {
    let (old, new) = (secret("MQ=="), secret("Mg=="));
    let mut there = written(copied("uid-1", &old, &[(SECRET, old.clone())]).await);
    there["metadata"]["labels"] = json!({"team": "a"});
    there["metadata"]["resourceVersion"] = json!("9");
    there["binaryData"] = json!({"x": "MQ=="});
    let changed = written(copied("uid-1", &new, &[(SECRET, new.clone()), (COPY, there.clone())]).await);
    there["data"] = new["data"].clone();
    there.as_object_mut().unwrap().remove("binaryData");
    assert_eq!(changed, there);
}

#[tokio::test]
async fn what_has_not_passed_and_what_is_no_copy_is_left_alone() {
    let (passed, changed) = (secret("MQ=="), secret("Mg=="));
    assert_eq!(copied("uid-1", &passed, &[(SECRET, changed)]).await, Err(CopyError::Changed));
    assert_eq!(copied("uid-1", &passed, &[]).await, Err(CopyError::Changed));
    let foreign = secret("eA==");
    let message = "Secret/token-primary exists in namespace shop and is no copy that cutover made; delete it, or leave \
                   `primaryCopies` out";
    let refused = Problem::new(Reason::Conflict, message);
    let there = [(SECRET, passed.clone()), (COPY, foreign)];
    assert_eq!(copied("uid-1", &passed, &there).await, Err(CopyError::Unusable(refused.clone())));
    let place = Place { site: &Site::Hub, namespace: "shop", salt: "uid-1" };
    let used = Configs::at(&Site::Hub, [("Secret/token".to_owned(), "x".to_owned())]);
    assert_eq!(read_copies(&hub(&there, 404), &place, &used).await, Err(refused));
    assert_eq!(released_copy(&hub(&there, 404), &place, "Secret/token").await, Ok(None));
}
