//! What every other data plane does too: chosen requests, users who stay, service mode, and a rollback under load.

use super::{
    super::{requests_that_match, service_mode, session_affinity},
    known_members, virtual_service,
};
use crate::{
    gateway::Behaviour,
    rollout::{Rollout, declaration, to_eu_3},
    runner::{Place, Scene, Test},
    stage::{all_at, host, steady_load},
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use serde_json::json;

pub const TESTS: &[Test] = &[
    Test { name: "requests_that_match_by_istio", place: Place::Shared, run: |scene| Box::pin(chosen(scene)) },
    Test { name: "session_affinity_by_istio", place: Place::Shared, run: |scene| Box::pin(kept(scene)) },
    Test { name: "service_mode_by_istio", place: Place::Shared, run: |scene| Box::pin(services(scene)) },
    Test { name: "rolled_back_by_istio_under_load", place: Place::Shared, run: |scene| Box::pin(rolled_back(scene)) },
];

async fn chosen(scene: Scene) -> Result<()> {
    led_to_eu_1(&scene).await?;
    let both = json!([
        {"cookies": [{"name": "group", "exact": "mobile"}], "query": [{"name": "device", "exact": "mobile"}]},
    ]);
    let route = json!({"istio": {"name": "public"}});
    requests_that_match::tell(&scene, scene.istio().await?.address, &route, &both).await
}

async fn kept(scene: Scene) -> Result<()> {
    led_to_eu_1(&scene).await?;
    let route = json!({"istio": {"name": "public"}});
    session_affinity::tell(&scene, scene.istio().await?.address, "VirtualService", &route).await
}

/// A VirtualService that leads to the Service of eu-1.
async fn led_to_eu_1(scene: &Scene) -> Result<()> {
    known_members(scene).await?;
    let only = format!("{}-eu-1", scene.namespace);
    virtual_service(scene, json!([{"route": [{"destination": {"host": only, "port": {"number": 80}}}]}])).await
}

/// An adopted VirtualService that names the owner's Service itself.
async fn services(scene: Scene) -> Result<()> {
    known_members(&scene).await?;
    let owner = service_mode::Owner::new(&scene).await?;
    let name = &scene.namespace;
    virtual_service(&scene, json!([{"route": [{"destination": {"host": name, "port": {"number": 80}}}]}])).await?;
    let watched = ("networking.istio.io/v1", "VirtualService", "public".to_owned());
    let (to, route) = (scene.istio().await?.address, json!({"istio": {"name": "public"}}));
    service_mode::tell(&scene, owner, service_mode::Plane { to, route, watched, serves: true }).await
}

/// By errors of the canary and by a person: each time every request that comes after it is at eu-1.
async fn rolled_back(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let create = json!({"hosts": [host(name)], "gateways": ["istio-system/public"]});
    let mut declared = declaration(name, &json!({"istio": {"create": create}}));
    declared["spec"]["services"][0]["backend"] = json!({"serviceEntry": {}});
    declared["spec"]["strategy"]["steps"] = json!([{"progress": "40%", "wait": "Promotion"}, {"progress": "100%"}]);
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = steady_load(scene.istio().await?.address, name).await?;
    behave(&scene, Some(5));
    rollout.edit(json!({"members": to_eu_3()})).await?;
    rollout.stands(Phase::Failed, Reason::ChecksFailed).await?;
    all_at(&scene, &load, "eu-1").await?;
    let totals = load.stop().await;
    let failed = totals.by_status.get(&500).copied().unwrap_or_default();
    ensure!(failed > 0, "eu-3 answered nobody: {totals:?}");
    service_mode::assert_only_the_canary_failed(&totals)?;

    behave(&scene, None);
    let load = steady_load(scene.istio().await?.address, name).await?;
    rollout.ask(Verb::Retry).await?;
    rollout.applied(1).await?;
    rollout.phase(Phase::WaitingPromotion).await?;
    rollout.ask(Verb::Rollback).await?;
    rollout.phase(Phase::RolledBack).await?;
    all_at(&scene, &load, "eu-1").await?;
    load.stop().await.assert_all_ok()
}

fn behave(scene: &Scene, fail_every: Option<u64>) {
    let behaviour = Behaviour { fail_every, ..Behaviour::default() };
    scene.member("eu-3").gateway.behave(&scene.namespace, behaviour);
}
