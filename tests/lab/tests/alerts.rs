//! Alerts of a rollout at a real Alertmanager.

use crate::{
    lab::HUB,
    process::Process,
    rollout::{PATIENCE, promoted_steps},
    runner::{Place, Scene, Test},
    stage::Stage,
    wait::{answers, eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use serde_json::{Value, json};
use std::fs;
use tokio::process::Command;

pub const TESTS: &[Test] =
    &[Test { name: "alerts_at_a_real_alertmanager", place: Place::Shared, run: |scene| Box::pin(alerted(scene)) }];

const PORT: u16 = 9093;

async fn alerted(scene: Scene) -> Result<()> {
    let _alertmanager = start(&scene).await?;
    let provider = json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "AlertProvider", "metadata": {"name": "alertmanager"},
        "spec": {"alertmanager": {"labels": {"team": "shop"}}, "url": format!("http://{HUB}:{PORT}")},
    });
    scene.hub.apply(&scene.namespace, &provider.to_string()).await?;
    let alerts = json!([{"name": "team", "severity": "Warn", "providerRef": {"name": "alertmanager"}}]);
    let declared = json!({"alerts": alerts, "strategy": {"steps": promoted_steps(&[30, 100]), "onFailure": "Hold"}});
    let stage = Stage::begin(&scene, declared).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    let waits = firing(&scene, "CutoverRollout").await?;
    let labels = json!({
        "alertname": "CutoverRollout", "namespace": scene.namespace, "rollout": scene.namespace, "severity": "warning",
        "reason": "WaitingForPromotion", "team": "shop",
    });
    ensure!(waits["labels"] == labels, "{waits}");
    let commands = waits["annotations"]["commands"].as_str().unwrap_or_default();
    let promote = format!("cutover promote {0} -n {0}", scene.namespace);
    ensure!(commands.lines().any(|line| line == promote), "{commands}");

    stage.behave("eu-3", Some(2));
    stage.rollout.stands(Phase::Held, Reason::FailureHeld).await?;
    let held = firing(&scene, "CutoverRolloutHeld").await?;
    ensure!(held["labels"]["severity"] == "critical", "{held}");
    stage.rollout.ask(Verb::Abort).await?;
    stage.rollout.phase(Phase::RolledBack).await?;
    eventually("the end of the alert", PATIENCE, async || {
        let alerts = known(&scene).await?;
        ensure!(!alerts.iter().any(|alert| alert["labels"]["alertname"] == "CutoverRolloutHeld"), "{alerts:?}");
        Ok(())
    })
    .await?;
    stage.load.stop().await;
    Ok(())
}

/// An Alertmanager that notifies nobody.
async fn start(scene: &Scene) -> Result<Process> {
    let home = scene.folder.join("alertmanager");
    fs::create_dir_all(&home)?;
    fs::write(home.join("alertmanager.yml"), "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")?;
    let mut command = Command::new(&scene.alertmanager);
    command
        .arg(format!("--config.file={}", home.join("alertmanager.yml").display()))
        .arg(format!("--storage.path={}", home.join("data").display()))
        .arg(format!("--web.listen-address={HUB}:{PORT}"))
        .arg("--cluster.listen-address=");
    let process = Process::spawn("alertmanager", command, &scene.folder.join("logs/alertmanager.log"))?;
    eventually("alertmanager", seconds(30), async || answers(&format!("http://{HUB}:{PORT}/-/ready")).await).await?;
    Ok(process)
}

/// The alerts of this rollout that fire now.
async fn known(scene: &Scene) -> Result<Vec<Value>> {
    let answer = reqwest::get(format!("http://{HUB}:{PORT}/api/v2/alerts?active=true")).await?;
    let all: Value = serde_json::from_str(&answer.text().await?)?;
    let all = all.as_array().context("no list")?;
    Ok(all.iter().filter(|alert| alert["labels"]["rollout"] == scene.namespace).cloned().collect())
}

/// The alert of this name, once it fires.
async fn firing(scene: &Scene, name: &str) -> Result<Value> {
    eventually(name, PATIENCE, async || {
        let alerts = known(scene).await?;
        let one = alerts.iter().find(|alert| alert["labels"]["alertname"] == name);
        one.cloned().with_context(|| format!("{alerts:?}"))
    })
    .await
}
