//! Weights and a status that somebody else wrote in the middle of a run.

use crate::{
    rollout::{PATIENCE, promoted_steps},
    runner::{Scene, Test},
    stage::Stage,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use k8s_openapi::api::events::v1::Event;
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "an_edit_that_lowers_is_obeyed", exclusive: false, run: |scene| Box::pin(lowered(scene)) },
    Test { name: "an_edit_that_raises_is_put_back", exclusive: false, run: |scene| Box::pin(raised(scene)) },
    Test {
        name: "an_old_status_over_newer_routes_writes_nothing",
        exclusive: true,
        run: |scene| Box::pin(restored(scene)),
    },
];

const EDITOR: &str = "kubectl-edit";

/// eu-3 gets 30 %, then 60 %, then all; each step waits for a person.
fn three_steps() -> Value {
    json!({"strategy": {"steps": promoted_steps(&[30, 60, 100])}})
}

async fn lowered(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, three_steps()).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.edit_weights(EDITOR, 85, 15).await?;
    let status = stage.rollout.stands(Phase::Paused, Reason::PausedByForeignEdit).await?;
    let said = format!(
        "{EDITOR} set HTTPRoute/public ({}) to eu-1:85 eu-3:15; cutover resume writes the step's weights again",
        stage.service()
    );
    ensure!(status.message == said, "{}", status.message);
    stage.load.goes_on_for(seconds(4)).await?;
    stage.expect_weights(&[0, 30, 15])?;

    stage.rollout.ask(Verb::Resume).await?;
    stage.rollout.applied(1).await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.expect_weights(&[0, 30, 15, 30])?;
    stage.load.stop().await.assert_all_ok()
}

async fn raised(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, three_steps()).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.edit_weights(EDITOR, 50, 50).await?;
    let event = event(&stage, "ForeignEditPutBack").await?;
    let said = format!("{EDITOR} raised eu-3 on HTTPRoute/public ({}) (eu-1:50 eu-3:50); put back", stage.service());
    ensure!(event.note.as_deref() == Some(&said), "{:?}", event.note);
    ensure!(event.type_.as_deref() == Some("Warning"), "{event:?}");
    let status = stage.rollout.phase(Phase::WaitingPromotion).await?;
    let run = status.run.context("no run")?;
    ensure!(run.step == 1 && run.pause.is_none() && run.retreat.is_none(), "{run:?}");
    stage.expect_weights(&[0, 30, 50, 30])?;
    stage.load.stop().await.assert_all_ok()
}

/// The first event of the rollout for this reason.
async fn event(stage: &Stage<'_>, reason: &str) -> Result<Event> {
    let events = Api::<Event>::namespaced(stage.scene.hub.client.clone(), &stage.scene.namespace);
    eventually(&format!("the event {reason}"), PATIENCE, async || {
        let found = events.list(&ListParams::default()).await?.items;
        let reasons: Vec<_> = found.iter().filter_map(|event| event.reason.clone()).collect();
        let event = found.into_iter().find(|event| event.reason.as_deref() == Some(reason));
        event.with_context(|| format!("only {reasons:?}"))
    })
    .await
}

/// The status of step 1 comes back, as from a backup, over routes that show step 2.
async fn restored(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, three_steps()).await?;
    stage.first_step().await?;
    let old = stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.rollout.ask(Verb::Promote).await?;
    let newer = stage.rollout.applied(2).await?;
    stage.expect_weights(&[0, 30, 60])?;

    scene.process.stop().await?;
    stage.rollout.restore_status(&old).await?;
    scene.process.open().await?;
    let status = stage.rollout.stands(Phase::Held, Reason::StatusBehindRoute).await?;
    let said = format!(
        "HTTPRoute/public ({}) carries write {} but this status knows only {}: an old status was restored; \
         to go on from the live weights: cutover adopt",
        stage.service(),
        newer.sequence,
        old.sequence
    );
    ensure!(status.message == said, "{}", status.message);
    let writes = stage.writes();
    stage.load.goes_on_for(seconds(5)).await?;
    ensure!(stage.writes() == writes, "{:?}", stage.writes());

    stage.rollout.ask(Verb::Adopt).await?;
    let status = stage.rollout.applied(1).await?;
    let primary = status.primary.context("no primary")?;
    ensure!(primary.get("eu-1") == Some(&40) && primary.get("eu-3") == Some(&60), "{primary:?}");
    // Three tenths of the forty that are left.
    stage.expect_weights(&[0, 30, 60, 72])?;
    stage.load.stop().await.assert_all_ok()
}
