//! What a rollout refers to, through the hub's real watches and passes, on the API server in memory: other rollouts, and
//! metric templates. Nothing but the hub's own wakes is waited for: its look at what has not changed comes once a minute.

use std::{sync::Arc, time::Duration};

use cutover::{
    api::{FleetRollout, MetricTemplate, Reason, crd},
    clock::Clock,
    http::{AddressRules, Network},
    hub,
    sandbox::{api::ApiServer, proxy},
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// Far less than the minute after which the hub looks by itself.
const SOON: Duration = Duration::from_secs(15);

async fn create(client: &Client, path: &str, object: &Value) {
    let request = http::Request::post(path).header("content-type", "application/json");
    let answer: Result<Value, _> = client.request(request.body(object.to_string().into_bytes()).unwrap()).await;
    assert!(answer.is_ok(), "{path}: {answer:?}");
}

/// A hub cluster with two members that nobody reaches, and a hub that lives until the test ends.
async fn hub_cluster() -> Client {
    let client = ApiServer::new(Arc::new(|| Clock::default().now()), 7).client();
    for definition in crd::definitions().unwrap().into_iter().chain([proxy::definition()]) {
        create(&client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await;
    }
    for name in ["cutover-system", "shop"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        create(&client, "/api/v1/namespaces", &namespace).await;
    }
    for name in ["eu-1", "eu-3"] {
        let spec = json!({
            "endpoints": [{"host": format!("gateway.{name}.example.com"), "port": 80}],
            "prometheus": {"url": {"address": format!("https://prometheus.{name}.example.com")}},
            "allowedNamespaces": {"from": "All"}});
        let member = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": name}, "spec": spec});
        create(&client, "/apis/cutover.dev/v1alpha1/memberclusters", &member).await;
    }
    let instance = hub::Instance {
        client: client.clone(),
        network: Network::new(AddressRules::default()),
        clock: Clock::default(),
        name: "hub-1".to_owned(),
        namespace: "cutover-system".to_owned(),
        external_names: Vec::new(),
        leader_election: false,
        listener: None,
    };
    tokio::spawn(hub::run_instance(instance, std::future::pending()));
    client
}

/// Declares that all of a service goes to one member; today all of it goes to eu-1.
async fn declare(client: &Client, name: &str, to: &str, more: &Value) {
    let route = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "parentRefs": [{"name": "public"}], "hostnames": [format!("{name}.test")],
            "rules": [{"backendRefs": [{"name": format!("{name}-eu-1"), "port": 80, "weight": 100}]}]}});
    create(client, "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes", &route).await;
    let members = ["eu-1", "eu-3"].map(|member| json!({"name": member, "weight": if member == to { 100 } else { 0 }}));
    let mut spec = json!({
        "services": [{"name": name, "port": 80, "routes": [{"gatewayAPI": {"name": name}}]}],
        "members": members,
        "analysis": {"metrics": [
            {"name": "success", "builtin": {"type": "RequestSuccessRate", "ingress": "Contour"}, "min": 99}]}});
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    let rollout = json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
        "metadata": {"name": name, "namespace": "shop"}, "spec": spec});
    create(client, "/apis/cutover.dev/v1alpha1/namespaces/shop/fleetrollouts", &rollout).await;
}

async fn until(client: &Client, name: &str, what: &str, holds: impl Fn(&FleetRollout) -> bool) {
    let rollouts: Api<FleetRollout> = Api::namespaced(client.clone(), "shop");
    let end = tokio::time::Instant::now() + SOON;
    loop {
        let rollout = rollouts.get(name).await.unwrap();
        if holds(&rollout) {
            return;
        }
        let status = rollout.status.unwrap_or_default();
        let late = tokio::time::Instant::now() > end;
        assert!(!late, "{name} never came to {what}: {:?} {}: {}", status.phase, status.reason, status.message);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn stands(rollout: &FleetRollout, reason: Reason) -> bool {
    rollout.status.as_ref().is_some_and(|status| status.reason == reason)
}

fn runs(rollout: &FleetRollout) -> bool {
    rollout.status.as_ref().is_some_and(|status| status.run.is_some())
}

#[tokio::test]
async fn a_rollout_waits_for_another_one_and_is_woken_by_it() {
    let client = hub_cluster().await;
    let after_base = json!({"dependsOn": [{"name": "base"}]});
    declare(&client, "late", "eu-3", &after_base).await;
    until(&client, "late", "DependencyMissing", |late| stands(late, Reason::DependencyMissing)).await;
    declare(&client, "base", "eu-1", &json!({})).await;
    until(&client, "late", "a run", runs).await;

    let rollouts: Api<FleetRollout> = Api::namespaced(client.clone(), "shop");
    let away = json!({"spec": {"members": [{"name": "eu-1", "weight": 0}, {"name": "eu-3", "weight": 100}]}});
    rollouts.patch("base", &PatchParams::default(), &Patch::Merge(away)).await.unwrap();
    until(&client, "base", "a run", runs).await;
    declare(&client, "later", "eu-3", &after_base).await;
    until(&client, "later", "WaitingForDependency", |later| stands(later, Reason::WaitingForDependency)).await;
    let around = json!({"spec": {"dependsOn": [{"name": "later"}]}});
    rollouts.patch("base", &PatchParams::default(), &Patch::Merge(around)).await.unwrap();
    until(&client, "later", "DependencyCycle", |later| stands(later, Reason::DependencyCycle)).await;
}

#[tokio::test]
async fn a_template_that_is_missing_or_does_not_fit_holds_until_it_is_put_right() {
    let client = hub_cluster().await;
    let metric = json!({"name": "errors", "max": 1, "templateRef": {"name": "errors"}, "variables": {"code": "5.."}});
    declare(&client, "shop", "eu-3", &json!({"analysis": {"metrics": [metric]}})).await;
    until(&client, "shop", "TemplateNotFound", |shop| stands(shop, Reason::TemplateNotFound)).await;

    let templates: Api<MetricTemplate> = Api::namespaced(client.clone(), "shop");
    let template = |variable: &str| -> MetricTemplate {
        serde_json::from_value(json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "MetricTemplate", "metadata": {"name": "errors"},
            "spec": {"variables": [{"name": variable}], "ratio": {
                "numerator": format!("sum(increase(x{{code=~\"{{{{ variables.{variable} }}}}\"}}[{{{{ window }}}}]))"),
                "denominator": "sum(increase(x[{{ window }}]))"}}}))
        .unwrap()
    };
    templates.create(&PostParams::default(), &template("status")).await.unwrap();
    until(&client, "shop", "InvalidSpec", |shop| stands(shop, Reason::InvalidSpec)).await;
    let mut right = template("code");
    right.metadata = templates.get("errors").await.unwrap().metadata;
    templates.replace("errors", &PostParams::default(), &right).await.unwrap();
    until(&client, "shop", "a run", runs).await;
}
