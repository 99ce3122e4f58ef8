//! A full promotion by VirtualService, with each kind of backend: the desired shares are those observed at the members.

use super::super::{
    hand_made::endpoint_slices,
    promotion::{Plane, promote},
};
use super::{known_members, virtual_service};
use crate::runner::{Place, Scene, Test};
use crate::{
    rollout::{PATIENCE, Rollout, declaration, to_eu_3},
    wait::eventually,
};
use anyhow::{Result, ensure};
use cutover::api::Phase;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "promotion_by_istio_cluster_ip", place: Place::Shared, run: |scene| Box::pin(cluster_ip(scene)) },
    Test { name: "promotion_by_istio_external_name", place: Place::Shared, run: |scene| Box::pin(external(scene)) },
    Test { name: "promotion_by_istio_service_entry", place: Place::Shared, run: |scene| Box::pin(entries(scene)) },
    Test { name: "promotion_by_istio_static_entry", place: Place::Shared, run: |scene| Box::pin(addresses(scene)) },
];

/// An adopted VirtualService whose only destination has no weight; the Services are made by hand.
async fn cluster_ip(scene: Scene) -> Result<()> {
    endpoint_slices(&scene).await?;
    let only = format!("{}-eu-1", scene.namespace);
    virtual_service(&scene, json!([{"route": [{"destination": {"host": only, "port": {"number": 80}}}]}])).await?;
    let route = json!({"istio": {"name": "public"}});
    let plane = plane(&scene, json!({"backend": {"clusterIP": {}}, "routes": [route]}), "public").await?;
    promote(&scene, plane).await
}

/// A VirtualService that the hub makes. An ExternalName Service is an alias, whose target has a ServiceEntry.
async fn external(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    known_members(&scene).await?;
    let plane = plane(&scene, json!({"routes": [{"istio": {"create": created(name)}}]}), name).await?;
    promote(&scene, plane).await
}

/// A VirtualService that the hub makes, and a ServiceEntry for each member. eu-3 is reached by TLS, with a certificate for its server name only.
async fn entries(scene: Scene) -> Result<()> {
    let backend = json!({"serviceEntry": {"credentialName": "lab-ca"}});
    made(&scene, &backend).await?;
    removed(&scene, "Retain").await?;
    taken_up(&scene, &backend).await?;
    removed(&scene, "Revert").await
}

/// What a rollout of the same name left is this one's again, and nothing moves.
async fn taken_up(scene: &Scene, backend: &Value) -> Result<()> {
    let name = &scene.namespace;
    let mut declared = declaration(name, &json!({"istio": {"create": created(name)}}));
    declared["spec"]["members"] = to_eu_3();
    declared["spec"]["services"][0]["backend"] = backend.clone();
    Rollout::declare(scene, name, &declared).await?.phase(Phase::Initialized).await?;
    Ok(())
}

/// The hub resolves the members' names.
async fn addresses(scene: Scene) -> Result<()> {
    made(&scene, &json!({"serviceEntry": {"resolution": "Static"}})).await?;
    removed(&scene, "Revert").await
}

/// The rollout is deleted, and its objects are given back (`Retain`) or removed (`Revert`).
async fn removed(scene: &Scene, policy: &str) -> Result<()> {
    let name = &scene.namespace;
    let rollouts = scene.hub.api("cutover.dev/v1alpha1", "FleetRollout", name).await?;
    let change = Patch::Merge(json!({"spec": {"deletionPolicy": policy}}));
    rollouts.patch(name, &PatchParams::default(), &change).await?;
    rollouts.delete(name, &DeleteParams::default()).await?;
    eventually("the end of the rollout", PATIENCE, async || {
        ensure!(rollouts.get_opt(name).await?.is_none(), "it is still there");
        Ok(())
    })
    .await
}

async fn made(scene: &Scene, backend: &Value) -> Result<()> {
    let name = &scene.namespace;
    let service = json!({"backend": backend, "routes": [{"istio": {"create": created(name)}}]});
    promote(scene, plane(scene, service, name).await?).await
}

/// A VirtualService that the hub makes.
pub(super) fn created(name: &str) -> Value {
    json!({"hosts": [format!("{name}.example.com")], "gateways": ["istio-system/public"]})
}

pub(super) async fn plane(scene: &Scene, service: Value, watched: &str) -> Result<Plane> {
    let to = scene.istio().await?.address;
    Ok(Plane { to, service, watched: ("networking.istio.io/v1", "VirtualService", watched.to_owned()) })
}
