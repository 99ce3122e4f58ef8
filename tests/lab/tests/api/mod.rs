//! What a real API server refuses, with the definitions in config/crd. The messages are written by hand.

mod rollouts;

use crate::{
    apiserver::{ADMIN, OPERATOR},
    rollout::declaration,
    runner::{Place, Scene, Test},
};
use anyhow::{Context, Result, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, api::ListParams};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "api_refuses_bad_rollouts", place: Place::Shared, run: |scene| Box::pin(rollouts(scene)) },
    Test { name: "api_refuses_bad_members", place: Place::Shared, run: |scene| Box::pin(members(scene)) },
    Test { name: "api_refuses_bad_requests", place: Place::Shared, run: |scene| Box::pin(requests(scene)) },
    Test { name: "api_serves_every_kind", place: Place::Shared, run: |scene| Box::pin(kinds(scene)) },
];

/// A field, a value that is put there, and what the API server must say.
type Case = (&'static str, Value, &'static str);

async fn rollouts(scene: Scene) -> Result<()> {
    let right = declaration(&scene.namespace, &json!({"gatewayAPI": {"name": "public"}}));
    let path = format!("/apis/cutover.dev/v1alpha1/namespaces/{}/fleetrollouts", scene.namespace);
    expect_all(&scene.hub.client, &path, &right, rollouts::cases()).await
}

async fn members(scene: Scene) -> Result<()> {
    let right = json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "MemberCluster",
        "metadata": {"name": scene.namespace},
        "spec": {
            "endpoints": [{"host": "eu-9.example.com", "port": 443}],
            "prometheus": {"url": {"address": "https://prometheus.example.com"}},
            "allowedNamespaces": {"from": "All"},
        },
    });
    let service = json!({"service": {"namespace": "monitoring", "name": "prometheus", "port": 9090}});
    let secret = json!({"name": "a", "key": "b"});
    let cases = vec![
        ("/metadata/name", json!("eu.9"), "metadata.name: a DNS label of at most 61 characters"),
        ("/spec/endpoints", json!([]), "spec.endpoints in body should have at least 1 items"),
        (
            "/spec/endpoints/0/port",
            json!(65_536),
            "spec.endpoints[0].port in body should be less than or equal to 65535",
        ),
        (
            "/spec/endpoints",
            json!([{"host": "a.b", "port": 1}, {"host": "c.d", "port": 1}]),
            "spec.endpoints: at most one endpoint without service, the default",
        ),
        (
            "/spec/prometheus",
            service,
            "spec.prometheus.service is reached through the member's API server and needs kubeconfigSecretRef; or give prometheus.url",
        ),
        (
            "/spec/prometheus/url/address",
            json!("ftp://x.example.com"),
            "spec.prometheus.url.address in body should match",
        ),
        (
            "/spec/prometheus",
            json!({"url": {"address": "https://p.example.com", "bearerTokenSecretRef": secret, "basicAuthSecretRef": secret}}),
            "bearerTokenSecretRef or basicAuthSecretRef, not both",
        ),
        // An API server drops a null, so the field is left out.
        ("/spec/allowedNamespaces", Value::Null, "spec.allowedNamespaces: Required value"),
        ("/spec/allowedNamespaces", json!({}), "spec.allowedNamespaces.from: Required value"),
        ("/spec/allowedNamespaces", json!({"from": "Names"}), "names is required with from: Names, and only then"),
        ("/spec/probe", json!({"path": "healthz"}), "spec.probe.path in body should match"),
        ("/spec/state", json!("Drained"), "unknown field \"spec.state\""),
    ];
    expect_all(&scene.hub.client, "/apis/cutover.dev/v1alpha1/memberclusters", &right, cases).await
}

