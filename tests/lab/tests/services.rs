//! Service mode with Services of every type: the API server takes the copies, and what it gave them stays theirs. What
//! their owner takes off a Service goes from its copies.

use crate::{
    endpoint_slices::EndpointSlices,
    rollout::{Rollout, declaration},
    runner::{Place, Scene, Test},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{FleetRolloutStatus, Phase, Reason, Verb};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test { name: "services_of_every_type_are_copied", place: Place::Shared, run: |scene| Box::pin(copied(scene)) },
    Test { name: "no_traffic_without_ready_addresses", place: Place::Shared, run: |scene| Box::pin(unready(scene)) },
    Test { name: "what_is_taken_off_goes_from_copies", place: Place::Shared, run: |scene| Box::pin(taken_off(scene)) },
];

const COPIES: [&str; 2] = ["shop-primary", "shop-canary"];
const TYPES: [&str; 5] = ["cluster-ip", "headless", "node-port", "load-balancer", "external-name"];

/// What a user declares of a Service of this type, with a port that leads to `target`.
fn declared(kind: &str, target: u16) -> Value {
    let selected = |kind: &str| {
        let ports = json!([{"name": "http", "port": 80, "targetPort": target}, {"name": "admin", "port": 81, "targetPort": "admin"}]);
        json!({"type": kind, "selector": {"app": format!("v{target}")}, "ports": ports})
    };
    match kind {
        "headless" => {
            let mut spec = selected("ClusterIP");
            spec["clusterIP"] = "None".into();
            spec
        }
        "node-port" => selected("NodePort"),
        "load-balancer" => selected("LoadBalancer"),
        "external-name" => json!({"type": "ExternalName", "externalName": format!("v{target}.eu-1.lab"),
                                  "ports": [{"name": "http", "port": 80}]}),
        _ => selected("ClusterIP"),
    }
}

struct Copies {
    services: Api<DynamicObject>,
}

impl Copies {
    async fn spec(&self, name: &str) -> Result<Value> {
        Ok(self.services.get(name).await.with_context(|| format!("Service {name}"))?.data["spec"].clone())
    }

    /// As server-side apply does it: what this manager no longer says goes.
    async fn apply(&self, manager: &str, service: &Value) -> Result<()> {
        let name = service["metadata"]["name"].as_str().context("a Service without a name")?;
        self.services.patch(name, &PatchParams::apply(manager), &Patch::Apply(service)).await?;
        Ok(())
    }

    /// These labels and these annotations of `lb.example.com` are on the copy, beside the hub's own.
    async fn noted(&self, copy: &str, labels: &[&str], annotations: &[&str]) -> Result<()> {
        let live = self.services.get(copy).await?;
        let own = |key: &&str| !["cutover.dev/", "app.kubernetes.io/"].iter().any(|prefix| key.starts_with(prefix));
        let found: Vec<&str> = live.labels().keys().map(String::as_str).filter(own).collect();
        ensure!(found == labels, "{copy} has the labels {found:?}, not {labels:?}");
        let found: Vec<&str> =
            live.annotations().keys().filter_map(|key| key.strip_prefix("lb.example.com/")).collect();
        ensure!(found == annotations, "{copy} has the annotations {found:?}, not {annotations:?}");
        Ok(())
    }

    /// Whatever was declared for the Service is declared for its copy.
    async fn expect(&self, copy: &str, declared: &Value) -> Result<Value> {
        let live = self.spec(copy).await?;
        for key in ["type", "selector", "externalName"] {
            ensure!(live[key] == declared[key], "{copy}: {key} is {}, not {}", live[key], declared[key]);
        }
        let ports = |spec: &Value| {
            let ports = spec["ports"].as_array().cloned().unwrap_or_default();
            let one = |port: Value| {
                (port["name"].clone(), port["port"].clone(), port.get("targetPort").unwrap_or(&port["port"]).clone())
            };
            ports.into_iter().map(one).collect::<Vec<_>>()
        };
        ensure!(ports(&live) == ports(declared), "{copy}: {:?}, not {:?}", ports(&live), ports(declared));
        let is_headless = |spec: &Value| spec["clusterIP"] == "None";
        ensure!(is_headless(&live) == is_headless(declared), "{copy}: its address is {}", live["clusterIP"]);
        Ok(live)
    }
}

