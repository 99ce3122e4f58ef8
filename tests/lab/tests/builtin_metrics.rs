//! Built-in metrics: what the hub reads from the metrics of a real Skipper and a real Envoy is what the member itself counted.

use super::{hand_made::endpoint_slice, service_mode::ingress};
use crate::{
    contour::Contour,
    fleet::SYSTEM,
    gateway::Behaviour,
    prometheus::Scraped,
    rollout::{PATIENCE, Rollout, declaration, errors},
    runner::{Place, Scene, Test},
    skipper::Skipper,
    stage::load_to,
    wait::eventually,
};
use anyhow::{Context, Result, ensure};
use cutover::api::status::{Check, MetricCheck, Verdict};
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};

pub const TESTS: &[Test] = &[
    Test { name: "built_in_metrics_of_skipper", place: Place::Shared, run: |scene| Box::pin(of_skipper(scene)) },
    Test { name: "built_in_metrics_of_envoy", place: Place::Shared, run: |scene| Box::pin(of_envoy(scene)) },
];

/// Every fifth request fails.
const FAIL_EVERY: u64 = 5;
const SUCCESS: f64 = 80.0;
/// Between two bounds of the buckets of every exporter: 50 and 100 milliseconds.
const DELAY: Duration = Duration::from_millis(70);
const BOUNDS: std::ops::RangeInclusive<f64> = 0.05..=0.1;
/// Requests in a window, for which there is time even in a busy lab.
const FEWEST_SAMPLES: f64 = 300.0;

async fn of_skipper(scene: Scene) -> Result<()> {
    let (name, host) = (&scene.namespace, inner(&scene));
    scene.hub.create(name, &ingress(name, "inner", &host).to_string()).await?;
    compare(&scene, "Skipper", scene.skipper.address, Skipper::metrics()).await
}

async fn of_envoy(scene: Scene) -> Result<()> {
    let (name, host) = (&scene.namespace, inner(&scene));
    let proxy = json!({
        "apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": {"name": "inner"},
        "spec": {"virtualhost": {"fqdn": host}, "routes": [{"services": [{"name": name, "port": 80}]}]},
    });
    scene.hub.create(name, &proxy.to_string()).await?;
    compare(&scene, "Contour", scene.contour.address, Contour::metrics()).await
}

/// The name at which the ingress under test serves.
fn inner(scene: &Scene) -> String {
    format!("{}.inner.example.com", scene.namespace)
}

/// The ingress stands for the one of a member: it serves a Service of the rollout's name, and its metrics are in the Prometheus of
/// both members. What it counted is compared with what eu-3 counted, which answered.
async fn compare(scene: &Scene, ingress: &str, address: SocketAddr, metrics: Scraped) -> Result<()> {
    let (name, eu_3) = (&scene.namespace, scene.member("eu-3"));
    endpoint_slice(scene, name, "eu-3").await?;
    eu_3.gateway.behave(name, Behaviour { fail_every: Some(FAIL_EVERY), delay: DELAY });
    let prometheus =
        eu_3.prometheus.beside(&scene.folder, name, address.ip(), &[metrics, eu_3.gateway.metrics()]).await?;
    let members = ["a", "b"].map(|letter| format!("{name}-{letter}"));
    for (member, behind) in members.iter().zip(["eu-1", "eu-3"]) {
        let object = member_cluster(member, behind, &prometheus.url());
        scene.hub.apply(SYSTEM, &object.to_string()).await?;
    }
    let load = load_to(address, &inner(scene)).await?;
    let rollout = Rollout::declare(scene, name, &declared(name, &members, ingress)).await?;
    rollout.applied(1).await?;
    eventually("a check of what the member counted", PATIENCE, async || {
        let run = rollout.status().await?.run.context("no run")?;
        agrees(&run.check.context("no check")?)
    })
    .await?;
    load.stop().await;

    rollout.delete().await?;
    rollout.is_gone().await?;
    let all = Api::<cutover::api::MemberCluster>::all(scene.hub.client.clone());
    for member in &members {
        all.delete(member, &DeleteParams::default()).await?;
    }
    Ok(())
}

/// Its endpoint is that of a member of the lab; only its metrics are looked at.
fn member_cluster(name: &str, behind: &str, prometheus: &str) -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": name},
        "spec": {
            "endpoints": [{"host": format!("{{{{ service }}}}.{behind}.lab"), "port": 80}],
            "probe": {"path": "/healthz"},
            "prometheus": {"url": {"address": prometheus}},
            "allowedNamespaces": {"from": "All"},
        },
    })
}

/// All traffic of one member goes to the other, and the first step waits.
fn declared(name: &str, members: &[String; 2], ingress: &str) -> Value {
    let mut declared = declaration(name, &json!({"contour": {"create": {"host": format!("{name}.example.com")}}}));
    let [from, to] = members;
    declared["spec"]["members"] =
        json!([{"name": from, "weight": 0, "initialWeight": 100}, {"name": to, "weight": 100, "initialWeight": 0}]);
    declared["spec"]["strategy"]["steps"] = json!([{"progress": "50%", "wait": "Promotion"}, {"progress": "100%"}]);
    let mut own_errors = errors();
    json_patch::merge(&mut own_errors, &json!({"max": 50, "window": "20s"}));
    declared["spec"]["analysis"]["metrics"] = json!([
        {"name": "success", "builtin": {"type": "RequestSuccessRate", "ingress": ingress}, "window": "20s", "min": 50, "minSamples": 20},
        {"name": "latency", "builtin": {"type": "RequestDuration", "ingress": ingress, "quantile": 0.5}, "window": "20s", "max": 1, "minSamples": 20},
        own_errors,
        {"name": "own-latency", "window": "20s", "max": 1, "minSamples": 20, "histogram": {"quantile": 0.5,
            "buckets": "sum by (le) (increase(http_request_duration_seconds_bucket{service=\"{{ service }}\"}[{{ window }}]))"}},
    ]);
    declared
}

fn metric<'c>(check: &'c Check, name: &str) -> Result<&'c MetricCheck> {
    check.metrics.iter().find(|metric| metric.metric == name).with_context(|| format!("no metric {name}"))
}

/// The ingress counted what the member counted, and both what is known. They are read at different moments, so this holds
/// only for a window in which the load was steady.
fn agrees(check: &Check) -> Result<()> {
    ensure!(check.verdict == Verdict::Pass, "{:?}", check.verdict);
    let [success, latency, own_errors, own_latency] = ["success", "latency", "errors", "own-latency"];
    let value = |name| metric(check, name)?.value.with_context(|| format!("{name} has no value"));
    let samples = |name| {
        let counted = metric(check, name)?.samples.with_context(|| format!("{name} has no samples"))?;
        ensure!(counted > FEWEST_SAMPLES, "{name} has {counted} samples");
        Ok(counted)
    };
    ensure!((value(success)? - SUCCESS).abs() < 1.0, "success {}", value(success)?);
    ensure!((value(success)? + value(own_errors)? - 100.0).abs() < 1.0, "errors {}", value(own_errors)?);
    // Envoy adds to its histograms every five seconds, a quarter of the window.
    for (name, own, within) in [(success, own_errors, 0.1), (latency, own_latency, 0.3)] {
        let (counted, own) = (samples(name)?, samples(own)?);
        ensure!((counted / own - 1.0).abs() < within, "{name}: {counted} requests, the member counted {own}");
    }
    for name in [latency, own_latency] {
        ensure!(BOUNDS.contains(&value(name)?), "{name} {}", value(name)?);
    }
    Ok(())
}
