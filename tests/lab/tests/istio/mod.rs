//! What needs istiod and its gateway.

use crate::{
    lab::MEMBERS,
    runner::{Scene, Test},
    stage::external_name,
};
use anyhow::Result;
use serde_json::{Value, json};

mod adoption;
mod connections;
mod flagger;
mod gateway_api;
mod killed;
mod mirror;
mod promotion;
mod story;
mod subset;

pub fn all() -> Vec<Test> {
    [
        promotion::TESTS,
        gateway_api::TESTS,
        story::TESTS,
        subset::TESTS,
        mirror::TESTS,
        adoption::TESTS,
        flagger::TESTS,
        connections::TESTS,
        killed::TESTS,
    ]
    .concat()
}

/// A VirtualService `public` for the service's host, on the gateway, with these entries of `spec.http`.
pub async fn virtual_service(scene: &Scene, entries: Value) -> Result<()> {
    let spec = json!({
        "hosts": [crate::stage::host(&scene.namespace)], "gateways": ["istio-system/public"], "http": entries,
    });
    let object = json!({
        "apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "public"}, "spec": spec,
    });
    scene.hub.create(&scene.namespace, &object.to_string()).await
}

/// An ExternalName Service is an alias: the one of eu-1, and a ServiceEntry for the target of each.
pub async fn known_members(scene: &Scene) -> Result<()> {
    let name = &scene.namespace;
    for member in MEMBERS {
        service_entry(scene, member, &format!("{name}.{member}.lab")).await?;
    }
    external_name(&scene.hub, name, &format!("{name}-eu-1"), &format!("{name}.eu-1.lab")).await
}

/// A ServiceEntry by hand, for a host that is reached by DNS on port 80.
pub async fn service_entry(scene: &Scene, name: &str, host: &str) -> Result<()> {
    let spec = json!({
        "hosts": [host], "location": "MESH_EXTERNAL", "resolution": "DNS",
        "ports": [{"number": 80, "name": "http", "protocol": "HTTP"}],
    });
    let object = json!({
        "apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": name}, "spec": spec,
    });
    scene.hub.create(&scene.namespace, &object.to_string()).await
}
