//! What a hub must live with: objects that cannot be read, and members that are taken away.

use crate::{
    cluster::Cluster,
    fleet::SYSTEM,
    rollout::{PATIENCE, declaration, promoted_steps},
    runner::{Place, Scene, Test},
    stage::Stage,
    wait::eventually,
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Verb};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, PostParams},
};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "a_malformed_rollout_stops_no_other", place: Place::Alone, run: |scene| Box::pin(malformed(scene)) },
    Test { name: "a_member_in_use_is_kept", place: Place::Alone, run: |scene| Box::pin(kept(scene)) },
];

/// One rollout that no hub can read comes in the middle of a run, and is still there when the hub starts anew.
async fn malformed(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    stage.first_step().await?;
    past_the_rules(&scene.hub, &scene.namespace).await?;
    is_reported(&scene, "bad").await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;

    scene.process.kill().await?;
    scene.process.open().await?;
    stage.rollout.ask(Verb::Promote).await?;
    stage.rollout.applied(2).await?;
    stage.expect_weights(&[0, 50, 100])?;
    stage.load.stop().await.assert_all_ok()
}

/// Makes a `FleetRollout` whose services are a number, while the kind's rules allow anything for a moment.
async fn past_the_rules(hub: &Cluster, namespace: &str) -> Result<()> {
    let kinds = hub.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", "").await?;
    let right = kinds.get("fleetrollouts.cutover.dev").await?;
    let mut loose = right.clone();
    loose.data["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    replace(&kinds, &loose).await?;
    let mut bad = declaration("bad", &json!({"gatewayAPI": {"name": "public"}}));
    bad["spec"]["services"] = json!(7);
    let bad = bad.to_string();
    let made = eventually("a rollout past the rules", PATIENCE, async || hub.create(namespace, &bad).await).await;
    replace(&kinds, &right).await?;
    made
}

/// Replaces a definition's spec, whatever the API server wrote into the object meanwhile.
async fn replace(kinds: &Api<DynamicObject>, wanted: &DynamicObject) -> Result<()> {
    let mut object = kinds.get(&wanted.name_any()).await?;
    object.data["spec"] = wanted.data["spec"].clone();
    kinds.replace(&wanted.name_any(), &PostParams::default(), &object).await?;
    Ok(())
}

async fn is_reported(scene: &Scene, name: &str) -> Result<()> {
    let events = scene.hub.api("events.k8s.io/v1", "Event", &scene.namespace).await?;
    eventually("the event", PATIENCE, async || {
        let all = events.list(&ListParams::default()).await?.items;
        let event = all.iter().find(|event| event.data["regarding"]["name"] == name).context("no event")?;
        let note = event.data["note"].as_str().unwrap_or_default();
        ensure!(event.data["reason"] == "InvalidSpec" && event.data["type"] == "Warning", "{:?}", event.data);
        ensure!(note.starts_with("the object cannot be read and is left alone: "), "{note}");
        Ok(())
    })
    .await
}

/// A member that a rollout declares stays when it is deleted, says why, and goes with the rollout.
async fn kept(scene: Scene) -> Result<()> {
    let members = scene.hub.api("cutover.dev/v1alpha1", "MemberCluster", SYSTEM).await?;
    scene.hub.apply(SYSTEM, &spare().to_string()).await?;
    let name = &scene.namespace;
    let mut declared = declaration(name, &json!({"gatewayAPI": {"name": "public"}}));
    declared["spec"]["members"] = json!([{"name": "eu-1", "weight": 50}, {"name": "spare", "weight": 50}]);
    scene.hub.create(name, &declared.to_string()).await?;
    finalizers(&members, &["cutover.dev/finalizer"]).await?;

    members.delete("spare", &DeleteParams::default()).await?;
    let said = eventually("the condition", PATIENCE, async || in_use(&members.get("spare").await?)).await?;
    let expected =
        format!("FleetRollout {name}/{name} declares weight 50 for spare; declare 0 there, or delete it first");
    ensure!(said == expected, "{said}");

    let rollouts = scene.hub.api("cutover.dev/v1alpha1", "FleetRollout", name).await?;
    ensure!(members.get_opt("spare").await?.is_some(), "it went while it was used");
    rollouts.delete(name, &DeleteParams::default()).await?;
    eventually("the end of the member", PATIENCE, async || {
        ensure!(members.get_opt("spare").await?.is_none(), "it is still there");
        Ok(())
    })
    .await
}

fn spare() -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "MemberCluster",
        "metadata": {"name": "spare"},
        "spec": {
            "endpoints": [{"host": "{{ service }}.spare.lab", "port": 80}],
            "prometheus": {"url": {"address": "http://spare.lab:9090"}},
            "allowedNamespaces": {"from": "All"},
        },
    })
}

async fn finalizers(members: &Api<DynamicObject>, expected: &[&str]) -> Result<()> {
    eventually("the finalizer", PATIENCE, async || {
        let found = members.get("spare").await?.finalizers().to_vec();
        ensure!(found == expected, "{found:?}");
        Ok(())
    })
    .await
}

fn in_use(member: &DynamicObject) -> Result<String> {
    let conditions = member.data["status"]["conditions"].as_array().context("no conditions")?;
    let found = conditions.iter().find(|one| one["type"] == "InUse").context("not said")?;
    ensure!(found["status"] == "True" && found["reason"] == "MemberInUse", "{found}");
    Ok(found["message"].as_str().unwrap_or_default().to_owned())
}
