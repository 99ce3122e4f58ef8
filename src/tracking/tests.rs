use std::collections::BTreeMap;

use kube::client::Body;
use serde_json::json;
use tower::service_fn;

use super::*;
use crate::api::track::WorkloadKind;

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
