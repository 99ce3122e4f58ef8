//! deploy/monitoring on a real Prometheus that scrapes the hub: every query of the dashboard gives data, every rule is understood,
//! and an alert fires when something breaks.

use crate::{
    fleet::source,
    lab::{HUB, HUB_PORT},
    prometheus::{Prometheus, Scraped},
    rollout::{PATIENCE, promoted_steps},
    runner::{Place, Scene, Test},
    stage::Stage,
    wait::eventually,
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason};
use serde_json::{Value, json};
use std::{fs, net::Ipv4Addr};

pub const TESTS: &[Test] = &[Test {
    name: "dashboard_and_alerts_on_a_real_prometheus",
    place: Place::Shared,
    run: |scene| Box::pin(monitored(scene)),
}];

async fn monitored(scene: Scene) -> Result<()> {
    let rules: Value = serde_yaml::from_str(&fs::read_to_string(source("deploy/monitoring/rules.yaml"))?)?;
    let name = &scene.namespace;
    let prometheus = scraping(&scene, HUB, &rules["spec"]).await?;

    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[30, 100])}})).await?;
    stage.first_step().await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    shows_data(&prometheus, name).await?;
    understands(&prometheus, &rules).await?;
    ensure!(!alerts(&prometheus, name).await?.contains(&"CutoverRolledBack".to_owned()), "an alert without a reason");

    stage.behave("eu-3", Some(2));
    stage.rollout.stands(Phase::Failed, Reason::ChecksFailed).await?;
    eventually("the alert", PATIENCE, async || {
        let firing = alerts(&prometheus, name).await?;
        ensure!(firing.contains(&"CutoverRolledBack".to_owned()), "{firing:?}");
        Ok(())
    })
    .await?;
    stage.load.stop().await;
    Ok(())
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

/// The alerts that fire about this rollout.
async fn alerts(prometheus: &Prometheus, name: &str) -> Result<Vec<String>> {
    let answer = prometheus.get("alerts", &[]).await?;
    let firing = answer["alerts"].as_array().context("no alerts")?.iter().filter(|alert| alert["state"] == "firing");
    let own = firing.filter(|alert| alert["labels"]["rollout"] == name);
    Ok(own.filter_map(|alert| alert["labels"]["alertname"].as_str().map(str::to_owned)).collect())
}
