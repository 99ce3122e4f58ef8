//! Service mode: adopted routes that name the owner's own Service are led to its primary under their traffic.

use super::{
    hand_made::{HTTP, addresses, endpoint_slice},
    service_mode::{declared, ingress},
};
use crate::{
    rollout::Rollout,
    runner::{Place, Scene, Test},
    shown::shown,
    stage::{host, load_to, steady_load},
    wait::seconds,
};
use anyhow::{Result, ensure};
use cutover::api::Phase;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[Test {
    name: "service_mode_takes_over_addresses",
    place: Place::Shared,
    run: |scene| Box::pin(with_addresses(scene)),
}];

/// A Service with addresses, which a `RouteGroup` and an Ingress with weights name: both are led to its primary under
/// their traffic, and put back in the end.
async fn with_addresses(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    endpoint_slice(&scene, name, "eu-1").await?;
    let leads_to =
        json!({"metadata": {"annotations": {"cutover.dev/member": "eu-1"}}, "spec": {"selector": {"app": name}}});
    let services = scene.hub.api("v1", "Service", name).await?;
    services.patch(name, &PatchParams::default(), &Patch::Merge(leads_to)).await?;
    for copy in ["primary", "canary"] {
        addresses(&scene.hub, name, &format!("{name}-{copy}"), "eu-1", HTTP).await?;
    }
    let other = format!("{name}.example.org");
    scene.hub.create(name, &route_group(name).to_string()).await?;
    scene.hub.create(name, &ingress(name, "public", &other).to_string()).await?;
    let objects = [("zalando.org/v1", "RouteGroup"), ("networking.k8s.io/v1", "Ingress")];
    let mut before = Vec::new();
    for (api_version, kind) in objects {
        before.push(scene.hub.api(api_version, kind, name).await?.get("public").await?.data["spec"].clone());
    }
    let loads = [steady_load(scene.skipper.address, name).await?, load_to(scene.skipper.address, &other).await?];

    let mut declared = declared(name, &Value::Null);
    let service = &mut declared["spec"]["services"][0];
    service["routes"] = json!([{"skipper": {"form": "RouteGroup", "name": "public"}}, {"skipper": {"form": "Ingress", "name": "public"}}]);
    service["backend"] = json!({"clusterIP": {}});
    declared["spec"]["deletionPolicy"] = json!("Revert");
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    for (api_version, kind) in objects {
        let live = scene.hub.api(api_version, kind, name).await?.get("public").await?;
        ensure!(shown(&live, name) == [("primary".to_owned(), 100)].into(), "{kind} is {}", live.data["spec"]);
    }
    for load in loads {
        load.goes_on_for(seconds(5)).await?;
        load.stop().await.assert_all_ok()?;
    }
    rollout.delete().await?;
    rollout.is_gone().await?;
    for ((api_version, kind), before) in objects.into_iter().zip(before) {
        let after = scene.hub.api(api_version, kind, name).await?.get("public").await?.data["spec"].clone();
        ensure!(after == before, "{kind} was {before} and is {after}");
    }
    Ok(())
}

/// Its backend has a name of its own.
fn route_group(service: &str) -> Value {
    let backend = json!({"name": "front", "type": "service", "serviceName": service, "servicePort": 80});
    json!({
        "apiVersion": "zalando.org/v1", "kind": "RouteGroup", "metadata": {"name": "public"},
        "spec": {"hosts": [host(service)], "backends": [backend],
                 "routes": [{"pathSubtree": "/", "backends": [{"backendName": "front"}]}]},
    })
}
