//! What the hub makes, and removes again.

use crate::{
    load::{Plan, answer},
    rollout::{PATIENCE, Rollout, declaration, members, promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
    stage::host,
    wait::eventually,
};
use anyhow::{Result, ensure};
use kube::{ResourceExt, api::ListParams};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "what_the_hub_made_goes_with_it", place: Place::Shared, run: |scene| Box::pin(reverted(scene)) },
    Test { name: "made_routes_change_headers", place: Place::Shared, run: |scene| Box::pin(changed(scene)) },
];

/// What members see of whoever calls, and a page that may call.
const AGENT: &str = "made-by-cutover";
const ORIGIN: &str = "https://pages.example.com";

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

/// Headers, timeouts, retries and CORS of made routes: the API server takes them, and Envoy obeys them.
async fn changed(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let (first, second) = (format!("{name}-1"), format!("{name}-2"));
    let headers = json!({"request": {"set": [{"name": "user-agent", "value": AGENT}]},
                         "response": {"set": [{"name": "x-made-by", "value": "cutover"}], "remove": ["x-unknown"]}});
    let timeouts = json!({"request": "10s", "backendRequest": "5s"});
    let cors =
        json!({"allowOrigins": [ORIGIN], "allowMethods": ["GET"], "exposeHeaders": ["x-made-by"], "maxAge": "10m"});
    let route = json!({"hosts": [host(&first)], "gateways": ["projectcontour/public"], "timeouts": timeouts, "headers": headers});
    let proxy = json!({"host": host(&second), "timeouts": timeouts, "retries": {"attempts": 2, "codes": [503]},
                       "headers": headers, "cors": cors});
    let mut declared = declaration(name, &Value::Null);
    declared["spec"]["services"] = json!([
        {"name": first, "port": 80, "backend": {"endpointSlice": {}}, "routes": [{"gatewayAPI": {"create": route}}]},
        {"name": second, "port": 80, "backend": {"endpointSlice": {}}, "routes": [{"contour": {"create": proxy}}]},
    ]);
    declared["spec"]["members"] = members([0, 100, 0], [100, 0, 0]);
    declared["spec"]["strategy"]["steps"] = promoted_steps(&[50, 100]);
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.applied(1).await?;
    for (service, origin) in [(&first, None), (&second, Some(ORIGIN))] {
        requested(&scene, service, origin).await?;
    }
    Ok(())
}

/// A member counts the request by the header that the route gave it, and the client gets those of the route.
async fn requested(scene: &Scene, service: &str, origin: Option<&str>) -> Result<()> {
    let headers = vec![("user-agent", "somebody".to_owned()), ("origin", ORIGIN.to_owned())];
    let plan = Plan { headers, ..Plan::new(scene.contour.address, &host(service), 1) };
    let head = eventually("the made route", PATIENCE, async || {
        let head = answer(&plan, "/").await?;
        ensure!(head.status == 200, "{}", head.status);
        Ok(head)
    })
    .await?;
    let given = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    ensure!(given("x-made-by") == Some("cutover"), "{:?}", head.headers);
    ensure!(given("access-control-allow-origin") == origin, "{:?}", head.headers);
    let counted = |agent: &str| {
        scene.members.values().map(|member| member.gateway.tally().observed_from(service, agent)).sum::<u64>()
    };
    ensure!(
        counted(AGENT) > 0 && counted("somebody") == 0,
        "the members counted {} requests of the route",
        counted(AGENT)
    );
    Ok(())
}
