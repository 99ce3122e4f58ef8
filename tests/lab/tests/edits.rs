//! Other writers: people who edit routes, appliers that own them, backups that were restored, and the end of a rollout.

use crate::{
    rollout::{Rollout, declaration, promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
    stage::{Stage, external_name, http_route},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use kube::ResourceExt;
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "an_edit_that_lowers_is_obeyed", place: Place::Shared, run: |scene| Box::pin(lowered(scene)) },
    Test { name: "an_edit_that_raises_is_put_back", place: Place::Shared, run: |scene| Box::pin(raised(scene)) },
    Test { name: "an_old_status_writes_nothing", place: Place::Shared, run: |scene| Box::pin(restored(scene)) },
    Test { name: "a_route_of_an_applier_is_left_alone", place: Place::Shared, run: |scene| Box::pin(applied(scene)) },
    Test { name: "deletion_retains_the_route", place: Place::Shared, run: |scene| Box::pin(retain(scene)) },
    Test { name: "deletion_reverts_the_route", place: Place::Shared, run: |scene| Box::pin(revert(scene)) },
];

fn half_way() -> Value {
    json!({"strategy": {"steps": promoted_steps(&[50, 100])}})
}

async fn lowered(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, half_way()).await?;
    stage.first_step().await?;
    stage.edit_weights("kubectl-edit", 90, 10).await?;
    let status = stage.rollout.stands(Phase::Paused, Reason::PausedByForeignEdit).await?;
    let said = format!("kubectl-edit set HTTPRoute/public ({}) to eu-1:90 eu-3:10;", stage.service());
    ensure!(status.message.starts_with(&said), "{}", status.message);
    stage.load.goes_on_for(seconds(3)).await?;
    stage.expect_weights(&[0, 50, 10])?;
    stage.rollout.ask(Verb::Resume).await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.expect_weights(&[0, 50, 10, 50])?;
    stage.load.stop().await.assert_all_ok()
}

async fn raised(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, half_way()).await?;
    stage.first_step().await?;
    stage.edit_weights("kubectl-edit", 20, 80).await?;
    let status = stage
        .rollout
        .until("put back", |status| status.run.as_ref().is_some_and(|run| !run.put_back.is_empty()))
        .await?;
    let said =
        format!("kubectl-edit raised eu-3 on HTTPRoute/public ({}) (eu-1:20 eu-3:80); put back", stage.service());
    ensure!(
        status.transitions.iter().any(|one| one.reason == Reason::ForeignEditPutBack && one.message == said),
        "{:?}",
        status.transitions
    );
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.expect_weights(&[0, 50, 80, 50])?;
    stage.load.stop().await.assert_all_ok()
}

/// The status of the first step, put over the second.
async fn restored(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, half_way()).await?;
    stage.first_step().await?;
    let old = stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.rollout.ask(Verb::Promote).await?;
    stage.rollout.applied(2).await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.rollout.restore_status(&old).await?;
    stage.rollout.stands(Phase::Held, Reason::StatusBehindRoute).await?;
    let version = stage.routes.get("public").await?.resource_version();
    stage.load.goes_on_for(seconds(4)).await?;
    ensure!(stage.routes.get("public").await?.resource_version() == version, "the route was written");
    stage.expect_weights(&[0, 50, 100])?;
    stage.rollout.ask(Verb::Adopt).await?;
    let status = stage.rollout.stands(Phase::Initialized, Reason::AtTarget).await?;
    ensure!(status.primary.context("no primary")?.get("eu-3") == Some(100), "the live weights are not the primary");
    stage.load.stop().await.assert_all_ok()
}

/// Applied by server-side apply, as GitOps tools do.
async fn applied(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    external_name(&scene.hub, name, &format!("{name}-eu-1"), &format!("{name}.eu-1.lab")).await?;
    http_route(&scene.hub, name, "public", name, &format!("{{name: {name}-eu-1, port: 80}}")).await?;
    let routes = scene.hub.api("gateway.networking.k8s.io/v1", "HTTPRoute", name).await?;
    let mut route = routes.get("public").await?;
    route.metadata.managed_fields = None;
    route.metadata.resource_version = None;
    let parameters = kube::api::PatchParams::apply("argocd").force();
    routes.patch("public", &parameters, &kube::api::Patch::Apply(&route)).await?;
    let mut declared = declaration(name, &json!({"gatewayAPI": {"name": "public"}}));
    declared["spec"]["members"] = to_eu_3();
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    let status = rollout.until("refused", |status| status.reason == Reason::ManagedByOther).await?;
    ensure!(status.message.contains("argocd") && status.message.contains("spec.rules"), "{}", status.message);
    ensure!(status.run.is_none_or(|run| run.step() == 0), "the run began");
    Ok(())
}

/// The route stays on the primary with its backends; nothing of the hub's is left on it.
async fn retain(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, half_way()).await?;
    stage.first_step().await?;
    stage.rollout.delete().await?;
    stage.rollout.is_gone().await?;
    stage.load.goes_on_for(seconds(5)).await?;
    stage.expect_weights(&[0, 50, 0])?;
    let route = stage.routes.get("public").await?;
    ensure!(!route.annotations().keys().any(|key| key.starts_with("cutover.dev/")), "{:?}", route.annotations());
    let services = scene.hub.api("v1", "Service", stage.service()).await?;
    let backend = services.get(&format!("{}-eu-3", stage.service())).await?;
    ensure!(backend.owner_references().is_empty(), "a backend that the route names has an owner");
    stage.load.stop().await.assert_all_ok()
}

/// The route is as it was, and what the hub made is gone.
async fn revert(scene: Scene) -> Result<()> {
    let mut more = half_way();
    more["deletionPolicy"] = json!("Revert");
    let stage = Stage::begin(&scene, more).await?;
    let before = stage.routes.get("public").await?;
    stage.first_step().await?;
    stage.rollout.delete().await?;
    stage.rollout.is_gone().await?;
    stage.load.goes_on_for(seconds(5)).await?;
    let after = stage.routes.get("public").await?;
    ensure!(after.data["spec"] == before.data["spec"], "{} instead of {}", after.data["spec"], before.data["spec"]);
    ensure!(after.annotations() == before.annotations(), "{:?}", after.annotations());
    let services = scene.hub.api("v1", "Service", stage.service()).await?;
    eventually("the backends", seconds(10), async || {
        let left: Vec<String> =
            services.list(&kube::api::ListParams::default()).await?.iter().map(ResourceExt::name_any).collect();
        ensure!(left == [format!("{}-eu-1", stage.service())], "{left:?}");
        Ok(())
    })
    .await?;
    stage.load.stop().await.assert_all_ok()
}
