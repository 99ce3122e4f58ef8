//! What the hub makes, and removes again.

use crate::{
    rollout::{Rollout, declaration, promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
};
use anyhow::{Result, ensure};
use kube::{ResourceExt, api::ListParams};
use serde_json::{Value, json};

pub const TESTS: &[Test] =
    &[Test { name: "what_the_hub_made_goes_with_it", place: Place::Shared, run: |scene| Box::pin(reverted(scene)) }];

/// Routes and backends of two services, made from nothing; `Revert` removes all of them.
async fn reverted(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let (first, second) = (format!("{name}-1"), format!("{name}-2"));
    let mut declared = declaration(name, &Value::Null);
    declared["spec"]["services"] = json!([
        {"name": first, "port": 80, "backend": {"endpointSlice": {}},
         "routes": [{"gatewayAPI": {"create": {"hosts": [format!("{first}.example.com")], "gateways": ["projectcontour/public"]}}}]},
        {"name": second, "port": 80,
         "routes": [{"skipper": {"create": {"hosts": [format!("{second}.example.com")]}}}]},
    ]);
    declared["spec"]["members"] = to_eu_3();
    declared["spec"]["strategy"]["steps"] = promoted_steps(&[50, 100]);
    declared["spec"]["deletionPolicy"] = json!("Revert");
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.applied(1).await?;
    ensure!(made(&scene).await?.len() == 2 + 4 + 2, "the hub made {:?}", made(&scene).await?);
    rollout.delete().await?;
    rollout.is_gone().await?;
    let left = made(&scene).await?;
    ensure!(left.is_empty(), "after the rollout there is {left:?}");
    Ok(())
}

/// Routes, Services and slices of the namespace.
async fn made(scene: &Scene) -> Result<Vec<String>> {
    let kinds = [
        ("gateway.networking.k8s.io/v1", "HTTPRoute"),
        ("zalando.org/v1", "RouteGroup"),
        ("v1", "Service"),
        ("discovery.k8s.io/v1", "EndpointSlice"),
    ];
    let mut found = Vec::new();
    for (api_version, kind) in kinds {
        let objects = scene.hub.api(api_version, kind, &scene.namespace).await?.list(&ListParams::default()).await?;
        found.extend(objects.iter().map(|object| format!("{kind} {}", object.name_any())));
    }
    Ok(found)
}
