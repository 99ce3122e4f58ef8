//! Hooks of a rollout at `cutover hooks serve`: gates that a person opens, and load that nobody else makes. The same run is
//! announced to a real Alertmanager, and the dashboard draws it.

use super::{alerts::Alertmanager, monitoring};
use crate::{
    apiserver::HUB_USER,
    fleet::role,
    lab::HUB,
    process::Process,
    rollout::{PATIENCE, to_eu_3},
    runner::{Place, Scene, Test},
    stage::{Stage, host},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason};
use serde_json::{Value, json};
use std::{fs, net::Ipv4Addr, path::Path};
use tokio::process::Command;

pub const TESTS: &[Test] = &[Test {
    name: "gated_and_tested_by_hooks_announced_and_drawn",
    place: Place::Shared,
    run: |scene| Box::pin(gated(scene)),
}];

const PORT: u16 = 8090;
const KEY: &str = "0123456789abcdef0123456789abcdef";

async fn gated(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let key = scene.folder.join("hook-signing-key");
    fs::write(&key, KEY)?;
    let _receiver = serve(&scene, &key).await?;
    scene.hub.apply(name, &role("config/rbac/hub-hooks.yaml", HUB_USER, name)?).await?;
    let alertmanager = Alertmanager::start(&scene, 9094).await?;
    let prometheus = monitoring::scraping(&scene, Ipv4Addr::new(127, 0, 0, 9), &json!({"groups": []})).await?;
    let alerts = json!([{"name": "team", "providerRef": {"name": "alertmanager"}}]);
    let stage = Stage::begin(&scene, json!({"hooks": hooks(&scene), "alerts": alerts})).await?;
    stage.rollout.edit(json!({"members": to_eu_3()})).await?;

    stage.rollout.stands(Phase::Held, Reason::HookUnanswered).await?;
    let message = stage.rollout.status().await?.message;
    ensure!(message.contains("Secret hook-signing-key does not exist in namespace"), "{message}");
    alertmanager.firing(json!({"alertname": "CutoverRolloutHeld", "severity": "warning"})).await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"key": KEY},
                        "metadata": {"name": "hook-signing-key", "labels": {"cutover.dev/purpose": "hook"}}});
    scene.hub.apply(name, &secret.to_string()).await?;

    waits_for(&stage, "increase (ConfirmTrafficIncrease)").await?;
    stage.expect_weights(&[0])?;
    gate(&["open", &increase(name)], &key).await?;
    stage.rollout.applied(1).await?;

    // From now on nobody sends requests but the hook.
    stage.load.end();
    waits_for(&stage, "promotion (ConfirmPromotion)").await?;
    monitoring::shows_data(&prometheus, name).await?;
    gate(&["open", name], &key).await?;
    stage.rollout.phase(Phase::Succeeded).await?;
    stage.expect_weights(&[0, 10, 30, 60, 100])?;
    alertmanager.firing(json!({"severity": "info", "reason": "RunSucceeded"})).await?;
    let log = fs::read_to_string(scene.folder.join("logs/hooks.log"))?;
    ensure!(log.contains("a load ended"), "{log}");
    let rollout = serde_json::to_string(&stage.rollout.get().await?)?;
    ensure!(!rollout.contains(KEY), "the key is in the rollout");
    stage.load.stop().await;
    Ok(())
}

fn hooks(scene: &Scene) -> Value {
    let hook = |name: &str, kind: &str, path: &str| {
        json!({"name": name, "type": kind, "url": format!("http://{HUB}:{PORT}/{path}"),
               "signingKeySecretRef": {"name": "hook-signing-key", "key": "key"}})
    };
    let gate = |name: &str, kind: &str, gate: &str| hook(name, kind, &format!("gate/{gate}"));
    let before_steps = gate("increase", "ConfirmTrafficIncrease", &increase(&scene.namespace));
    let at_the_end = gate("promotion", "ConfirmPromotion", &scene.namespace);
    let mut load = hook("load", "Rollout", "load");
    let url = format!("http://{}/", scene.contour.address);
    load["metadata"] = json!({"url": url, "host": host(&scene.namespace), "rate": "100", "duration": "2s"});
    json!([before_steps, at_the_end, load])
}

/// The gate before each step.
fn increase(name: &str) -> String {
    format!("{name}-increase")
}

async fn waits_for(stage: &Stage<'_>, hook: &str) -> Result<()> {
    let expected = format!("waiting for hook {hook} to say yes: it answered 403");
    eventually(&expected, PATIENCE, async || {
        let status = stage.rollout.status().await?;
        let stands = (status.phase, status.reason, status.message.as_str());
        ensure!(stands == (Phase::Progressing, Reason::WaitingForHook, expected.as_str()), "{stands:?}");
        Ok(())
    })
    .await
}

async fn serve(scene: &Scene, key: &Path) -> Result<Process> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.args(["hooks", "serve", "--listen", &format!("{HUB}:{PORT}")]);
    command.args(["--allow-target", &scene.contour.address.to_string()]).arg("--signing-key-file").arg(key);
    let process = Process::spawn("hooks", command, &scene.folder.join("logs/hooks.log"))?;
    eventually("the receiver", seconds(30), async || gate(&["close", "nothing"], key).await).await?;
    Ok(process)
}

/// `cutover hooks open NAME` or `close NAME`.
async fn gate(words: &[&str], key: &Path) -> Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.arg("hooks").args(words).args(["--address", &format!("http://{HUB}:{PORT}")]);
    command.arg("--signing-key-file").arg(key);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.context("no end")??;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
