//! What is declared while a run goes on, and after it.

use crate::{
    history::History,
    rollout::{Rollout, declaration, members, promoted_steps, steps, to_eu_3},
    runner::{Place, Scene, Test},
    shown::shown,
    stage::Stage,
    wait::seconds,
};
use anyhow::{Context, Result, ensure};
use cutover::api::{FleetRolloutStatus, Phase, Reason, Verb};
use serde_json::json;

pub const TESTS: &[Test] = &[
    Test { name: "another_target_in_mid_run", place: Place::Shared, run: |scene| Box::pin(another(scene)) },
    Test { name: "the_old_target_is_a_rollback", place: Place::Shared, run: |scene| Box::pin(old(scene)) },
    Test { name: "a_soak_can_be_rolled_back", place: Place::Shared, run: |scene| Box::pin(soak(scene)) },
    Test { name: "a_second_rollout_of_a_route_is_refused", place: Place::Shared, run: |scene| Box::pin(second(scene)) },
];

/// From eu-1 and eu-3 at 50 each it goes on to eu-2; no cluster gets everything at once, and the rollback target is eu-1.
async fn another(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    let history = History::start(stage.routes.clone(), "public").await?;
    stage.first_step().await?;
    let to_eu_2 =
        json!([{"name": "eu-1", "weight": 0}, {"name": "eu-3", "weight": 0}, {"name": "eu-2", "weight": 100}]);
    stage.rollout.edit(json!({ "members": to_eu_2 })).await?;
    let second =
        |status: &FleetRolloutStatus| status.run.as_ref().is_some_and(|run| (run.number, run.step()) == (2, 1));
    let run = stage.rollout.until("run 2 at step 1", second).await?.run.context("no run")?;
    ensure!(run.rollback_to.get("eu-1") == Some(100), "the rollback target is {:?}", run.rollback_to);
    stage.rollout.applied(1).await?;
    stage.rollout.ask(Verb::Abort).await?;
    stage.rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    let states = history.entries().into_iter().filter_map(|entry| Some(shown(&entry.object?, stage.service())));
    let mut eu_2: Vec<u32> = states.map(|shown| shown.get("eu-2").copied().unwrap_or_default()).collect();
    eu_2.dedup();
    ensure!(eu_2 == [0, 50, 0], "eu-2 had {eu_2:?}");
    stage.load.goes_on_for(seconds(2)).await?;
    stage.load.stop().await.assert_all_ok()
}

async fn old(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    stage.first_step().await?;
    stage.rollout.edit(json!({"members": members([100, 0, 0], [100, 0, 0])})).await?;
    let status = stage.rollout.phase(Phase::Initialized).await?;
    let ended = status.history.last().context("no run ended")?;
    ensure!(ended.reason == Reason::OldTargetDeclared, "{ended:?}");
    stage.expect_weights(&[0, 50, 0])?;
    stage.load.stop().await.assert_all_ok()
}

/// All steps are done, and rollback is possible.
async fn soak(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"keepPrevious": "10m", "steps": steps(&[50, 100])}})).await?;
    stage.first_step().await?;
    let status = stage.rollout.phase(Phase::Soaking).await?;
    ensure!(status.primary.context("no primary")?.get("eu-1") == Some(100), "the primary is not eu-1 any more");
    stage.rollout.ask(Verb::Rollback).await?;
    stage.rollout.stands(Phase::RolledBack, Reason::RollbackRequested).await?;
    stage.expect_weights(&[0, 50, 100, 0])?;
    stage.load.stop().await.assert_all_ok()
}

/// The first one keeps it, and the second reports who has it.
async fn second(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    stage.first_step().await?;
    let mut declared = declaration(name, &json!({"gatewayAPI": {"name": "public"}}));
    declared["metadata"]["name"] = json!("second");
    declared["spec"]["members"] = to_eu_3();
    let second = Rollout::declare(&scene, name, &declared).await?;
    let status = second.until("refused", |status| status.reason == Reason::Conflict).await?;
    ensure!(status.message.contains(&format!("{name}/{name}")), "{}", status.message);
    stage.load.goes_on_for(seconds(2)).await?;
    stage.expect_weights(&[0, 50])?;
    stage.load.stop().await.assert_all_ok()
}
