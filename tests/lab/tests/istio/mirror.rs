//! Copies by VirtualService, and by an `HTTPRoute` of class `istio`. They come without a name of their own, so eu-1 shows who answered, and eu-3 what was copied.

use super::known_members;
use crate::{
    load::Load,
    rollout::{Rollout, declaration, to_eu_3},
    runner::{Place, Scene, Test},
    shares::percent,
    stage::{http_route_of, steady_load},
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Verb};
use serde_json::{Value, json};
use std::net::SocketAddr;

pub const TESTS: &[Test] = &[
    Test { name: "mirrored_by_istio", place: Place::Shared, run: |scene| Box::pin(virtual_service(scene, 100)) },
    Test { name: "mirrored_by_istio_in_part", place: Place::Shared, run: |scene| Box::pin(virtual_service(scene, 30)) },
    Test {
        name: "mirrored_by_istio_http_route_in_part",
        place: Place::Shared,
        run: |scene| Box::pin(http_route(scene, 30)),
    },
];

const REQUESTS: u64 = 2_100;
const POINTS: f64 = 5.0;

async fn virtual_service(scene: Scene, part: u32) -> Result<()> {
    known_members(&scene).await?;
    let only = format!("{}-eu-1", scene.namespace);
    super::virtual_service(&scene, json!([{"route": [{"destination": {"host": only, "port": {"number": 80}}}]}]))
        .await?;
    promote(&scene, scene.istio().await?.address, &json!({"istio": {"name": "public"}}), part).await
}

/// istiod obeys the percentage of a `RequestMirror`.
async fn http_route(scene: Scene, part: u32) -> Result<()> {
    known_members(&scene).await?;
    let name = &scene.namespace;
    let backends = format!("{{name: {name}-eu-1, port: 80}}");
    http_route_of(&scene.hub, name, ("istio-system", "public"), name, &backends).await?;
    promote(&scene, scene.istio().await?.gateway_api, &json!({"gatewayAPI": {"name": "public"}}), part).await
}

async fn promote(scene: &Scene, to: SocketAddr, route: &Value, part: u32) -> Result<()> {
    let name = &scene.namespace;
    let mut declared = declaration(name, route);
    let copies = json!({"mirror": {"percent": part}, "iterations": 2, "wait": "Promotion"});
    declared["spec"]["strategy"]["steps"] = json!([copies, {"progress": "100%"}]);
    let rollout = Rollout::declare(scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = steady_load(to, name).await?;
    rollout.edit(json!({"members": to_eu_3()})).await?;
    rollout.phase(Phase::WaitingPromotion).await?;
    reached(scene, &load, [100.0, f64::from(part)]).await?;

    rollout.ask(Verb::Promote).await?;
    rollout.phase(Phase::Succeeded).await?;
    reached(scene, &load, [0.0, 100.0]).await?;
    load.stop().await.assert_all_ok()
}

/// From now on so many percent of all requests come to eu-1 and to eu-3, as requests or as copies.
async fn reached(scene: &Scene, load: &Load, expected: [f64; 2]) -> Result<()> {
    let (sent, before) = (load.so_far().sent, scene.observed(&scene.namespace));
    load.sends(REQUESTS).await?;
    let (all, after) = (load.so_far().sent - sent, scene.observed(&scene.namespace));
    for (member, expected) in ["eu-1", "eu-3"].into_iter().zip(expected) {
        let share = percent(after[member] - before[member], all);
        ensure!((share - expected).abs() <= POINTS, "{share:.1} % of all requests came to {member}, not {expected} %");
    }
    Ok(())
}
