//! What Flagger leaves of a Canary with provider istio is taken over.

use super::{
    super::import::{Left, Move, Reached},
    service_entry,
};
use crate::{
    runner::{Place, Scene, Test},
    stage::host,
};
use anyhow::Result;
use serde_json::json;

pub const TESTS: &[Test] = &[Test {
    name: "a_move_from_flagger_by_istio_shifts_no_traffic",
    place: Place::Shared,
    run: |scene| Box::pin(by_virtual_service(scene)),
}];

/// Flagger names no ports, and leaves a `DestinationRule` for each of its two Services.
async fn by_virtual_service(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    for member in ["eu-1", "eu-3"] {
        service_entry(&scene, member, &format!("{name}.{member}.lab")).await?;
    }
    let to = |copy: &str, weight: u32| json!({"destination": {"host": format!("{name}-{copy}")}, "weight": weight});
    let spec = json!({
        "hosts": [host(name), name], "gateways": ["istio-system/public"],
        "http": [{"timeout": "15s", "route": [to("primary", 100), to("canary", 0)]}],
    });
    let api_version = "networking.istio.io/v1";
    let route = json!({"apiVersion": api_version, "kind": "VirtualService", "metadata": {"name": name}, "spec": spec});
    let rule = |copy: &str| {
        let rule_name = format!("{name}-{copy}");
        json!({
            "apiVersion": api_version, "kind": "DestinationRule", "metadata": {"name": rule_name},
            "spec": {"host": rule_name, "trafficPolicy": {"connectionPool": {"http": {"maxRetries": 3}}}},
        })
    };
    for object in [route, rule("primary"), rule("canary")] {
        scene.hub.create(name, &object.to_string()).await?;
    }
    let left = Left {
        to: scene.istio().await?.address,
        provider: "istio",
        canary: json!({"service": {"gateways": ["istio-system/public"], "hosts": [host(name)], "timeout": "15s"}}),
        route: (api_version, "VirtualService", "virtualservices"),
        route_name: name.clone(),
        reached: Reached::Name,
    };
    Move::begin(&scene, left).await?.make().await
}
