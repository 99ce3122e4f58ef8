//! Service mode with Services of every type: the API server takes the copies, and what it gave them stays theirs.

use crate::{
    rollout::{Rollout, declaration},
    runner::{Scene, Test},
};
use anyhow::{Context, Result, ensure};
use cutover::api::Phase;
use kube::{
    Api,
    api::{DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

pub const TESTS: &[Test] =
    &[Test { name: "services_of_every_type_are_copied", exclusive: false, run: |scene| Box::pin(copied(scene)) }];

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
        Ok(live)
    }
}

async fn copied(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let copies = Copies { services: scene.hub.api("v1", "Service", name).await? };
    for kind in TYPES {
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": kind}, "spec": declared(kind, 8080)});
        scene.hub.create(name, &service.to_string()).await?;
    }
    let mut rollout = declaration(name, &Value::Null);
    let route = |kind: &str| json!([{"contour": {"create": {"host": format!("{kind}.{name}.example.com")}}}]);
    rollout["spec"]["services"] =
        TYPES.iter().map(|kind| json!({"name": kind, "port": 80, "routes": route(kind)})).collect();
    json_patch::merge(
        &mut rollout["spec"],
        &json!({"members": null, "strategy": null, "skipAnalysis": true, "deletionPolicy": "Revert"}),
    );
    let rollout = Rollout::declare(&scene, name, &rollout).await?;
    rollout.phase(Phase::Initialized).await?;
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
        let given = |spec: &Value| (spec["clusterIP"].clone(), spec["ports"][0]["nodePort"].clone());
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
    let run = rollout.status().await?.run.map_or(0, |run| run.number);
    for (name, kind) in [("load-balancer", "external-name"), ("external-name", "cluster-ip")] {
        let mut spec = declared(kind, 7070);
        if kind == "external-name" {
            spec["selector"] = Value::Null;
        } else {
            spec["externalName"] = Value::Null;
        }
        copies.services.patch(name, &PatchParams::default(), &Patch::Merge(json!({ "spec": spec }))).await?;
    }
    rollout
        .until("the end of the run", |status| {
            let later = status.run.as_ref().is_some_and(|now| now.number > run);
            status.phase == Phase::Succeeded && later
        })
        .await?;
    for (name, kind) in [("load-balancer", "external-name"), ("external-name", "cluster-ip")] {
        copies.expect(&format!("{name}-primary"), &declared(kind, 7070)).await?;
    }
    Ok(())
}
