//! A VirtualService that others use too is taken over under load, goes through a whole rollout, and is what it was at the end.

use super::{service_entry, virtual_service};
use crate::{
    rollout::{Rollout, declaration, to_eu_3},
    runner::{Place, Scene, Test},
    stage::{all_at, steady_load},
    wait::seconds,
};
use anyhow::{Result, ensure};
use cutover::api::{FIELD_MANAGER, Phase, Reason, Verb};
use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

pub const TESTS: &[Test] =
    &[Test { name: "adoption_by_istio_and_revert", place: Place::Shared, run: |scene| Box::pin(adopted(scene)) }];

const MAIN: usize = 2;

async fn adopted(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let eu_1 = format!("{name}.eu-1.lab");
    service_entry(&scene, "by-hand", &eu_1).await?;
    virtual_service(&scene, entries(&eu_1)).await?;
    let services = scene.hub.api("networking.istio.io/v1", "VirtualService", name).await?;
    let before = services.get("public").await?;
    let load = steady_load(scene.istio().await?.address, name).await?;

    let rollout = Rollout::declare(&scene, name, &declared(name, &eu_1)).await?;
    rollout.phase(Phase::Initialized).await?;
    let others = others(&scene).await?;
    load.goes_on_for(seconds(3)).await?;
    let at_rest = services.get("public").await?;
    ensure!(at_rest.resource_version() == before.resource_version(), "it was written before anything was to move");

    rollout.edit(json!({"members": to_eu_3()})).await?;
    others.are_left_alone(&scene, &rollout).await?;
    for step in 1..=3 {
        rollout.applied(step).await?;
        let entries = without_ours(&services.get("public").await?.data["spec"]);
        ensure!(entries == without_ours(&before.data["spec"]), "step {step}: {entries}");
        rollout.phase(Phase::WaitingPromotion).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    all_at(&scene, &load, "eu-3").await?;

    rollout.edit(json!({"deletionPolicy": "Revert"})).await?;
    rollout.delete().await?;
    rollout.is_gone().await?;
    all_at(&scene, &load, "eu-1").await?;
    load.goes_on_for(seconds(3)).await?;
    load.stop().await.assert_all_ok()?;
    let after = services.get("public").await?;
    ensure!(after.data["spec"] == before.data["spec"], "{} instead of {}", after.data["spec"], before.data["spec"]);
    ensure!(after.annotations() == before.annotations(), "{:?}", after.annotations());
    for kind in ["ServiceEntry", "DestinationRule"] {
        let left = scene.hub.api("networking.istio.io/v1", kind, name).await?.list(&ListParams::default()).await?;
        let made = left.iter().filter(|object| object.name_any() != "by-hand").map(ResourceExt::name_any);
        let made: Vec<String> = made.collect();
        ensure!(made.is_empty(), "{kind} {made:?} of {FIELD_MANAGER} is left");
    }
    Ok(())
}

/// Somebody else's objects with the name that those for eu-3 would have.
struct Others([DynamicObject; 2]);

const ISTIO: &str = "networking.istio.io/v1";
const KINDS: [&str; 2] = ["ServiceEntry", "DestinationRule"];

async fn others(scene: &Scene) -> Result<Others> {
    let (name, elsewhere) = (format!("{}-eu-3", scene.namespace), "elsewhere.example.com");
    service_entry(scene, &name, elsewhere).await?;
    let rule = json!({"apiVersion": ISTIO, "kind": KINDS[1], "metadata": {"name": name}, "spec": {"host": elsewhere}});
    scene.hub.create(&scene.namespace, &rule.to_string()).await?;
    Others::read(scene).await
}

impl Others {
    async fn read(scene: &Scene) -> Result<Self> {
        let get = async |kind| -> Result<DynamicObject> {
            Ok(scene.hub.api(ISTIO, kind, &scene.namespace).await?.get(&format!("{}-eu-3", scene.namespace)).await?)
        };
        Ok(Self([get(KINDS[0]).await?, get(KINDS[1]).await?]))
    }

    /// The rollout names the first of them, writes to none, and goes on when they are gone.
    async fn are_left_alone(&self, scene: &Scene, rollout: &Rollout<'_>) -> Result<()> {
        for (kind, before) in KINDS.into_iter().zip(&self.0) {
            let message = format!("{kind} {}", before.name_any());
            rollout
                .until(&message, |status| status.reason == Reason::Conflict && status.message.contains(&message))
                .await?;
            let api = scene.hub.api(ISTIO, kind, &scene.namespace).await?;
            let after = api.get(&before.name_any()).await?;
            // istiod writes its status, and with that its version.
            let is_same = after.data["spec"] == before.data["spec"]
                && after.labels() == before.labels()
                && after.annotations() == before.annotations();
            let managers = after.managed_fields().iter().filter_map(|fields| fields.manager.as_deref());
            ensure!(
                is_same && !managers.into_iter().any(|one| one == FIELD_MANAGER),
                "{message} was written: {after:?}"
            );
            api.delete(&before.name_any(), &DeleteParams::default()).await?;
        }
        Ok(())
    }
}

/// Before and behind the entry that is adopted stand those of others; it has a match, a timeout and headers of its own.
fn entries(eu_1: &str) -> Value {
    let to = |host: &str| json!([{"destination": {"host": host, "port": {"number": 80}}}]);
    let mut route = to(eu_1);
    route[0]["headers"] = json!({"request": {"set": {"x-team": "web"}}});
    json!([
        {"name": "admin", "match": [{"uri": {"prefix": "/admin"}}], "route": to("admin")},
        {"match": [{"uri": {"exact": "/old"}}], "redirect": {"uri": "/"}},
        {"name": "main", "match": [{"uri": {"prefix": "/"}, "withoutHeaders": {"x-robot": {}}}], "timeout": "10s",
         "headers": {"response": {"set": {"x-served-by": "istio"}}}, "route": route},
        {"directResponse": {"status": 418}},
    ])
}

fn declared(name: &str, eu_1: &str) -> Value {
    let mut declared = declaration(name, &json!({"istio": {"name": "public", "routes": ["main"]}}));
    declared["spec"]["services"][0]["backend"] =
        json!({"serviceEntry": {"credentialName": "lab-ca", "existing": {"eu-1": eu_1}}});
    declared["spec"]["strategy"]["steps"] = json!([
        {"matches": [{"headers": [{"name": "x-preview", "exact": "on"}]}], "wait": "Promotion"},
        {"progress": "50%", "wait": "Promotion"},
        {"progress": "100%", "wait": "Promotion"},
    ]);
    // Nobody sends requests that match, and this is about the route.
    declared["spec"]["analysis"]["metrics"] = json!([]);
    declared
}

/// The spec without the entries that the hub adds and the destinations that it writes.
fn without_ours(spec: &Value) -> Value {
    let mut spec = spec.clone();
    let entries = spec["http"].as_array_mut().expect("a list of entries");
    entries.retain(|entry| !entry["name"].as_str().is_some_and(|name| name.starts_with("cutover.dev/")));
    entries[MAIN]["route"] = Value::Null;
    spec
}
