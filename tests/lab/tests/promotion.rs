//! A full promotion from eu-1 to eu-3 on every data plane: the desired shares are those observed at the members.

use super::hand_made::endpoint_slice;
use crate::{
    history::History,
    load::Load,
    rollout::{Rollout, declaration, promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
    shares::assert_shares,
    shown::shown,
    stage::{AROUND, external_name, steady_load, to_eu_1},
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Verb};
use kube::{ResourceExt, api::ListParams};
use serde_json::{Value, json};
use std::{collections::BTreeMap, net::SocketAddr};

pub const TESTS: &[Test] = &[
    Test { name: "promotion_by_http_route", place: Place::Shared, run: |scene| Box::pin(http_route(scene)) },
    Test { name: "promotion_by_http_proxy", place: Place::Shared, run: |scene| Box::pin(http_proxy(scene)) },
    Test { name: "promotion_by_route_group", place: Place::Shared, run: |scene| Box::pin(route_group(scene)) },
    Test { name: "promotion_by_ingress_per_member", place: Place::Shared, run: |scene| Box::pin(ingresses(scene)) },
    Test { name: "promotion_by_weighted_ingress", place: Place::Shared, run: |scene| Box::pin(ingress(scene)) },
    Test { name: "promotion_by_cluster_ip", place: Place::Shared, run: |scene| Box::pin(cluster_ip(scene)) },
];

/// Weight of eu-3 at each step.
const STEPS: [u32; 4] = [10, 30, 60, 100];

/// Which route is promoted, and where its requests go.
pub struct Plane {
    pub to: SocketAddr,
    /// The rollout's service but for name and port.
    pub service: Value,
    /// API version, kind and name of the object whose history tells.
    pub watched: (&'static str, &'static str, String),
}

/// An adopted `HTTPRoute` that knows eu-1 only.
async fn http_route(scene: Scene) -> Result<()> {
    to_eu_1(&scene.hub, &scene.namespace, &scene.namespace).await?;
    let service = json!({"routes": [{"gatewayAPI": {"name": "public"}}]});
    let watched = ("gateway.networking.k8s.io/v1", "HTTPRoute", "public".to_owned());
    promote(&scene, Plane { to: scene.contour.address, service, watched }).await
}

/// An adopted `HTTPProxy` that already says how Envoy checks eu-3's certificate; that survives.
async fn http_proxy(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    external_name(&scene.hub, name, &format!("{name}-eu-1"), &format!("{name}.eu-1.lab")).await?;
    let ca = json!(scene.pki.ca);
    scene.hub.create(name, &format!("\
apiVersion: v1
kind: Secret
metadata: {{name: lab-ca}}
stringData: {{ca.crt: {ca}}}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: public}}
spec:
  virtualhost: {{fqdn: {name}.example.com}}
  routes:
  - services:
    - {{name: {name}-eu-1, port: 80, weight: 100}}
    - {{name: {name}-eu-3, port: 443, weight: 0, protocol: tls, validation: {{caSecret: lab-ca, subjectName: eu-3.lab}}}}
")).await?;
    let service = json!({"routes": [{"contour": {"name": "public"}}]});
    let watched = ("projectcontour.io/v1", "HTTPProxy", "public".to_owned());
    promote(&scene, Plane { to: scene.contour.address, service, watched }).await
}

/// A `RouteGroup` that the hub makes; Skipper checks eu-3's certificate for the name in the backend's address.
async fn route_group(scene: Scene) -> Result<()> {
    let service = json!({"routes": [{"skipper": {"create": hosts(&scene)}}]});
    let watched = ("zalando.org/v1", "RouteGroup", scene.namespace.clone());
    promote(&scene, Plane { to: scene.skipper.address, service, watched }).await
}

async fn ingresses(scene: Scene) -> Result<()> {
    let service = json!({"routes": [{"skipper": {"form": "IngressPerMember", "create": hosts(&scene)}}]});
    let watched = ("networking.k8s.io/v1", "Ingress", format!("{}-eu-3", scene.namespace));
    promote(&scene, Plane { to: scene.skipper.address, service, watched }).await
}

async fn ingress(scene: Scene) -> Result<()> {
    let route = json!({"skipper": {"form": "Ingress", "create": hosts(&scene)}});
    let service = json!({"backend": {"endpointSlice": {}}, "routes": [route]});
    let watched = ("networking.k8s.io/v1", "Ingress", scene.namespace.clone());
    promote(&scene, Plane { to: scene.skipper.address, service, watched }).await
}

/// Services made by hand, that of eu-1 under a name of its own; the hub makes none and changes none.
async fn cluster_ip(scene: Scene) -> Result<()> {
    endpoint_slice(&scene, "legacy", "eu-1").await?;
    endpoint_slice(&scene, &format!("{}-eu-3", scene.namespace), "eu-3").await?;
    let before = backends(&scene).await?;
    let backend = json!({"clusterIP": {"existing": {"eu-1": "legacy"}}});
    let route = json!({"skipper": {"form": "Ingress", "create": hosts(&scene)}});
    let service = json!({"backend": backend, "routes": [route]});
    let watched = ("networking.k8s.io/v1", "Ingress", scene.namespace.clone());
    promote(&scene, Plane { to: scene.skipper.address, service, watched }).await?;
    let after = backends(&scene).await?;
    ensure!(after == before, "the Services and EndpointSlices were {before:?} and are {after:?}");
    Ok(())
}

/// Every Service and EndpointSlice of the test's namespace -> its resourceVersion.
async fn backends(scene: &Scene) -> Result<BTreeMap<(&'static str, String), Option<String>>> {
    let mut found = BTreeMap::new();
    for (api_version, kind) in [("v1", "Service"), ("discovery.k8s.io/v1", "EndpointSlice")] {
        let objects = scene.hub.api(api_version, kind, &scene.namespace).await?.list(&ListParams::default()).await?;
        found.extend(objects.iter().map(|object| ((kind, object.name_any()), object.resource_version())));
    }
    Ok(found)
}

fn hosts(scene: &Scene) -> Value {
    json!({"hosts": [format!("{}.example.com", scene.namespace)]})
}

pub async fn promote(scene: &Scene, plane: Plane) -> Result<()> {
    let name = &scene.namespace;
    let mut declared = declaration(name, &Value::Null);
    json_patch::merge(&mut declared["spec"]["services"][0], &plane.service);
    declared["spec"]["strategy"]["steps"] = promoted_steps(&STEPS);
    let (api_version, kind, object) = plane.watched;
    let history = History::start(scene.hub.api(api_version, kind, name).await?, &object).await?;
    let rollout = Rollout::declare(scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = steady_load(plane.to, name).await?;

    load.goes_on_for(AROUND).await?;
    judge(scene, &load, 0).await?;
    rollout.edit(json!({"members": to_eu_3()})).await?;
    for (step, weight) in (1..).zip(STEPS) {
        rollout.at_step(step).await?;
        judge(scene, &load, weight).await?;
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    load.goes_on_for(AROUND).await?;
    load.stop().await.assert_all_ok()?;
    assert_rises(&history, name)
}

/// From now on 2,000 requests are counted at the members: eu-3 has its weight, eu-1 the rest.
async fn judge(scene: &Scene, load: &Load, weight: u32) -> Result<()> {
    let before = scene.observed(&scene.namespace);
    load.sends(2_100).await?;
    let after = scene.observed(&scene.namespace);
    assert_shares(&before, &after, &[("eu-1", 100 - weight), ("eu-3", weight)])
}

/// Every state that anybody could have seen: eu-3 goes through the steps and nothing else.
fn assert_rises(history: &History, service: &str) -> Result<()> {
    let states = history.entries().into_iter().filter_map(|entry| Some(shown(&entry.object?, service)));
    let mut weights: Vec<u32> = states.map(|shown| shown.get("eu-3").copied().unwrap_or_default()).collect();
    weights.dedup();
    let expected: Vec<u32> =
        std::iter::once(0).chain(STEPS).skip_while(|weight| weights.first() != Some(weight)).collect();
    ensure!(weights == expected, "eu-3 had the weights {weights:?}");
    Ok(())
}
