//! Processes that die, sleep and come back.

use crate::{
    history::History,
    hub::Hub,
    rollout::{PATIENCE, members, promoted_steps, steps, to_eu_3},
    runner::{Place, Scene, Test},
    stage::Stage,
    trail::assert_every_rise_is_earned,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{MemberCluster, Phase, Reason, Verb, status::Outcome};
use jiff::SignedDuration;
use kube::{Api, ResourceExt};
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

pub const TESTS: &[Test] = &[
    Test { name: "the_hub_is_killed_ten_times", place: Place::Alone, run: |scene| Box::pin(killed(scene)) },
    Test { name: "a_hub_that_slept_through_a_rollback", place: Place::Alone, run: |scene| Box::pin(slept(scene)) },
    Test { name: "an_old_status_is_seen_by_a_new_hub", place: Place::Alone, run: |scene| Box::pin(restored(scene)) },
    Test {
        name: "a_members_api_server_dies_and_returns",
        place: Place::Alone,
        run: |scene| Box::pin(api_server(scene)),
    },
    Test { name: "metrics_by_url_need_no_api_server", place: Place::Alone, run: |scene| Box::pin(unreachable(scene)) },
];

/// Where a hub process of a test's own answers.
const PORT: u16 = 8202;
const KILLS: usize = 10;
/// The same moments in every run of the test.
const SEED: u64 = 0x5EED_0F7E_4C1D_9A37;
const SETTLE: SignedDuration = SignedDuration::from_secs(1);
const BAKE: SignedDuration = SignedDuration::from_secs(4);

/// Without a lease: each life begins at once, and only the marks keep order.
async fn killed(scene: Scene) -> Result<()> {
    let climb = json!({"strategy": {"bake": "4s", "steps": steps(&[10, 20, 40, 60, 80, 100])}});
    let stage = Stage::begin(&scene, climb).await?;
    scene.process.stop().await?;
    let hub = Hub::new(&scene.hub, &scene.folder, "killed", PORT)?.alone();
    let outcome = climb_with_kills(&stage, &hub).await;
    hub.kill().await?;
    scene.process.open().await?;
    outcome?;
    stage.load.stop().await.assert_all_ok()
}

async fn climb_with_kills(stage: &Stage<'_>, hub: &Hub) -> Result<()> {
    let scene = stage.scene;
    let rollouts = scene.hub.api("cutover.dev/v1alpha1", "FleetRollout", &scene.namespace).await?;
    let statuses = History::start(rollouts, &scene.namespace).await?;
    stage.rollout.edit(json!({"members": to_eu_3()})).await?;
    for moment in moments() {
        hub.open().await?;
        sleep(moment).await;
        hub.kill().await?;
        let status = stage.rollout.status().await?;
        ensure!(status.history.is_empty(), "it ended before the last kill: {}", status.message);
    }
    hub.open().await?;
    let status = stage.rollout.phase(Phase::Succeeded).await?;
    ensure!(
        status.history.last().is_some_and(|run| run.number == 1 && run.outcome == Outcome::Succeeded),
        "{}",
        status.message
    );
    stage.expect_weights(&[0, 10, 20, 40, 60, 80, 100])?;
    let writes = stage.writes();
    ensure!(writes.is_sorted_by_key(|write| write.sequence), "a write came late: {writes:?}");
    assert_every_rise_is_earned(&writes, &statuses, SETTLE + BAKE)
}

/// From 100 ms to 4 s, by a small generator of pseudo-random numbers (xorshift).
fn moments() -> impl Iterator<Item = Duration> {
    let next = |state: &u64| {
        let state = state ^ (state << 13);
        let state = state ^ (state >> 7);
        Some(state ^ (state << 17))
    };
    std::iter::successors(Some(SEED), next)
        .skip(1)
        .take(KILLS)
        .map(|number| Duration::from_millis(100 + number % 3_900))
}

/// The leader sleeps while the second one takes over and rolls back; then it wakes with its old plans.
async fn slept(scene: Scene) -> Result<()> {
    let stage =
        Stage::begin(&scene, json!({"strategy": {"bake": "3s", "steps": steps(&[20, 40, 60, 80, 100])}})).await?;
    let second = Hub::new(&scene.hub, &scene.folder, "second", PORT)?;
    second.open().await?;
    stage.first_step().await?;
    scene.process.pause().await?;
    let rolled_back = roll_back(&stage).await;
    let before = stage.writes();
    scene.process.resume().await?;
    rolled_back?;

    scene.process.ready().await?;
    stage.load.goes_on_for(seconds(10)).await?;
    ensure!(stage.writes() == before, "something was written after the rollback: {:?}", stage.writes());
    ensure!(before.is_sorted_by_key(|write| write.sequence), "a write came late: {before:?}");
    stage.expect_weights(&[0, 20, 0])?;

    // It leads again when the second one has gone, and knows what happened.
    second.stop().await?;
    stage.rollout.ask(Verb::Retry).await?;
    stage.rollout.applied(1).await?;
    stage.expect_weights(&[0, 20, 0, 20])?;
    stage.load.stop().await.assert_all_ok()
}

async fn roll_back(stage: &Stage<'_>) -> Result<()> {
    stage.rollout.ask(Verb::Abort).await?;
    stage.rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    eventually("the rollback", PATIENCE, async || {
        ensure!(stage.writes().last().is_some_and(|write| write.weight == 0), "{:?}", stage.writes());
        Ok(())
    })
    .await
}

/// The status of step 1 comes back, as from a backup, over routes that show step 2, while no hub runs. The next one must
/// see that before it takes over.
async fn restored(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[30, 60, 100])}})).await?;
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
    ensure!(primary.get("eu-1") == Some(40) && primary.get("eu-3") == Some(60), "{primary:?}");
    // Three tenths of the forty that are left.
    stage.expect_weights(&[0, 30, 60, 72])?;
    stage.load.stop().await.assert_all_ok()
}

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

/// Its Prometheus is reached by URL: the evidence is all there.
async fn unreachable(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[30, 100])}})).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    let server = &scene.member("eu-3").cluster.server;
    server.stop().await?;
    let outcome = go_on_without_api_server(&stage).await;
    server.start().await?;
    outcome?;

    stage.rollout.ask(Verb::Promote).await?;
    stage.rollout.phase(Phase::Succeeded).await?;
    stage.expect_weights(&[0, 30, 100])?;
    stage.load.stop().await.assert_all_ok()
}

async fn go_on_without_api_server(stage: &Stage<'_>) -> Result<()> {
    unreachable_is_reported(stage).await?;
    stage.load.goes_on_for(seconds(5)).await?;
    stage.expect_weights(&[0, 30])?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.rollout.ask(Verb::Promote).await?;
    stage.rollout.applied(2).await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    stage.expect_weights(&[0, 30, 100])
}

/// Waits until the hub says of eu-3 that its API server does not answer.
async fn unreachable_is_reported(stage: &Stage<'_>) -> Result<()> {
    let members = Api::<MemberCluster>::all(stage.scene.hub.client.clone());
    eventually("eu-3 not Reachable", PATIENCE, async || {
        let conditions = members.get("eu-3").await?.status.unwrap_or_default().conditions;
        let condition = conditions.iter().find(|condition| condition.type_ == "Reachable").context("no condition")?;
        ensure!(condition.reason == Reason::ApiServerUnreachable, "{condition:?}");
        Ok(())
    })
    .await
}
