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

async fn alerted(scene: Scene) -> Result<()> {
    let alertmanager = Alertmanager::start(&scene, 9093).await?;
    let alerts = json!([{"name": "team", "severity": "Warn", "providerRef": {"name": "alertmanager"}}]);
    let declared = json!({"alerts": alerts, "strategy": {"steps": promoted_steps(&[30, 100]), "onFailure": "Hold"}});
    let stage = Stage::begin(&scene, declared).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    let waits = alertmanager.firing(json!({"alertname": "CutoverRollout"})).await?;
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
    let held = alertmanager.firing(json!({"alertname": "CutoverRolloutHeld"})).await?;
    ensure!(held["labels"]["severity"] == "critical", "{held}");
    stage.rollout.ask(Verb::Abort).await?;
    stage.rollout.phase(Phase::RolledBack).await?;
    eventually("the end of the alert", PATIENCE, async || {
        let alerts = alertmanager.known().await?;
        ensure!(!alerts.iter().any(|alert| alert["labels"]["alertname"] == "CutoverRolloutHeld"), "{alerts:?}");
        Ok(())
    })
    .await?;
    stage.load.stop().await;
    Ok(())
}

/// An Alertmanager that notifies nobody, and an AlertProvider of its name that leads there.
pub(super) struct Alertmanager<'s> {
    scene: &'s Scene,
    url: String,
    _process: Process,
}

impl<'s> Alertmanager<'s> {
    /// Starts it on a port of the hub's address that no other test uses.
    pub(super) async fn start(scene: &'s Scene, port: u16) -> Result<Self> {
        let home = scene.folder.join(format!("alertmanager-{port}"));
        fs::create_dir_all(&home)?;
        fs::write(home.join("alertmanager.yml"), "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")?;
        let mut command = Command::new(&scene.alertmanager);
        command
            .arg(format!("--config.file={}", home.join("alertmanager.yml").display()))
            .arg(format!("--storage.path={}", home.join("data").display()))
            .arg(format!("--web.listen-address={HUB}:{port}"))
            .arg("--cluster.listen-address=");
        let log = scene.folder.join(format!("logs/alertmanager-{port}.log"));
        let process = Process::spawn("alertmanager", command, &log)?;
        let url = format!("http://{HUB}:{port}");
        eventually("alertmanager", seconds(30), async || answers(&format!("{url}/-/ready")).await).await?;
        let provider = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "AlertProvider", "metadata": {"name": "alertmanager"},
            "spec": {"alertmanager": {"labels": {"team": "shop"}}, "url": url},
        });
        scene.hub.apply(&scene.namespace, &provider.to_string()).await?;
        Ok(Self { scene, url, _process: process })
    }

    /// The alerts of this rollout that fire now.
    async fn known(&self) -> Result<Vec<Value>> {
        let answer = reqwest::get(format!("{}/api/v2/alerts?active=true", self.url)).await?;
        let all: Value = serde_json::from_str(&answer.text().await?)?;
        let all = all.as_array().context("no list")?;
        Ok(all.iter().filter(|alert| alert["labels"]["rollout"] == self.scene.namespace).cloned().collect())
    }

    /// The alert with these labels, once it fires.
    pub(super) async fn firing(&self, labels: Value) -> Result<Value> {
        let labels = labels.as_object().context("no labels")?;
        eventually(&format!("{labels:?}"), PATIENCE, async || {
            let alerts = self.known().await?;
            let has_all = |alert: &&Value| labels.iter().all(|(label, value)| alert["labels"][label] == *value);
            alerts.iter().find(has_all).cloned().with_context(|| format!("{alerts:?}"))
        })
        .await
    }
}
