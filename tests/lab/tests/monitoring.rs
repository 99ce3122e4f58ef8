//! deploy/monitoring on a real Prometheus that scrapes the hub: every query of the dashboard gives data, every rule is understood,
//! and alerts fire when something breaks.

use crate::{
    fleet::{SYSTEM, source},
    lab::{HUB, HUB_PORT},
    prometheus::{Prometheus, Scraped},
    rollout::{PATIENCE, promoted_steps},
    runner::{Place, Scene, Test},
    stage::Stage,
    wait::eventually,
};
use anyhow::{Context, Result, ensure};
use cutover::api::{MemberCluster, Phase, Reason, Verb};
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use std::{fs, net::Ipv4Addr};

pub const TESTS: &[Test] = &[Test {
    name: "dashboard_and_alerts_on_a_real_prometheus",
    place: Place::Shared,
    run: |scene| Box::pin(monitored(scene)),
}];

/// Where nothing listens.
const NOWHERE: &str = "http://10.77.0.1:9/";

async fn monitored(scene: Scene) -> Result<()> {
    let rules: Value = serde_yaml::from_str(&fs::read_to_string(source("deploy/monitoring/rules.yaml"))?)?;
    let name = &scene.namespace;
    let prometheus = scraping(&scene, HUB, &impatient(&rules["spec"])).await?;

    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[30, 100])}})).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    shows_data(&prometheus, name).await?;
    understands(&prometheus, &rules).await?;
    let of_rollout = json!({"rollout": name});
    fires(&prometheus, "CutoverWaitsForPromotion", &of_rollout).await?;
    for silent in ["CutoverRolledBack", "CutoverRolloutHeld"] {
        ensure!(alert(&prometheus, silent, &of_rollout).await?.is_none(), "{silent} without a reason");
    }

    stage.behave("eu-3", Some(2));
    stage.rollout.stands(Phase::Failed, Reason::ChecksFailed).await?;
    fires(&prometheus, "CutoverRolledBack", &of_rollout).await?;

    // Nobody answers a hook, which holds the run, and nobody takes the alert about that.
    let provider = json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "AlertProvider", "metadata": {"name": "nobody"},
        "spec": {"webhook": {}, "url": NOWHERE},
    });
    scene.hub.apply(name, &provider.to_string()).await?;
    let hook = json!({"name": "nobody", "type": "ConfirmRollout", "url": NOWHERE});
    let alerts = json!([{"name": "team", "providerRef": {"name": "nobody"}}]);
    stage.rollout.edit(json!({"hooks": [hook], "alerts": alerts})).await?;
    stage.rollout.ask(Verb::Retry).await?;
    stage.rollout.stands(Phase::Held, Reason::HookUnanswered).await?;
    fires(&prometheus, "CutoverRolloutHeld", &of_rollout).await?;
    fires(&prometheus, "CutoverHooksUnanswered", &json!({"type": "ConfirmRollout"})).await?;
    fires(&prometheus, "CutoverAlertsNotDelivered", &json!({})).await?;
    stage.load.stop().await;
    about_a_member(&scene, &prometheus).await
}

/// A member that was never there.
async fn about_a_member(scene: &Scene, prometheus: &Prometheus) -> Result<()> {
    let member = json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": scene.namespace},
        "spec": {
            "endpoints": [{"host": "nowhere.eu-1.lab", "port": 80}],
            "prometheus": {"url": {"address": NOWHERE}},
            "allowedNamespaces": {"from": "All"},
        },
    });
    scene.hub.apply(SYSTEM, &member.to_string()).await?;
    let of_member = json!({"member": scene.namespace});
    let fired = async {
        fires(prometheus, "CutoverMemberUnhealthy", &of_member).await?;
        fires(prometheus, "CutoverMemberMetricsMissing", &of_member).await
    };
    let outcome = fired.await;
    let all = Api::<MemberCluster>::all(scene.hub.client.clone());
    all.delete(&scene.namespace, &DeleteParams::default()).await?;
    outcome
}

