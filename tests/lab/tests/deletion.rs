//! A rollout that is deleted half-way, and one that wants what another one has.

use crate::{
    rollout::{Rollout, declaration, promoted_steps, to_eu_3},
    runner::{Scene, Test},
    stage::Stage,
    wait::seconds,
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use k8s_openapi::api::core::v1::Service;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "deletion_half_way_retains", exclusive: false, run: |scene| Box::pin(retain(scene)) },
    Test { name: "deletion_half_way_reverts", exclusive: false, run: |scene| Box::pin(revert(scene)) },
    Test { name: "the_second_rollout_on_a_rule_is_refused", exclusive: false, run: |scene| Box::pin(conflict(scene)) },
];

/// Half of the way, then all of it; each step waits for a person.
fn half_way(policy: &str) -> Value {
    json!({"deletionPolicy": policy, "strategy": {"steps": promoted_steps(&[50, 100])}})
}

/// Deletes it at 50 % and waits until it is gone.
async fn delete_half_way(stage: &Stage<'_>) -> Result<()> {
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.rollout.delete().await?;
    stage.rollout.is_gone().await?;
    stage.load.goes_on_for(seconds(4)).await?;
    stage.expect_weights(&[0, 50, 0])
}

async fn service(stage: &Stage<'_>, member: &str) -> Result<Option<Service>> {
    let services = Api::<Service>::namespaced(stage.scene.hub.client.clone(), &stage.scene.namespace);
    Ok(services.get_opt(&format!("{}-{member}", stage.service())).await?)
}

async fn retain(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, half_way("Retain")).await?;
    delete_half_way(&stage).await?;
    let route = stage.routes.get("public").await?;
    ensure!(!route.annotations().keys().any(|key| key.starts_with("cutover.dev/")), "{:?}", route.annotations());
    service(&stage, "eu-1").await?.context("the Service that was there before is gone")?;
    let kept = service(&stage, "eu-3").await?.context("the Service that the hub made is gone")?;
    ensure!(kept.owner_references().is_empty(), "{:?}", kept.metadata);
    stage.load.stop().await.assert_all_ok()
}

async fn revert(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, half_way("Revert")).await?;
    let before = stage.routes.get("public").await?;
    delete_half_way(&stage).await?;
    let after = stage.routes.get("public").await?;
    ensure!(after.data["spec"] == before.data["spec"], "{} is not {}", after.data["spec"], before.data["spec"]);
    ensure!(after.annotations() == before.annotations(), "{:?}", after.annotations());
    service(&stage, "eu-1").await?.context("the Service that was there before is gone")?;
    ensure!(service(&stage, "eu-3").await?.is_none(), "the Service that the hub made is still there");
    stage.load.stop().await.assert_all_ok()
}

/// Both are at rest; the first one moves, and from then on the route is its own.
async fn conflict(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, half_way("Retain")).await?;
    let mut declared = declaration(&scene.namespace, &json!({"gatewayAPI": {"name": "public"}}));
    declared["metadata"]["name"] = json!("second");
    declared["spec"]["strategy"]["steps"] = promoted_steps(&[20, 100]);
    let second = Rollout::declare(&scene, &scene.namespace, &declared).await?;
    second.phase(Phase::Initialized).await?;
    stage.first_step().await?;

    second.edit(json!({"members": to_eu_3()})).await?;
    let status = second.until("Conflict", |status| status.reason == Reason::Conflict).await?;
    let said = format!(
        "HTTPRoute/public ({name}) belongs to FleetRollout {name}/{name}; leave it to that one, or delete that one first",
        name = scene.namespace
    );
    ensure!(status.message == said, "{}", status.message);
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.rollout.ask(Verb::Promote).await?;
    stage.rollout.applied(2).await?;
    stage.expect_weights(&[0, 50, 100])?;

    second.delete().await?;
    second.is_gone().await?;
    stage.load.goes_on_for(seconds(3)).await?;
    stage.expect_weights(&[0, 50, 100])?;
    stage.load.stop().await.assert_all_ok()
}
