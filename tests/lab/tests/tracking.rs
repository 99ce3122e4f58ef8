//! Tracked ConfigMaps and Secrets on real API servers: a change begins the analysis again, and nothing of a Secret gets out.

use crate::{
    apiserver::{HUB_USER, READER},
    cluster::Cluster,
    endpoint_slices::EndpointSlices,
    fleet::role,
    rollout::{Rollout, declaration, to_eu_3},
    runner::{Place, Scene, Test},
    stage::Stage,
    wait::seconds,
};
use anyhow::{Context, Result, ensure};
use cutover::api::{FleetRolloutStatus, Phase, Reason, Verb, status::Outcome};
use kube::api::ListParams;
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub const TESTS: &[Test] = &[
    Test {
        name: "a_config_map_of_a_member_changes_in_mid_run",
        place: Place::Shared,
        run: |scene| Box::pin(in_member(scene)),
    },
    Test {
        name: "a_secret_in_the_hub_cluster_changes_between_runs",
        place: Place::Shared,
        run: |scene| Box::pin(in_hub(scene)),
    },
    Test {
        name: "copies_for_the_primary_have_what_passed",
        place: Place::Shared,
        run: |scene| Box::pin(copies(scene)),
    },
];

/// What stands in the Secrets, as it is and as the API server shows it.
const SECRETS: [&str; 4] =
    ["hunter2-of-the-lab", "hunter3-of-the-lab", "aHVudGVyMi1vZi10aGUtbGFi", "aHVudGVyMy1vZi10aGUtbGFi"];

/// A service behind which one Deployment works.
fn tracked(name: &str, route: &Value) -> Value {
    json!([{"name": name, "port": 80, "routes": [route], "track": {"workloads": [{"kind": "Deployment", "name": "shop"}]}}])
}

/// It names a ConfigMap and a Secret, and an optional Secret that is not there.
fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "shop"}}, "template": {
            "metadata": {"labels": {"app": "shop"}},
            "spec": {
                "volumes": [{"name": "config", "projected": {"sources": [{"configMap": {"name": "shop"}}]}}],
                "containers": [{"name": "shop", "image": "shop", "envFrom": [
                    {"secretRef": {"name": "token"}}, {"secretRef": {"name": "later", "optional": true}}]}]}}},
    })
}

async fn put(cluster: &Cluster, namespace: &str, objects: &[Value]) -> Result<()> {
    for object in objects {
        cluster.apply(namespace, &object.to_string()).await?;
    }
    Ok(())
}

fn config_map(content: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop"}, "data": {"greeting": content}})
}

fn secret(content: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "stringData": {"token": content}})
}

async fn in_member(scene: Scene) -> Result<()> {
    let (name, eu_3) = (&scene.namespace, &scene.member("eu-3").cluster);
    eu_3.create_namespace(name).await?;
    put(eu_3, name, &[deployment(), config_map("hello"), secret(SECRETS[0])]).await?;
    let services = tracked(name, &json!({"gatewayAPI": {"name": "public"}}));
    let steps = json!([{"progress": "50%", "wait": "Promotion"}, {"progress": "100%"}]);
    let stage = Stage::begin(&scene, json!({"services": services, "strategy": {"steps": steps}})).await?;

    stage.rollout.edit(json!({"members": to_eu_3()})).await?;
    let unknown = |status: &FleetRolloutStatus| status.reason == Reason::ConfigsUnknown;
    let message = stage.rollout.until("it says which right is missing", unknown).await?.message;
    ensure!(message.contains("403") && message.contains("config/rbac/member-tracking.yaml"), "{message}");
    stage.expect_weights(&[0])?;

    eu_3.apply(name, &role("config/rbac/member-tracking.yaml", READER, name)?).await?;
    let first = stage.rollout.applied(1).await?;
    let known: BTreeSet<String> = names(&first)?;
    ensure!(
        known == ["eu-3/ConfigMap/shop", "eu-3/Secret/later", "eu-3/Secret/token"].map(str::to_owned).into(),
        "{known:?}"
    );

    put(eu_3, name, &[config_map("goodbye"), secret(SECRETS[1])]).await?;
    let second = stage.rollout.until("run 2", |status| status.run.as_ref().is_some_and(|run| run.number == 2)).await?;
    let ended = second.history.last().context("no run ended")?;
    ensure!((ended.outcome, ended.reason) == (Outcome::Superseded, Reason::ConfigChanged), "{ended:?}");
    let said = "eu-3/ConfigMap/shop, eu-3/Secret/token changed; the analysis begins again from the primary";
    ensure!(ended.message == said, "{}", ended.message);
    stage.rollout.applied(1).await?;
    stage.expect_weights(&[0, 50, 0, 50])?;
    stage.rollout.ask(Verb::Promote).await?;
    stage.rollout.phase(Phase::Succeeded).await?;
    stage.load.goes_on_for(seconds(2)).await?;
    only_gets(eu_3, name)?;
    is_nowhere(&scene, &stage.rollout).await?;
    stage.load.stop().await.assert_all_ok()
}

fn names(status: &FleetRolloutStatus) -> Result<BTreeSet<String>> {
    let configs = serde_json::to_value(&status.run.as_ref().context("no run")?.configs)?;
    Ok(configs.as_object().context("no names")?.keys().cloned().collect())
}