async fn copied(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let copies = Copies { services: scene.hub.api("v1", "Service", name).await? };
    let _slices = EndpointSlices::keep(&scene.hub, name).await?;
    for kind in TYPES {
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": kind}, "spec": declared(kind, 8080)});
        scene.hub.create(name, &service.to_string()).await?;
    }
    let rollout = proven(&scene, &TYPES).await?;
    for kind in TYPES {
        copies.expect(&format!("{kind}-canary"), &declared(kind, 8080)).await?;
    }
    changes(&copies, &rollout).await?;
    becomes_another_type(&copies, &rollout).await?;
    rollout.delete().await?;
    rollout.is_gone().await?;
    let left: Vec<String> = copies
        .services
        .list(&ListParams::default())
        .await?
        .into_iter()
        .filter_map(|service| service.metadata.name)
        .collect();
    ensure!(left.len() == TYPES.len(), "after the rollout there is {left:?}");
    Ok(())
}

/// A rollout of these Services, which passes every change of them at once.
async fn proven<'s>(scene: &'s Scene, services: &[&str]) -> Result<Rollout<'s>> {
    let name = &scene.namespace;
    let mut rollout = declaration(name, &Value::Null);
    let route = |kind: &str| json!([{"contour": {"create": {"host": format!("{kind}.{name}.example.com")}}}]);
    rollout["spec"]["services"] =
        services.iter().map(|kind| json!({"name": kind, "port": 80, "routes": route(kind)})).collect();
    json_patch::merge(
        &mut rollout["spec"],
        &json!({"members": null, "strategy": null, "skipAnalysis": true, "deletionPolicy": "Revert"}),
    );
    let rollout = Rollout::declare(scene, name, &rollout).await?;
    rollout.phase(Phase::Initialized).await?;
    Ok(rollout)
}

