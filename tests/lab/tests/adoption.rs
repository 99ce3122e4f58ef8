//! A route that carries traffic is taken over without a blip, or not at all.

use crate::{
    history::History,
    rollout::{Rollout, declaration, members, promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
    shown::shown,
    stage::{clients, external_name, host, http_route},
    wait::seconds,
};
use anyhow::{Result, ensure};
use cutover::api::{FIELD_MANAGER, Phase, Reason, Verb};
use kube::{ResourceExt, api::DynamicObject};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "adoption_of_a_live_route", place: Place::Shared, run: |scene| Box::pin(live_route(scene)) },
    Test { name: "adoption_needs_a_mapping", place: Place::Shared, run: |scene| Box::pin(unmappable(scene)) },
];

/// Two rules, a filter, a label, an annotation, and a backend with a name of its own.
async fn live_route(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    external_name(&scene.hub, name, "legacy-shop", &format!("{name}.eu-1.lab")).await?;
    scene.hub.create(name, &foreign_route(name)).await?;
    let load = clients(&scene, name).await?;
    let routes = scene.hub.api("gateway.networking.k8s.io/v1", "HTTPRoute", name).await?;
    let history = History::start(routes.clone(), "public").await?;
    let before = without_backends(&routes.get("public").await?);

    let mut declared = declaration(name, &json!({"gatewayAPI": {"name": "public", "rules": ["main"]}}));
    declared["spec"]["services"][0]["backend"] = json!({"externalName": {"existing": {"eu-1": "legacy-shop"}}});
    declared["spec"]["strategy"]["steps"] = promoted_steps(&[50, 100]);
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    load.goes_on_for(seconds(3)).await?;
    // Contour may write its status meanwhile.
    let by_hub = |route: DynamicObject| {
        route.managed_fields().iter().any(|field| field.manager.as_deref() == Some(FIELD_MANAGER))
    };
    let written = history.entries().into_iter().filter_map(|entry| entry.object).any(by_hub);
    ensure!(!written, "the route was written before anything was to move");
    rollout.edit(json!({"members": to_eu_3()})).await?;
    for step in [1, 2] {
        rollout.applied(step).await?;
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    load.goes_on_for(seconds(5)).await?;
    load.stop().await.assert_all_ok()?;
    let after = without_backends(&routes.get("public").await?);
    ensure!(after == before, "{after} instead of {before}");
    let states = history.entries().into_iter().filter_map(|entry| entry.object);
    let mut weights: Vec<u32> =
        states.map(|route| shown(&route, name).get("eu-3").copied().unwrap_or_default()).collect();
    weights.dedup();
    ensure!(weights == [0, 50, 100], "{weights:?}");
    Ok(())
}

fn foreign_route(name: &str) -> String {
    let host = host(name);
    format!(
        "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: public, labels: {{team: shop}}, annotations: {{example.com/owner: shop}}}}
spec:
  parentRefs: [{{namespace: projectcontour, name: public}}]
  hostnames: [{host}]
  rules:
  - name: main
    matches: [{{path: {{type: PathPrefix, value: /}}}}]
    filters: [{{type: RequestHeaderModifier, requestHeaderModifier: {{set: [{{name: x-shop, value: main}}]}}}}]
    timeouts: {{request: 20s}}
    backendRefs: [{{name: legacy-shop, port: 80}}]
  - name: other
    matches: [{{path: {{type: PathPrefix, value: /other}}}}]
    backendRefs: [{{name: legacy-shop, port: 80, weight: 3}}]
"
    )
}

/// Everything that is not the rollout's to change.
fn without_backends(route: &DynamicObject) -> Value {
    let mut spec = route.data["spec"].clone();
    spec["rules"][0]["backendRefs"] = Value::Null;
    let foreign =
        |(key, value): (&String, &String)| (!key.starts_with("cutover.dev/")).then(|| (key.clone(), value.clone()));
    let annotations: serde_json::Map<String, Value> =
        route.annotations().iter().filter_map(foreign).map(|(key, value)| (key, value.into())).collect();
    json!({"spec": spec, "labels": route.labels(), "annotations": annotations})
}

/// A backend that belongs to no member stops it before any write.
async fn unmappable(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    external_name(&scene.hub, name, &format!("{name}-eu-1"), &format!("{name}.eu-1.lab")).await?;
    external_name(&scene.hub, name, "legacy-shop", &format!("{name}.eu-2.lab")).await?;
    let backends = format!("{{name: {name}-eu-1, port: 80, weight: 90}}, {{name: legacy-shop, port: 80, weight: 10}}");
    http_route(&scene.hub, name, "public", name, &backends).await?;
    let load = clients(&scene, name).await?;
    let routes = scene.hub.api("gateway.networking.k8s.io/v1", "HTTPRoute", name).await?;
    let history = History::start(routes, "public").await?;
    let mut declared = declaration(name, &json!({"gatewayAPI": {"name": "public"}}));
    declared["spec"]["members"] = members([0, 0, 100], [100, 0, 0]);
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    let status = rollout.until("refused", |status| status.reason == Reason::AdoptionNeedsMapping).await?;
    ensure!(status.message.contains("legacy-shop"), "{}", status.message);
    load.goes_on_for(seconds(3)).await?;
    let written = history
        .entries()
        .iter()
        .filter_map(|entry| entry.object.as_ref())
        .any(|route| route.managed_fields().iter().any(|entry| entry.manager.as_deref() == Some("cutover")));
    ensure!(!written, "the route was written");
    load.stop().await.assert_all_ok()
}
