//! Copies of requests on real data planes: the canary gets them, and the primary answers everybody.

use crate::{
    rollout::{Rollout, declaration, to_eu_3},
    runner::{Place, Scene, Test},
    shares::percent,
    stage::{Stage, external_name, host, steady_load, to_eu_1},
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "mirrored_by_http_route", place: Place::Shared, run: |scene| Box::pin(http_route(scene)) },
    Test { name: "mirrored_by_http_proxy", place: Place::Shared, run: |scene| Box::pin(http_proxy(scene)) },
    Test { name: "mirrored_and_rolled_back", place: Place::Shared, run: |scene| Box::pin(rolled_back(scene)) },
];

/// Requests that are judged.
const REQUESTS: u64 = 2_000;
const POINTS: f64 = 5.0;

async fn http_route(scene: Scene) -> Result<()> {
    to_eu_1(&scene.hub, &scene.namespace, &scene.namespace).await?;
    promote(&scene, &json!({"gatewayAPI": {"name": "public"}}), 100).await
}

/// Copies go to eu-3 by TLS, and half of all requests is copied.
async fn http_proxy(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    external_name(&scene.hub, name, &format!("{name}-eu-1"), &format!("{name}.eu-1.lab")).await?;
    let proxy = json!({
        "apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": {"name": "public"},
        "spec": {
            "virtualhost": {"fqdn": host(name)},
            "routes": [{"services": [{"name": format!("{name}-eu-1"), "port": 80}]}],
        },
    });
    scene.hub.create(name, &proxy.to_string()).await?;
    promote(&scene, &json!({"contour": {"name": "public"}}), 50).await
}

fn declared(scene: &Scene, route: &Value, percent: u32) -> Value {
    let mut declared = declaration(&scene.namespace, route);
    let copies = json!({"mirror": {"percent": percent}, "iterations": 2, "wait": "Promotion"});
    declared["spec"]["strategy"]["steps"] = json!([copies, {"progress": "100%"}]);
    declared
}

/// So many requests that came with the public name, and copies, whose name Envoy makes longer.
pub fn observed(scene: &Scene, member: &str) -> (u64, u64) {
    let (tally, host) = (scene.member(member).gateway.tally(), host(&scene.namespace));
    (tally.observed_as(&host), tally.observed_as(&format!("{host}-shadow")))
}

async fn promote(scene: &Scene, route: &Value, part: u32) -> Result<()> {
    let name = &scene.namespace;
    let rollout = Rollout::declare(scene, name, &declared(scene, route, part)).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = steady_load(scene.contour.address, name).await?;
    rollout.edit(json!({"members": to_eu_3()})).await?;
    rollout.phase(Phase::WaitingPromotion).await?;

    let (before, (_, had)) = (load.so_far(), observed(scene, "eu-3"));
    load.sends(REQUESTS).await?;
    let (after, (served, copies)) = (load.so_far(), observed(scene, "eu-3"));
    ensure!(served == 0, "eu-3 answered {served} requests while it should get copies only");
    let share = percent(copies - had, after.sent - before.sent);
    ensure!((share - f64::from(part)).abs() <= POINTS, "eu-3 got copies of {share:.1} % of all requests, not {part} %");

    rollout.ask(Verb::Promote).await?;
    rollout.phase(Phase::Succeeded).await?;
    let (_, ended) = observed(scene, "eu-3");
    load.sends(REQUESTS).await?;
    let (served, copies) = observed(scene, "eu-3");
    ensure!(
        served >= REQUESTS && copies == ended,
        "promoted, eu-3 answered {served} and got {} copies",
        copies - ended
    );
    load.stop().await.assert_all_ok()
}

/// eu-3 fails on its copies, and no user ever sees that.
async fn rolled_back(scene: Scene) -> Result<()> {
    let more = json!({"strategy": {"steps": [{"mirror": {}, "wait": "Promotion"}, {"progress": "100%"}]}});
    let stage = Stage::begin(&scene, more).await?;
    stage.behave("eu-3", Some(3));
    stage.rollout.edit(json!({"members": to_eu_3()})).await?;
    stage.rollout.stands(Phase::Failed, Reason::ChecksFailed).await?;
    let (served, ended) = observed(&scene, "eu-3");
    ensure!(served == 0 && ended > 0, "eu-3 answered {served} requests and got {ended} copies");
    stage.load.sends(REQUESTS).await?;
    let (served, copies) = observed(&scene, "eu-3");
    ensure!(served == 0 && copies == ended, "rolled back, eu-3 answered {served} and got {} copies", copies - ended);
    stage.expect_weights(&[0])?;
    stage.load.stop().await.assert_all_ok()
}
