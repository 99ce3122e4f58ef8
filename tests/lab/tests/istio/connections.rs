//! Connections are divided by an entry of `spec.tcp`; clients open a new one for each request.

use super::super::hand_made::endpoint_slices;
use crate::{
    load::{Load, Plan, get},
    rollout::{PATIENCE, Rollout, declaration, promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
    shares::assert_shares,
    stage::host,
    wait::eventually,
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Verb};
use serde_json::json;
use std::{net::SocketAddr, time::Duration};

pub const TESTS: &[Test] = &[Test {
    name: "promotion_by_istio_of_connections",
    place: Place::Shared,
    run: |scene| Box::pin(connections(scene)),
}];

/// Of a listener that no other test has.
const PORT: u16 = 9380;

async fn connections(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let istio = scene.istio().await?;
    let to = SocketAddr::new(istio.address.ip(), PORT);
    endpoint_slices(&scene).await?;
    declare_route(&scene, to).await?;
    let mut declared = declaration(name, &json!({"istio": {"name": "public", "routes": ["tcp#0"]}}));
    declared["spec"]["services"][0]["backend"] = json!({"clusterIP": {}});
    declared["spec"]["strategy"]["steps"] = promoted_steps(&[30, 100]);
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    eventually("the listener", PATIENCE, async || {
        let status = get(to, &host(name), "/").await?;
        ensure!(status == 200, "{status}");
        Ok(())
    })
    .await?;
    let plan = Plan::new(to, &host(name), u64::MAX);
    let load = Load::start(Plan { rate: 300, within: Duration::from_mins(5), keeps_connections: false, ..plan });

    rollout.edit(json!({"members": to_eu_3()})).await?;
    for (step, share) in [(1, 30), (2, 100)] {
        rollout.at_step(step).await?;
        let before = scene.observed(name);
        load.sends(2_100).await?;
        assert_shares(&before, &scene.observed(name), &[("eu-1", 100 - share), ("eu-3", share)])?;
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    load.stop().await.assert_all_ok()
}

/// A Gateway with the listener, and a VirtualService whose only entry leads to eu-1.
async fn declare_route(scene: &Scene, to: SocketAddr) -> Result<()> {
    let name = &scene.namespace;
    let port = json!({"number": PORT, "name": "tcp", "protocol": "TCP"});
    let gateway = json!({
        "apiVersion": "networking.istio.io/v1", "kind": "Gateway", "metadata": {"name": "tcp"},
        "spec": {"selector": {"istio": "ingressgateway"},
                 "servers": [{"port": port, "bind": to.ip().to_string(), "hosts": ["*/*"]}]},
    });
    let destination = json!({"host": format!("{name}-eu-1"), "port": {"number": 80}});
    let route = json!({
        "apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "public"},
        "spec": {"hosts": [host(name)], "gateways": [format!("{name}/tcp")],
                 "tcp": [{"match": [{"port": PORT}], "route": [{"destination": destination}]}]},
    });
    for object in [gateway, route] {
        scene.hub.create(name, &object.to_string()).await?;
    }
    Ok(())
}
