//! Processes that die, sleep and come back.

use crate::{
    history::History,
    hub::Hub,
    rollout::{Rollout, members, promoted_steps, steps, to_eu_3},
    runner::{Scene, Test},
    stage::Stage,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{
    FleetRolloutStatus, Phase, Reason, Verb,
    status::{Run, Verdict},
};
use jiff::SignedDuration;
use kube::ResourceExt;
use serde_json::json;
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test { name: "a_members_api_server_dies_and_returns", exclusive: true, run: |scene| Box::pin(api_server(scene)) },
    Test { name: "the_hub_is_killed_ten_times", exclusive: true, run: |scene| Box::pin(killed(scene)) },
    Test { name: "a_hub_that_slept_through_a_rollback", exclusive: true, run: |scene| Box::pin(slept(scene)) },
];

/// Where the second hub process answers for itself.
const SECOND_PORT: u16 = 8202;

/// eu-2 is measured through its API server: without it nothing is known, and nothing moves.
async fn api_server(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[30, 100])}})).await?;
    stage.rollout.edit(json!({"members": members([0, 100, 0], [100, 0, 0])})).await?;
    stage.rollout.applied(1).await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    let server = &scene.member("eu-2").cluster.server;
    server.stop().await?;
    let held = stage.rollout.stands(Phase::Held, Reason::MetricsUnknown).await;
    let version = stage.routes.get("public").await?.resource_version();
    server.start().await?;
    let message = held?.message;
    ensure!(message.contains("eu-2"), "{message}");
    ensure!(stage.routes.get("public").await?.resource_version() == version, "the route was written");
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    for step in [1, 2] {
        stage.rollout.applied(step).await?;
        stage.rollout.phase(Phase::WaitingPromotion).await?;
        stage.rollout.ask(Verb::Promote).await?;
    }
    stage.rollout.phase(Phase::Succeeded).await?;
    stage.load.stop().await.assert_all_ok()
}

/// SIGKILL at ten moments of one run, without an election, so that the next life acts at once.
async fn killed(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": steps(&[10, 30, 50, 70, 100])}})).await?;
    scene.process.stop().await?;
    let hub = Hub::new(&scene.hub, &scene.folder, &scene.namespace, SECOND_PORT)?.alone();
    let told = kill_ten_times(&stage, &hub).await;
    hub.kill().await?;
    scene.process.open().await?;
    expect_passes(&told?)?;
    stage.expect_weights(&[0, 10, 30, 50, 70, 100])?;
    for (at, next) in stage.weights().iter().zip(stage.weights().iter().skip(1)).skip(1) {
        let held = next.0.duration_since(at.0);
        ensure!(
            held >= SignedDuration::from_secs(5),
            "{} held for {held:?} only: settle 1 s, window and lag 4 s",
            at.1
        );
    }
    stage.load.stop().await.assert_all_ok()
}

/// The run from its start to its end, as its status told it.
async fn kill_ten_times(stage: &Stage<'_>, hub: &Hub) -> Result<History> {
    hub.open().await?;
    let rollouts = stage.scene.hub.api("cutover.dev/v1alpha1", "FleetRollout", stage.service()).await?;
    let told = History::start(rollouts, stage.service()).await?;
    stage.rollout.edit(json!({"members": to_eu_3()})).await?;
    stage.rollout.until("a run", |status| status.run.is_some()).await?;
    for life in 0..10_u64 {
        // Moments that have nothing to do with the run's own seconds.
        tokio::time::sleep(Duration::from_millis(300 + life * 1_370 % 2_900)).await;
        let run = stage.rollout.status().await?.run;
        ensure!(run.is_some_and(|run| run.outcome.is_none()), "the run was over before it was killed ten times");
        hub.kill().await?;
        hub.open().await?;
    }
    stage.rollout.phase(Phase::Succeeded).await?;
    Ok(told)
}

/// Whenever a status shows the next step, the last check that was recorded passed.
fn expect_passes(told: &History) -> Result<()> {
    let statuses = told.entries().into_iter().filter_map(|entry| entry.object);
    let statuses =
        statuses.filter_map(|object| serde_json::from_value::<FleetRolloutStatus>(object.data["status"].clone()).ok());
    let runs: Vec<Run> = statuses.filter_map(|status| status.run).collect();
    let mut advances = 0;
    for (before, after) in runs.iter().zip(runs.iter().skip(1)).filter(|(before, after)| after.step > before.step) {
        advances += 1;
        let last = after.check.as_ref().or(before.check.as_ref());
        let passed = before.step == 0 || last.is_some_and(|check| check.verdict == Verdict::Pass);
        ensure!(passed, "step {} was taken after {last:?}", after.step);
    }
    ensure!(advances == 5, "{advances} advances were seen, not 5");
    Ok(())
}

/// The leader sleeps, another process takes over and rolls back; awake again, the first one writes nothing.
async fn slept(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[30, 100])}})).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    let second = Hub::new(&scene.hub, &scene.folder, &scene.namespace, SECOND_PORT)?;
    second.open().await?;
    scene.process.pause().await?;
    let outcome = rolled_back(&stage.rollout).await;
    let version = stage.routes.get("public").await?.resource_version();
    scene.process.resume().await?;
    let leader = outcome?.leader;
    stage.load.goes_on_for(seconds(8)).await?;
    let route = stage.routes.get("public").await?;
    ensure!(route.resource_version() == version, "the route was written by the one that slept");
    ensure!(stage.rollout.status().await?.leader == leader, "the one that slept leads this rollout");
    stage.expect_weights(&[0, 30, 0])?;
    second.stop().await?;
    stage.load.stop().await.assert_all_ok()
}

/// The Lease of the one that sleeps ends first.
async fn rolled_back(rollout: &Rollout<'_>) -> Result<FleetRolloutStatus> {
    rollout.ask(Verb::Abort).await?;
    eventually("the rollback by the second hub", seconds(60), async || {
        let status = rollout.status().await?;
        ensure!(status.phase == Phase::RolledBack, "{:?}", status.phase);
        status.leader.as_ref().context("no leader")?;
        Ok(status)
    })
    .await
}
