//! Requests of one sort are tried at eu-3 while all others stay where they are, between steps by weight.

use super::{apex_ingress::selects, service_mode::declared};
use crate::{
    endpoint_slices::EndpointSlices,
    load::{Load, Plan},
    rollout::{Rollout, declaration, to_eu_3},
    runner::{Place, Scene, Test},
    shares::{Observed, assert_shares},
    stage::{external_name, host, steady_load, to_eu_1},
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Verb};
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};

pub const TESTS: &[Test] = &[
    Test { name: "a_b_test_in_service_mode", place: Place::Shared, run: |scene| Box::pin(a_b_test(scene)) },
    Test {
        name: "requests_that_match_by_http_route",
        place: Place::Shared,
        run: |scene| Box::pin(by_http_route(scene)),
    },
    Test {
        name: "requests_that_match_by_http_proxy",
        place: Place::Shared,
        run: |scene| Box::pin(by_http_proxy(scene)),
    },
];

/// Two sorts of clients that say what they are, and one that says nothing; with their requests per second.
const CLIENTS: [(&str, u32); 3] = [("pc", 100), ("mobile", 100), ("", 400)];
/// So many requests that match are enough: not one of them may go elsewhere.
const LEAST_THAT_MATCH: u64 = 200;

async fn by_http_route(scene: Scene) -> Result<()> {
    to_eu_1(&scene.hub, &scene.namespace, &scene.namespace).await?;
    let by_query = json!([{"query": [{"name": "device", "exact": "mobile"}]}]);
    tell(&scene, scene.contour.address, &json!({"gatewayAPI": {"name": "public"}}), &by_query).await
}

async fn by_http_proxy(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let backend = format!("{name}-eu-1");
    external_name(&scene.hub, name, &backend, &format!("{name}.eu-1.lab")).await?;
    let proxy = json!({
        "apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": {"name": "public"},
        "spec": {"virtualhost": {"fqdn": host(name)}, "routes": [{"services": [{"name": backend, "port": 80}]}]},
    });
    scene.hub.create(name, &proxy.to_string()).await?;
    let both = json!([{"cookies": [{"name": "group", "exact": "mobile"}, {"name": "theme", "exact": "dark"}]}]);
    tell(&scene, scene.contour.address, &json!({"contour": {"name": "public"}}), &both).await
}

fn by_agent(agent: &str) -> Value {
    json!([{"headers": [{"name": "user-agent", "exact": agent}]}])
}

/// Requests of one sort alone, some of all, those of another sort beside these, everything.
fn mixed(mobile: &Value) -> Value {
    let by = |matches: &Value| json!({"matches": matches, "iterations": 2, "wait": "Promotion"});
    json!([by(&by_agent("pc")), {"progress": "20%", "wait": "Promotion"}, by(mobile), {"progress": "100%"}])
}

/// Any data plane whose route knows the service's host and leads to eu-1.
pub async fn tell(scene: &Scene, to: SocketAddr, route: &Value, mobile: &Value) -> Result<()> {
    let name = &scene.namespace;
    let mut declared = declaration(name, route);
    declared["spec"]["strategy"]["steps"] = mixed(mobile);
    let rollout = Rollout::declare(scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let clients = clients(to, name).await?;
    rollout.edit(json!({"members": to_eu_3()})).await?;
    for (step, chosen, share) in [(1, Some("pc"), 0), (2, None, 20), (3, Some("mobile"), 20)] {
        rollout.applied(step).await?;
        judge(scene, &clients, chosen, share).await?;
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    judge(scene, &clients, None, 100).await?;
    for load in clients {
        load.stop().await.assert_all_ok()?;
    }
    Ok(())
}

async fn clients(to: SocketAddr, service: &str) -> Result<Vec<Load>> {
    steady_load(to, service).await?.stop().await;
    let plan = |(agent, rate): (&'static str, u32)| {
        // Whoever says nothing has one of the two cookies only.
        let cookie = if agent.is_empty() { "group=mobile".to_owned() } else { format!("theme=dark; group={agent}") };
        let said = (!agent.is_empty()).then(|| ("user-agent", agent.to_owned()));
        let headers = said.into_iter().chain([("cookie", cookie)]).collect();
        let path = format!("/?device={agent}");
        Plan { path, headers, rate, within: Duration::from_mins(5), ..Plan::new(to, &host(service), u64::MAX) }
    };
    Ok(CLIENTS.map(plan).map(Load::start).into())
}

/// Service mode: testers are at eu-3 until its Service is the primary; that changes under the traffic of all others, and not one
/// request fails.
async fn a_b_test(scene: Scene) -> Result<()> {
    let (name, to) = (&scene.namespace, scene.contour.address);
    let services = scene.hub.api("v1", "Service", name).await?;
    let _slices = EndpointSlices::keep(&scene.hub, name).await?;
    selects(&services, name, "eu-1").await?;
    let mut declared = declared(name, &json!({"contour": {"create": {"host": host(name)}}}));
    declared["spec"]["services"][0]["backend"] = json!({"clusterIP": {}});
    declared["spec"]["strategy"] = json!({"bake": "2s", "ramp": {"iterations": 3, "matches": by_agent("pc")}});
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let clients = clients(to, name).await?;
    selects(&services, name, "eu-3").await?;
    rollout.applied(1).await?;
    rollout.ask(Verb::Pause).await?;
    judge(&scene, &clients, Some("pc"), 0).await?;
    rollout.ask(Verb::Resume).await?;
    rollout.phase(Phase::Succeeded).await?;
    judge(&scene, &clients, None, 100).await?;
    for load in clients {
        load.stop().await.assert_all_ok()?;
    }
    Ok(())
}

/// From now on eu-3 gets every request that is chosen, and this share (percent) of at least 2,000 others.
async fn judge(scene: &Scene, clients: &[Load], chosen: Option<&str>, share: u32) -> Result<()> {
    let count = || {
        let (matching, others): (Vec<&str>, Vec<&str>) =
            CLIENTS.iter().map(|(agent, _)| *agent).partition(|agent| chosen == Some(*agent));
        (observed(scene, &matching), observed(scene, &others))
    };
    let before = count();
    clients.last().expect("those that say nothing").sends(2_100).await?;
    let after = count();
    assert_shares(&before.1, &after.1, &[("eu-1", 100 - share), ("eu-3", share)])?;
    let matched = |member: &str| after.0[member] - before.0[member];
    let alone = matched("eu-1") + matched("eu-2") == 0 && matched("eu-3") >= LEAST_THAT_MATCH;
    ensure!(chosen.is_none() || alone, "requests of {chosen:?} went from {:?} to {:?}", before.0, after.0);
    Ok(())
}

/// Requests of these user agents that each member has counted so far.
fn observed(scene: &Scene, agents: &[&str]) -> Observed {
    let by = |member: &&'static str| {
        let tally = scene.member(member).gateway.tally();
        agents.iter().map(|agent| tally.observed_from(&scene.namespace, agent)).sum()
    };
    scene.members.keys().map(|member| (*member, by(member))).collect()
}