async fn requests(scene: Scene) -> Result<()> {
    let right = json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "RolloutRequest",
        "metadata": {"name": "ask"},
        "spec": {"rollout": {"name": "shop", "uid": "u"}, "verb": "Abort", "run": 1, "requestedBy": ADMIN},
    });
    let cases = vec![
        ("/spec/verb", json!("Explode"), "spec.verb: Unsupported value: \"Explode\""),
        ("/spec/run", json!(-1), "spec.run in body should be greater than or equal to 0"),
        ("/spec/step", json!(0), "spec.step in body should be greater than or equal to 1"),
        ("/spec/reason", json!("r".repeat(257)), "spec.reason: Too long: may not be more than 256 bytes"),
        ("/spec/requestedBy", json!(OPERATOR), "spec.requestedBy: lab-operator is not you; write lab-admin"),
    ];
    let path = format!("/apis/cutover.dev/v1alpha1/namespaces/{}/rolloutrequests", scene.namespace);
    expect_all(&scene.hub.client, &path, &right, cases).await?;
    let operator = scene.hub.client_as(OPERATOR).await?;
    let forged = refusal(&operator, &path, &right).await?;
    ensure!(forged.contains("spec.requestedBy: lab-admin is not you; write lab-operator"), "{forged}");

    let api = scene.hub.api("cutover.dev/v1alpha1", "RolloutRequest", &scene.namespace).await?;
    scene.hub.create(&scene.namespace, &right.to_string()).await?;
    let change = json!({"spec": {"verb": "Promote"}});
    let changed = api.patch("ask", &kube::api::PatchParams::default(), &kube::api::Patch::Merge(change)).await;
    let said = changed.err().context("a request could be changed")?.to_string();
    ensure!(said.contains("spec: a request cannot be changed; create a new one"), "{said}");
    Ok(())
}

/// Established, structural, and every short name works.
async fn kinds(scene: Scene) -> Result<()> {
    let definitions =
        Api::<CustomResourceDefinition>::all(scene.hub.client.clone()).list(&ListParams::default()).await?;
    let ours = definitions.into_iter().filter(|definition| definition.spec.group == "cutover.dev");
    let mut names = Vec::new();
    for definition in ours {
        let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
        let holds = |kind: &str| conditions.iter().any(|one| one.type_ == kind && one.status == "True");
        ensure!(holds("Established") && holds("NamesAccepted") && !holds("NonStructuralSchema"), "{conditions:?}");
        names.extend(definition.spec.names.short_names.unwrap_or_default());
    }
    names.sort();
    ensure!(names == ["ap", "fr", "mc", "mt", "rr"], "{names:?}");
    Ok(())
}

/// The right object is taken, and with each change it is refused with those words, all mistakes at once.
async fn expect_all(client: &Client, path: &str, right: &Value, cases: Vec<Case>) -> Result<()> {
    let taken = refusal(client, path, right).await;
    ensure!(taken.is_err(), "the right object was refused: {taken:?}");
    let mut wrong = Vec::new();
    for (pointer, value, expected) in cases {
        let mut object = right.clone();
        let (parent, key) = pointer.rsplit_once('/').context("a pointer")?;
        match object.pointer_mut(parent).context(pointer)? {
            Value::Array(list) => list[key.parse::<usize>()?] = value,
            parent => parent[key] = value,
        }
        match refusal(client, path, &object).await {
            Ok(said) if said.contains(expected) => {}
            Ok(said) => wrong.push(format!("{pointer}: said {said:.400}\n    not {expected}")),
            Err(_) => wrong.push(format!("{pointer}: taken; expected {expected}")),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n  "));
    Ok(())
}

/// What the API server says against creating this object, as strict clients ask; an error if it takes it.
pub(super) async fn refusal(client: &Client, path: &str, object: &Value) -> Result<String> {
    let request = http::Request::post(format!("{path}?dryRun=All&fieldValidation=Strict"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes())?;
    let answer = client.request::<Value>(request).await;
    answer.err().map(|error| error.to_string()).context("it was taken")
}