/// Every Service changes at once: the primaries follow, with the addresses and node ports that they had.
async fn changes(copies: &Copies, rollout: &Rollout<'_>) -> Result<()> {
    let mut before = Vec::new();
    for kind in TYPES {
        before.push(copies.expect(&format!("{kind}-primary"), &declared(kind, 8080)).await?);
    }
    for kind in TYPES {
        let patch = Patch::Merge(json!({"spec": declared(kind, 9090)}));
        copies.services.patch(kind, &PatchParams::default(), &patch).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    for (kind, before) in TYPES.iter().zip(before) {
        let after = copies.expect(&format!("{kind}-primary"), &declared(kind, 9090)).await?;
        let given =
            |spec: &Value| (spec["clusterIP"].clone(), [0, 1].map(|port| spec["ports"][port]["nodePort"].clone()));
        ensure!(given(&after) == given(&before), "{kind}: {:?} became {:?}", given(&before), given(&after));
        let own = copies.spec(kind).await?;
        let shared =
            own["clusterIP"].is_string() && own["clusterIP"] != "None" && own["clusterIP"] == after["clusterIP"];
        ensure!(!shared, "{kind} and its primary have one address");
    }
    Ok(())
}

/// What had an address becomes a name, and the other way round.
async fn becomes_another_type(copies: &Copies, rollout: &Rollout<'_>) -> Result<()> {
    let run = number(rollout).await?;
    for (name, kind) in [("load-balancer", "external-name"), ("external-name", "cluster-ip")] {
        let mut spec = declared(kind, 7070);
        if kind == "external-name" {
            spec["selector"] = Value::Null;
        } else {
            spec["externalName"] = Value::Null;
        }
        copies.services.patch(name, &PatchParams::default(), &Patch::Merge(json!({ "spec": spec }))).await?;
    }
    ends_after(rollout, run).await?;
    for (name, kind) in [("load-balancer", "external-name"), ("external-name", "cluster-ip")] {
        copies.expect(&format!("{name}-primary"), &declared(kind, 7070)).await?;
    }
    Ok(())
}

async fn number(rollout: &Rollout<'_>) -> Result<u64> {
    Ok(rollout.status().await?.last_run())
}

/// A run after this one has ended well.
async fn ends_after(rollout: &Rollout<'_>, run: u64) -> Result<()> {
    let later = |status: &FleetRolloutStatus| status.last_run() > run;
    rollout.until("the end of the run", |status| status.phase == Phase::Succeeded && later(status)).await.map(|_| ())
}

/// The owner takes a label, an annotation, a port and a part of the selector off; the cloud keeps its notes on the copies.
async fn taken_off(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let copies = Copies { services: scene.hub.api("v1", "Service", name).await? };
    let ports = json!([{"name": "http", "port": 80}, {"name": "admin", "port": 81}]);
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "shop", "labels": {"team": "web", "tier": "front"},
                     "annotations": {"lb.example.com/type": "internal", "lb.example.com/idle": "60"}},
        "spec": {"selector": {"app": "shop", "track": "stable"}, "ports": ports},
    });
    copies.apply("owner", &service).await?;
    let _slices = EndpointSlices::keep(&scene.hub, name).await?;
    let rollout = proven(&scene, &["shop"]).await?;
    for copy in COPIES {
        let noted = json!({"apiVersion": "v1", "kind": "Service", "metadata": {
            "name": copy, "labels": {"zone": "b"}, "annotations": {"lb.example.com/address": "192.0.2.7"}}});
        copies.apply("cloud", &noted).await?;
        copies.noted(copy, &["team", "tier", "zone"], &["address", "idle", "type"]).await?;
    }

    let run = number(&rollout).await?;
    service["metadata"]["labels"] = json!({"tier": "front"});
    service["metadata"]["annotations"] = json!({"lb.example.com/idle": "60"});
    service["spec"] = json!({"selector": {"app": "shop"}, "ports": [{"name": "http", "port": 80}]});
    copies.apply("owner", &service).await?;
    ends_after(&rollout, run).await?;
    for copy in COPIES {
        copies.noted(copy, &["tier", "zone"], &["address", "idle"]).await?;
        let spec = copies.spec(copy).await?;
        ensure!(spec["selector"] == json!({"app": "shop"}), "{copy} selects {}", spec["selector"]);
        ensure!(spec["ports"].as_array().is_some_and(|ports| ports.len() == 1), "{copy} has {}", spec["ports"]);
    }
    Ok(())
}

/// A canary whose Service has no ready address gets nothing, and its run ends at the deadline; the next one is ready.
async fn unready(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let copies = Copies { services: scene.hub.api("v1", "Service", name).await? };
    let slices = EndpointSlices::keep(&scene.hub, name).await?;
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"},
        "spec": {"selector": {"app": "v1"}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    copies.apply("owner", &service).await?;
    let rollout = proven(&scene, &["shop"]).await?;
    let strategy = json!({"bake": "1s", "steps": [{"progress": "100%"}], "progressDeadline": "20s"});
    rollout.edit(json!({ "strategy": strategy })).await?;
    // The addresses of v1, ready, are still there when the canary selects v2.
    slices.pause();
    service["spec"]["selector"] = json!({"app": "v2"});
    copies.apply("owner", &service).await?;
    let no_address = async || {
        let status = rollout.stands(Phase::Held, Reason::MemberNotReady).await?;
        ensure!(status.message == "the endpoint of canary for shop has no ready address", "{}", status.message);
        Ok(())
    };
    no_address().await?;
    rollout.stands(Phase::Failed, Reason::ProgressDeadlineExceeded).await?;
    let primary = copies.spec("shop-primary").await?;
    ensure!(primary["selector"] == json!({"app": "v1"}), "the primary selects {}", primary["selector"]);
    slices.fail("shop-canary");
    slices.resume();
    rollout.ask(Verb::Retry).await?;
    no_address().await?;
    slices.recover("shop-canary");
    rollout.phase(Phase::Succeeded).await?;
    let primary = copies.spec("shop-primary").await?;
    ensure!(primary["selector"] == json!({"app": "v2"}), "the primary selects {}", primary["selector"]);
    Ok(())
}
