//! The command line as a person uses it: with the operator's role and nothing more, or past a dead hub.

use crate::{
    apiserver::{ADMIN, OPERATOR},
    fleet::SYSTEM,
    rollout::{PATIENCE, promoted_steps},
    runner::{Scene, Test},
    shares::assert_shares,
    stage::Stage,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason, RolloutRequest, WRITE_ANNOTATION, request::RequestState};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::process::Command;

pub const TESTS: &[Test] = &[
    Test { name: "a_person_uses_every_verb", exclusive: false, run: |scene| Box::pin(verbs(scene)) },
    Test { name: "abort_direct_needs_no_hub", exclusive: true, run: |scene| Box::pin(direct(scene)) },
    Test { name: "a_kubeconfig_is_rotated", exclusive: true, run: |scene| Box::pin(rotated(scene)) },
];

/// Runs `cutover VERB NAME` as a user of the hub's cluster: its exit status and what it printed.
async fn cutover(scene: &Scene, user: &str, words: &[&str]) -> Result<(i32, String)> {
    let name = &scene.namespace;
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.env("KUBECONFIG", scene.hub.kubeconfig_file(user)?);
    command.arg(words[0]).arg(name).args(["-n", name]).args(&words[1..]).kill_on_drop(true);
    let output = tokio::time::timeout(seconds(70), command.output()).await.context("no end")??;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.code().context("it was killed")?, String::from_utf8(text)?))
}

async fn expect(scene: &Scene, words: &[&str], status: i32, said: &str) -> Result<()> {
    expect_as(OPERATOR, scene, words, status, said).await
}

async fn expect_as(user: &str, scene: &Scene, words: &[&str], status: i32, said: &str) -> Result<()> {
    let (code, text) = cutover(scene, user, words).await?;
    ensure!(code == status && text.contains(said), "{words:?} ended with {code}, not {status} and {said:?}:\n{text}");
    Ok(())
}

/// Exit statuses: 0 done, 1 error, 2 failed or rolled back, 3 held or waiting for a person, 4 in progress.
async fn verbs(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    expect(&scene, &["get"], 0, "READY").await?;
    stage.first_step().await?;
    expect(&scene, &["wait", "--for=phase=WaitingPromotion", "--timeout", "60s"], 0, "").await?;
    expect(&scene, &["get"], 3, "cutover promote").await?;
    expect(&scene, &["why"], 3, "").await?;
    expect(&scene, &["pause", "--reason", "a look"], 0, "").await?;
    stage.rollout.stands(Phase::Paused, Reason::PausedByRequest).await?;
    expect(&scene, &["resume"], 0, "").await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    expect(&scene, &["promote", "--reason", "looks good"], 0, "").await?;
    expect(&scene, &["wait", "--for=step=2", "--timeout", "60s"], 0, "").await?;
    expect(&scene, &["abort", "--reason", "a rehearsal"], 0, "").await?;
    stage.rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    expect(&scene, &["get"], 2, "").await?;
    expect(&scene, &["abort"], 1, "").await?;
    stage.expect_weights(&[0, 50, 100, 0])?;
    expect(&scene, &["retry"], 0, "").await?;
    stage.rollout.applied(1).await?;
    expect(&scene, &["rollback"], 0, "").await?;
    stage.rollout.phase(Phase::RolledBack).await?;
    stage.load.stop().await.assert_all_ok()
}

/// One who may write the route takes the canary out while no hub lives; the next hub understands what was done.
async fn direct(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[50, 100])}})).await?;
    stage.first_step().await?;
    scene.process.kill().await?;
    let outcome = abort_without_hub(&stage).await;
    scene.process.open().await?;
    outcome?;

    stage.rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    the_only_request_is_applied(&scene).await?;
    receive(&stage, &[("eu-1", 100)], 0.0).await?;
    stage.load.goes_on_for(seconds(5)).await?;
    stage.expect_weights(&[0, 50, 0])?;
    stage.load.stop().await.assert_all_ok()
}

/// The members' own counts tell that it helped, and the mark is still the hub's.
async fn abort_without_hub(stage: &Stage<'_>) -> Result<()> {
    receive(stage, &[("eu-1", 50), ("eu-3", 50)], 5.0).await?;
    let before = stage.routes.get("public").await?;
    let words = ["abort", "--direct", "--reason", "the hub is dead"];
    expect_as(ADMIN, stage.scene, &words, 0, "asked: rolloutrequest").await?;
    eventually("no more requests at eu-3", PATIENCE, async || receive(stage, &[("eu-1", 100)], 0.0).await).await?;
    let after = stage.routes.get("public").await?;
    let [was, is] = [&before, &after].map(|route| route.annotations().get(WRITE_ANNOTATION));
    ensure!(was.is_some() && was == is, "the mark was {was:?} and is {is:?}");
    Ok(())
}

/// From now on 2,000 requests arrive at the members in these shares.
async fn receive(stage: &Stage<'_>, expected: &[(&str, u32)], within: f64) -> Result<()> {
    let before = stage.scene.received(stage.service());
    stage.load.sends(2_100).await?;
    assert_shares(&before, &stage.scene.received(stage.service()), expected, within)
}

async fn the_only_request_is_applied(scene: &Scene) -> Result<()> {
    let requests = Api::<RolloutRequest>::namespaced(scene.hub.client.clone(), &scene.namespace);
    eventually("the request", PATIENCE, async || {
        let found = requests.list(&ListParams::default()).await?.items;
        let states: Vec<_> = found.into_iter().map(|request| request.status.unwrap_or_default().state).collect();
        ensure!(states == [Some(RequestState::Applied)], "{states:?}");
        Ok(())
    })
    .await
}

/// Bad credentials are noticed and good ones are used, without a restart.
async fn rotated(scene: Scene) -> Result<()> {
    let secrets = scene.hub.api("v1", "Secret", SYSTEM).await?;
    let members = scene.hub.api("cutover.dev/v1alpha1", "MemberCluster", SYSTEM).await?;
    let put = async |text: String| {
        let patch = json!({"stringData": {"value": text}});
        secrets.patch("eu-2-kubeconfig", &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
    };
    let credentials = async |wanted: &str, reason: &str| {
        eventually(reason, seconds(10), async || {
            let member = members.get("eu-2").await?;
            let conditions = member.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let found = conditions.iter().find(|one| one["type"] == "CredentialsValid").cloned().unwrap_or(Value::Null);
            ensure!(found["status"] == wanted && found["reason"] == reason, "{found}");
            Ok(found["message"].as_str().unwrap_or_default().to_owned())
        })
        .await
    };
    let good = scene.member("eu-2").cluster.kubeconfig(crate::apiserver::READER);
    credentials("True", "CredentialsGood").await?;
    put(good.replace("-token", "-forged")).await?;
    let refused = credentials("False", "CredentialsRefused").await;
    put(good.replace("user: {token:", "user: {exec: {command: sh}, token:")).await?;
    let exec = credentials("False", "KubeconfigRefused").await;
    put(good).await?;
    credentials("True", "CredentialsGood").await?;
    let message = refused?;
    ensure!(!message.contains("forged"), "a message shows the token: {message}");
    let message = exec?;
    ensure!(message.contains("users[0].user.exec"), "{message}");
    Ok(())
}
