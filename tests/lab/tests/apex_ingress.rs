//! Skipper's canary Ingress beside the user's own, the apex: under traffic, and with weights that somebody else wrote.

use super::{
    hand_made::endpoint_slices,
    service_mode::{SHARES, assert_only_the_canary_failed, assert_rises, behave, declared, ingress, judge},
};
use crate::{
    endpoint_slices::EndpointSlices,
    history::History,
    load::{Load, Plan, get},
    rollout::{PATIENCE, Rollout, declaration},
    runner::{Place, Scene, Test},
    shares::assert_shares,
    stage::{AROUND, all_at, host, steady_load},
    wait::eventually,
};
use anyhow::{Result, ensure};
use cutover::api::{Distribution, Phase, Reason, Verb};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "apex_of_the_primary", place: Place::Shared, run: |scene| Box::pin(of_the_primary(scene)) },
    Test { name: "apex_of_the_users_own_service", place: Place::Shared, run: |scene| Box::pin(of_the_own(scene)) },
    Test { name: "apex_with_weights_of_others", place: Place::Shared, run: |scene| Box::pin(with_weights(scene)) },
];

const ON: &str = "Weight(100)";
const OFF: &str = "Weight(100) && False()";
const REQUESTS: u64 = 2_100;
/// Divisible by all that the weights below ask for.
const TOTAL: u32 = 300;

/// At rest the apex serves by itself.
async fn of_the_primary(scene: Scene) -> Result<()> {
    let primary = format!("{}-primary", scene.namespace);
    tell(&scene, &primary, OFF).await
}

/// The apex would send everybody to what is declared, so the canary is never off.
async fn of_the_own(scene: Scene) -> Result<()> {
    tell(&scene, &scene.namespace, ON).await
}

async fn tell(scene: &Scene, apex_names: &str, at_rest: &str) -> Result<()> {
    let name = &scene.namespace;
    let services = scene.hub.api("v1", "Service", name).await?;
    let ingresses = scene.hub.api("networking.k8s.io/v1", "Ingress", name).await?;
    let _slices = EndpointSlices::keep(&scene.hub, name).await?;
    selects(&services, name, "eu-1").await?;
    scene.hub.create(name, &ingress(apex_names, "public", &host(name)).to_string()).await?;
    let apex = serde_json::to_string(&ingresses.get("public").await?)?;
    let serves = if apex_names == name { Some(steady_load(scene.skipper.address, name).await?) } else { None };
    let history = History::start(ingresses.clone(), "public-canary").await?;

    // No form is declared: this is the default of service mode.
    let mut declared = declared(name, &json!({"skipper": {"name": "public"}}));
    declared["spec"]["services"][0]["backend"] = json!({"clusterIP": {}});
    let rollout = Rollout::declare(scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = match serves {
        Some(load) => load,
        None => steady_load(scene.skipper.address, name).await?,
    };
    is_at(&ingresses, at_rest).await?;
    all_at(scene, &load, "eu-1").await?;

    selects(&services, name, "eu-3").await?;
    rollout.applied(2).await?;
    is_at(&ingresses, ON).await?;
    behave(scene, Some(5));
    rollout.stands(Phase::Failed, Reason::ChecksFailed).await?;
    is_at(&ingresses, at_rest).await?;
    all_at(scene, &load, "eu-1").await?;
    assert_only_the_canary_failed(&load.stop().await)?;

    behave(scene, None);
    let load = steady_load(scene.skipper.address, name).await?;
    rollout.ask(Verb::Retry).await?;
    for (step, share) in (1..).zip(SHARES) {
        judge(scene, &rollout, &load, step, share).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    is_at(&ingresses, at_rest).await?;
    load.goes_on_for(AROUND).await?;
    all_at(scene, &load, "eu-3").await?;
    load.stop().await.assert_all_ok()?;
    let after = serde_json::to_string(&ingresses.get("public").await?)?;
    ensure!(after == apex, "the apex was {apex} and is {after}");
    assert_rises(&history, name)
}

/// The user's own Service, whose Pods are those of this member.
pub async fn selects(services: &Api<DynamicObject>, name: &str, member: &str) -> Result<()> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "annotations": {"cutover.dev/member": member}},
        "spec": {"selector": {"app": member}, "ports": [{"name": "http", "port": 80, "targetPort": 80}]},
    });
    services.patch(name, &PatchParams::apply("owner"), &Patch::Apply(&service)).await?;
    Ok(())
}