/// The rules with times and counts for a test.
fn impatient(rules: &Value) -> Value {
    let mut rules = rules.clone();
    let groups = rules["groups"].as_array_mut().into_iter().flatten();
    for rule in groups.flat_map(|group| group["rules"].as_array_mut().into_iter().flatten()) {
        if rule["for"].is_string() {
            rule["for"] = "1s".into();
        }
        let expression = rule["expr"].as_str().unwrap_or_default();
        rule["expr"] = expression.replace("> 900", "> 2").replace(") > 3", ") > 0").into();
    }
    rules
}

/// A Prometheus that scrapes the hub, on an address that no other one has.
pub(super) async fn scraping(scene: &Scene, address: Ipv4Addr, rules: &Value) -> Result<Prometheus> {
    let hub = Scraped { address: ([127, 0, 0, 1], HUB_PORT).into(), path: "/metrics" };
    let by = &scene.member("eu-1").prometheus;
    by.with_rules(&scene.folder, &scene.namespace, address.into(), &[hub], &rules.to_string()).await
}

/// Every query of the dashboard, about this rollout.
pub(super) async fn shows_data(prometheus: &Prometheus, name: &str) -> Result<()> {
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(source("deploy/monitoring/dashboard.json"))?)?;
    let panels = dashboard["panels"].as_array().context("no panels")?;
    let mut count = 0;
    for target in panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten()) {
        let query = target["expr"].as_str().context("no query")?;
        let query = query.replace("$namespace", name).replace("$rollout", name);
        ensure!(!query.contains('$'), "a variable that nobody fills in: {query}");
        eventually(&query, PATIENCE, async || {
            let answer = prometheus.get("query", &[("query", &query)]).await?;
            let values = answer["result"].as_array().context("no result")?;
            let is_number = |series: &Value| series["value"][1].as_str().is_some_and(|value| value != "NaN");
            ensure!(values.iter().any(is_number), "no data: {answer}");
            Ok(())
        })
        .await?;
        count += 1;
    }
    ensure!(count >= 16, "{count} queries");
    Ok(())
}

/// Prometheus evaluates every rule of the file.
async fn understands(prometheus: &Prometheus, rules: &Value) -> Result<()> {
    let wanted = rules["spec"]["groups"].as_array().into_iter().flatten();
    let wanted = wanted.map(|group| group["rules"].as_array().map_or(0, Vec::len)).sum::<usize>();
    eventually("the rules", PATIENCE, async || {
        let answer = prometheus.get("rules", &[]).await?;
        let groups = answer["groups"].as_array().context("no groups")?;
        let known: Vec<&Value> =
            groups.iter().flat_map(|group| group["rules"].as_array().into_iter().flatten()).collect();
        ensure!(known.len() == wanted && known.iter().all(|rule| rule["health"] == "ok"), "{answer}");
        Ok(())
    })
    .await
}

/// Waits for an alert with these labels; what it says to people is complete.
async fn fires(prometheus: &Prometheus, name: &str, labels: &Value) -> Result<()> {
    let firing =
        eventually(name, PATIENCE, async || alert(prometheus, name, labels).await?.context("it does not fire")).await?;
    for kind in ["summary", "description"] {
        let text = firing["annotations"][kind].as_str().unwrap_or_default();
        ensure!(!text.is_empty() && !text.contains(['<', '{']), "{kind} of {name}: {text}");
    }
    Ok(())
}

/// The alert of this name that fires and has these labels.
async fn alert(prometheus: &Prometheus, name: &str, labels: &Value) -> Result<Option<Value>> {
    let answer = prometheus.get("alerts", &[]).await?;
    let mut wanted = json!({"alertname": name});
    json_patch::merge(&mut wanted, labels);
    let wanted = wanted.as_object().context("no labels")?;
    let has_all = |alert: &&Value| wanted.iter().all(|(label, value)| alert["labels"][label] == *value);
    let mut alerts =
        answer["alerts"].as_array().context("no alerts")?.iter().filter(|alert| alert["state"] == "firing");
    Ok(alerts.find(has_all).cloned())
}
