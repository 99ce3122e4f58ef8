//! An `HTTPRoute` on a Gateway of class `istio`, which istiod translates for the same Envoy.

use super::{
    super::promotion::{Plane, promote},
    known_members,
};
use crate::{
    runner::{Place, Scene, Test},
    stage::http_route_of,
};
use anyhow::Result;
use serde_json::json;

pub const TESTS: &[Test] = &[
    Test { name: "promotion_by_istio_http_route", place: Place::Shared, run: |scene| Box::pin(http_route(scene)) },
    Test { name: "promotion_by_istio_hostnames", place: Place::Shared, run: |scene| Box::pin(hostnames(scene)) },
];

async fn http_route(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    known_members(&scene).await?;
    let backends = format!("{{name: {name}-eu-1, port: 80}}");
    http_route_of(&scene.hub, name, ("istio-system", "public"), name, &backends).await?;
    let service = json!({"routes": [{"gatewayAPI": {"name": "public"}}]});
    let watched = ("gateway.networking.k8s.io/v1", "HTTPRoute", "public".to_owned());
    promote(&scene, Plane { to: scene.istio().await?.gateway_api, service, watched }).await
}

/// An `HTTPRoute` that the hub makes, with the host of a `ServiceEntry` for each member. eu-3 is reached by TLS.
async fn hostnames(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let create = json!({"hosts": [format!("{name}.example.com")], "gateways": ["istio-system/public"]});
    let backend = json!({"serviceEntry": {"credentialName": "lab-ca"}});
    let service = json!({"backend": backend, "routes": [{"gatewayAPI": {"create": create}}]});
    let watched = ("gateway.networking.k8s.io/v1", "HTTPRoute", name.clone());
    promote(&scene, Plane { to: scene.istio().await?.gateway_api, service, watched }).await
}
