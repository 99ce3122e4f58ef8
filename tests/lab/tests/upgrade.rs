//! An upgrade in mid-run, and back.

use crate::{
    hub::Hub,
    rollout::{promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
    stage::Stage,
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Verb, status::Outcome};
use serde_json::json;

pub const TESTS: &[Test] = &[Test {
    name: "two_versions_take_the_steps_of_one_run",
    place: Place::Alone,
    run: |scene| Box::pin(handed_over(scene)),
}];

/// Where a hub process of a test's own answers.
const PORT: u16 = 8202;
const STEPS: [u32; 4] = [10, 30, 60, 100];

/// Each step is taken by the version that did not take the one before.
async fn handed_over(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"bake": "2s", "steps": promoted_steps(&STEPS)}})).await?;
    let kubeconfig = scene.hub.kubeconfig_file(crate::apiserver::HUB_USER)?;
    let former = Hub::installed(&scene.former_cutover, &kubeconfig, &scene.folder, "former", PORT);
    let outcome = by_turns(&stage, &former).await;
    former.kill().await?;
    if outcome.is_err() {
        scene.process.kill().await?;
        scene.process.open().await?;
    }
    outcome?;
    stage.load.stop().await.assert_all_ok()
}

/// As a Deployment replaces a Pod: the next hub stands by before the one that leads is stopped.
async fn by_turns(stage: &Stage<'_>, former: &Hub) -> Result<()> {
    let (rollout, process) = (&stage.rollout, &stage.scene.process);
    rollout.edit(json!({"members": to_eu_3()})).await?;
    for (step, (leads, next)) in (1..).zip([(process, former), (former, process), (process, former), (former, process)])
    {
        rollout.applied(step).await?;
        let before = rollout.phase(Phase::WaitingPromotion).await?;
        next.open().await?;
        leads.stop().await?;
        rollout.ask(Verb::Promote).await?;
        let run = before.run.context("no run")?;
        ensure!(run.number == 1 && run.step() == step, "run {} at step {}", run.number, run.step());
    }
    let status = rollout.phase(Phase::Succeeded).await?;
    let runs: Vec<_> = status.history.iter().map(|run| (run.number, &run.outcome)).collect();
    ensure!(runs == [(1, &Outcome::Succeeded)], "{runs:?}");
    stage.expect_weights(&[0, 10, 30, 60, 100])?;
    let writes = stage.writes();
    ensure!(writes.is_sorted_by_key(|write| write.sequence), "a write came late: {writes:?}");
    Ok(())
}