/// In the member the hub read what is named, and listed and wrote nothing.
fn only_gets(member: &Cluster, namespace: &str) -> Result<()> {
    let requests = member.requests(READER)?.into_iter().filter(|request| request.object_ref.namespace == namespace);
    let made: BTreeSet<(String, String, String)> =
        requests.map(|request| (request.verb, request.object_ref.resource, request.object_ref.name)).collect();
    let read = [("configmaps", "shop"), ("deployments", "shop"), ("secrets", "later"), ("secrets", "token")];
    let wanted = read.map(|(resource, name)| ("get".to_owned(), resource.to_owned(), name.to_owned()));
    ensure!(made == wanted.into(), "{made:?}");
    Ok(())
}

/// No Secret's text is in the rollout, in an event, in a metric or in the hub's log.
async fn is_nowhere(scene: &Scene, rollout: &Rollout<'_>) -> Result<()> {
    let mut texts = vec![("the rollout", serde_json::to_string(&rollout.get().await?)?)];
    let events =
        scene.hub.api("events.k8s.io/v1", "Event", &scene.namespace).await?.list(&ListParams::default()).await?;
    texts.push(("an event", serde_json::to_string(&events)?));
    texts.push(("a metric", reqwest::get(scene.process.url("/metrics")).await?.text().await?));
    texts.push(("the log", std::fs::read_to_string(scene.folder.join("logs/hub-shared.log"))?));
    for (place, text) in texts {
        ensure!(!text.is_empty() && !SECRETS.iter().any(|secret| text.contains(secret)), "{place} shows a Secret");
    }
    Ok(())
}

async fn in_hub(scene: Scene) -> Result<()> {
    let (name, hub) = (&scene.namespace, &scene.hub);
    let _slices = EndpointSlices::keep(hub, name).await?;
    let rollout = Rollout::declare(&scene, name, &declared_in_hub(&scene, false).await?).await?;
    rollout.phase(Phase::Initialized).await?;

    put(hub, name, &[secret(SECRETS[1])]).await?;
    let status = rollout.phase(Phase::Succeeded).await?;
    let began =
        status.transitions.iter().find(|one| one.message.starts_with("run 1 begins")).context("no run began")?;
    ensure!(began.message.ends_with("of the Services (Secret/token changed)"), "{}", began.message);
    is_nowhere(&scene, &rollout).await
}

/// A rollout without analysis, in service mode, of a Service that selects pods, which use a ConfigMap and a Secret.
async fn declared_in_hub(scene: &Scene, keeps_copies: bool) -> Result<Value> {
    let (name, hub) = (&scene.namespace, &scene.hub);
    hub.apply(name, &role("config/rbac/hub-tracking.yaml", HUB_USER, name)?).await?;
    let ports = json!([{"name": "http", "port": 80, "targetPort": 8080}]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"},
                         "spec": {"selector": {"app": "v8080"}, "ports": ports}});
    put(hub, name, &[service, deployment(), config_map("hello"), secret(SECRETS[0])]).await?;
    let mut declared = declaration(name, &Value::Null);
    let route = json!({"contour": {"create": {"host": format!("{name}.example.com")}}});
    declared["spec"]["services"] = tracked("shop", &route);
    declared["spec"]["services"][0]["track"]["primaryCopies"] = keeps_copies.into();
    json_patch::merge(&mut declared["spec"], &json!({"members": null, "strategy": null, "skipAnalysis": true}));
    Ok(declared)
}

async fn copies(scene: Scene) -> Result<()> {
    let (name, hub) = (&scene.namespace, &scene.hub);
    let _slices = EndpointSlices::keep(hub, name).await?;
    let declared = declared_in_hub(&scene, true).await?;
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    let is_forbidden = |status: &FleetRolloutStatus| status.message.contains("config/rbac/hub-tracking-copies.yaml");
    let message = rollout.until("it says which right is missing", is_forbidden).await?.message;
    ensure!(message.starts_with("ConfigMap/shop-primary could not be written"), "{message}");

    hub.apply(name, &role("config/rbac/hub-tracking-copies.yaml", HUB_USER, name)?).await?;
    rollout.phase(Phase::Initialized).await?;
    let uid = rollout.get().await?.metadata.uid.context("no uid")?;
    are_copied(&scene, &uid, "hello", SECRETS[2]).await?;
    put(hub, name, &[config_map("goodbye"), secret(SECRETS[1])]).await?;
    rollout.phase(Phase::Succeeded).await?;
    are_copied(&scene, &uid, "goodbye", SECRETS[3]).await?;
    is_nowhere(&scene, &rollout).await?;

    // deletionPolicy Retain: with an owner that is gone, garbage collection would take them.
    rollout.delete().await?;
    rollout.is_gone().await?;
    for (kind, copy) in [("ConfigMap", "shop-primary"), ("Secret", "token-primary")] {
        let owners = hub.api("v1", kind, name).await?.get(copy).await?.metadata.owner_references;
        ensure!(owners.is_none_or(|owners| owners.is_empty()), "{copy} still has an owner");
    }
    Ok(())
}

/// The copies hold this, and name the rollout as their owner.
async fn are_copied(scene: &Scene, uid: &str, greeting: &str, token: &str) -> Result<()> {
    for (kind, copy, key, wanted) in
        [("ConfigMap", "shop-primary", "greeting", greeting), ("Secret", "token-primary", "token", token)]
    {
        let object = scene.hub.api("v1", kind, &scene.namespace).await?.get(copy).await?;
        ensure!(object.data["data"] == json!({key: wanted}), "{copy} has something else");
        let owners = object.metadata.owner_references.unwrap_or_default();
        ensure!(matches!(&owners[..], [owner] if owner.uid == uid), "{copy}: {owners:?}");
    }
    Ok(())
}