async fn is_at(ingresses: &Api<DynamicObject>, predicates: &str) -> Result<()> {
    let canary = ingresses.get("public-canary").await?;
    let found = canary.annotations().get("zalando.org/skipper-predicate").map(String::as_str);
    ensure!(found == Some(predicates), "the canary has {found:?}, not {predicates}");
    Ok(())
}

/// What Skipper makes of weights that somebody else wrote is what the hub takes over: two of three backends have one, none
/// has one, and weights that are no whole numbers.
async fn with_weights(scene: Scene) -> Result<()> {
    endpoint_slices(&scene).await?;
    let name = &scene.namespace;
    for (case, weights, percent) in [
        ("two", json!({format!("{name}-eu-1"): 30, format!("{name}-eu-3"): 10}), [75, 0, 25]),
        ("none", json!({}), [33, 33, 33]),
        (
            "floats",
            json!({format!("{name}-eu-1"): 0.1, format!("{name}-eu-2"): 0.15, format!("{name}-eu-3"): 0.25}),
            [20, 30, 50],
        ),
    ] {
        let host = format!("{name}.{case}.example.com");
        scene.hub.create(name, &weighted(name, case, &host, &weights).to_string()).await?;
        counted(&scene, &host, percent).await?;
        let units = if case == "none" { [100; 3] } else { percent.map(|percent| percent * TOTAL / 100) };
        taken_over(&scene, case, units).await?;
    }
    Ok(())
}

/// An Ingress to three members.
fn weighted(service: &str, name: &str, host: &str, weights: &Value) -> Value {
    let mut object = ingress(service, name, host);
    object["metadata"]["annotations"]["zalando.org/backend-weights"] = weights.to_string().into();
    let backend = |member| json!({"service": {"name": format!("{service}-{member}"), "port": {"number": 80}}});
    let path = |member| json!({"path": "/", "pathType": "Prefix", "backend": backend(member)});
    object["spec"]["rules"][0]["http"]["paths"] = json!(["eu-1", "eu-2", "eu-3"].map(path));
    object
}

async fn counted(scene: &Scene, host: &str, percent: [u32; 3]) -> Result<()> {
    eventually("the Ingress", PATIENCE, async || {
        let status = get(scene.skipper.address, host, "/").await?;
        ensure!(status == 200, "{status}");
        Ok(())
    })
    .await?;
    let before = scene.observed(&scene.namespace);
    let totals = Load::start(Plan::new(scene.skipper.address, host, REQUESTS)).finish().await;
    totals.assert_all_ok()?;
    let [one, two, three] = percent;
    assert_shares(&before, &scene.observed(&scene.namespace), &[("eu-1", one), ("eu-2", two), ("eu-3", three)])
}

/// A rollout that finds the Ingress as its apex has these weights as its primary.
async fn taken_over(scene: &Scene, apex: &str, units: [u32; 3]) -> Result<()> {
    let name = &scene.namespace;
    let members = ["eu-1", "eu-2", "eu-3"];
    let mut declared = declaration(name, &json!({"skipper": {"form": "CanaryIngress", "name": apex}}));
    let spec = &mut declared["spec"];
    spec["services"][0]["backend"] = json!({"clusterIP": {}});
    spec["weightTotal"] = TOTAL.into();
    spec["deletionPolicy"] = "Revert".into();
    spec["members"] = members.iter().zip(units).map(|(name, weight)| json!({"name": name, "weight": weight})).collect();
    let rollout = Rollout::declare(scene, name, &declared).await?;
    let status = rollout.phase(Phase::Initialized).await?;
    let expected: Distribution = members.into_iter().map(str::to_owned).zip(units).collect();
    ensure!(status.primary.as_ref().is_some_and(|primary| primary.same_as(&expected)), "{:?}", status.primary);
    rollout.delete().await?;
    rollout.is_gone().await
}
