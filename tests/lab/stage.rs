//! What most tests begin with: a service that goes to eu-1 by an HTTPRoute made by hand, and its clients.

use crate::{
    cluster::Cluster,
    gateway::Behaviour,
    history::History,
    lab::Lab,
    load::{Load, Plan, get},
    rollout::{PATIENCE, Rollout, declaration, to_eu_3},
    runner::Scene,
    shares::assert_shares,
    shown::shown,
    wait::eventually,
};
use anyhow::{Result, ensure};
use cutover::api::{FleetRolloutStatus, Phase};
use jiff::Timestamp;
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Duration};

/// Requests per second.
const RATE: u32 = 500;

/// Load goes on so long before the first write and after the last.
pub const AROUND: Duration = Duration::from_secs(5);

/// The name that clients call.
pub fn host(service: &str) -> String {
    format!("{service}.example.com")
}

/// The `HTTPRoute` `public`: all requests go to the Service `<service>-eu-1`, which leads to eu-1.
pub async fn to_eu_1(hub: &Cluster, namespace: &str, service: &str) -> Result<()> {
    external_name(hub, namespace, &format!("{service}-eu-1"), &format!("{service}.eu-1.lab")).await?;
    http_route(hub, namespace, "public", service, &format!("{{name: {service}-eu-1, port: 80}}")).await
}

/// One ExternalName Service.
pub async fn external_name(hub: &Cluster, namespace: &str, name: &str, target: &str) -> Result<()> {
    let service = format!(
        "{{apiVersion: v1, kind: Service, metadata: {{name: {name}}},
           spec: {{type: ExternalName, externalName: {target}, ports: [{{name: http, port: 80}}]}}}}"
    );
    hub.apply(namespace, &service).await
}

/// An `HTTPRoute` with one rule for the service's host.
pub async fn http_route(hub: &Cluster, namespace: &str, name: &str, service: &str, backends: &str) -> Result<()> {
    http_route_of(hub, namespace, ("projectcontour", name), service, backends).await
}

/// The same on the Gateway `public` of another namespace than Contour's.
pub async fn http_route_of(
    hub: &Cluster,
    namespace: &str,
    (gateway, name): (&str, &str),
    service: &str,
    backends: &str,
) -> Result<()> {
    let host = host(service);
    let route = format!(
        "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {name}}}
spec:
  parentRefs: [{{namespace: {gateway}, name: public}}]
  hostnames: [{host}]
  rules: [{{backendRefs: [{backends}]}}]
"
    );
    hub.create(namespace, &route).await
}

/// Requests to the service's public name, from the moment on at which it answers.
pub async fn steady_load(to: SocketAddr, service: &str) -> Result<Load> {
    load_to(to, &host(service)).await
}

/// The same by any name.
pub async fn load_to(to: SocketAddr, host: &str) -> Result<Load> {
    eventually("the route", PATIENCE, async || {
        let status = get(to, host, "/").await?;
        ensure!(status == 200, "{status}");
        Ok(())
    })
    .await?;
    Ok(Load::start(Plan { rate: RATE, within: Duration::from_mins(5), ..Plan::new(to, host, u64::MAX) }))
}

/// The same through Envoy.
pub async fn clients(lab: &Lab, service: &str) -> Result<Load> {
    steady_load(lab.contour.address, service).await
}

/// From now on this member gets every request.
pub async fn all_at(scene: &Scene, load: &Load, member: &str) -> Result<()> {
    let before = scene.observed(&scene.namespace);
    load.sends(2_100).await?;
    assert_shares(&before, &scene.observed(&scene.namespace), &[(member, 100)])
}

/// A rollout at rest on eu-1, by the HTTPRoute `public`, with its clients and its history.
pub struct Stage<'s> {
    pub scene: &'s Scene,
    pub rollout: Rollout<'s>,
    pub load: Load,
    pub history: History,
    pub routes: Api<DynamicObject>,
}

impl<'s> Stage<'s> {
    /// `more` is merged into the declaration's `spec`.
    pub async fn begin(scene: &'s Scene, more: Value) -> Result<Self> {
        let name = &scene.namespace;
        to_eu_1(&scene.hub, name, name).await?;
        let mut declared = declaration(name, &json!({"gatewayAPI": {"name": "public"}}));
        json_patch::merge(&mut declared["spec"], &more);
        let rollout = Rollout::declare(scene, name, &declared).await?;
        rollout.phase(Phase::Initialized).await?;
        let load = clients(scene, name).await?;
        let routes = scene.hub.api("gateway.networking.k8s.io/v1", "HTTPRoute", name).await?;
        let history = History::start(routes.clone(), "public").await?;
        Ok(Self { scene, rollout, load, history, routes })
    }

    /// Declares eu-3 as the only member, and waits until it has what the first step gives it.
    pub async fn first_step(&self) -> Result<FleetRolloutStatus> {
        self.rollout.edit(json!({"members": to_eu_3()})).await?;
        self.rollout.applied(1).await
    }

    /// The service as members know it.
    pub fn service(&self) -> &str {
        &self.scene.namespace
    }

    pub fn behave(&self, member: &str, fail_every: Option<u64>) {
        let behaviour = Behaviour { fail_every, ..Behaviour::default() };
        self.scene.member(member).gateway.behave(self.service(), behaviour);
    }

    /// What the route gave eu-3 since it is watched, and when.
    pub fn weights(&self) -> Vec<(Timestamp, u32)> {
        let entries = self.history.entries().into_iter();
        let states = entries.filter_map(|entry| Some((entry.at, shown(&entry.object?, self.service()))));
        let mut weights: Vec<_> =
            states.map(|(at, shown)| (at, shown.get("eu-3").copied().unwrap_or_default())).collect();
        weights.dedup_by_key(|(_, weight)| *weight);
        weights
    }

    /// The weights alone, in their order.
    pub fn expect_weights(&self, expected: &[u32]) -> Result<()> {
        let weights: Vec<u32> = self.weights().into_iter().map(|(_, weight)| weight).collect();
        ensure!(weights == expected, "eu-3 had the weights {weights:?}, not {expected:?}");
        Ok(())
    }

    /// Sets the route's weights as a person does who edits it.
    pub async fn edit_weights(&self, manager: &str, eu_1: u32, eu_3: u32) -> Result<()> {
        let name = self.service();
        let backends = json!([{"name": format!("{name}-eu-1"), "port": 80, "weight": eu_1}, {"name": format!("{name}-eu-3"), "port": 80, "weight": eu_3}]);
        let parameters = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        let patch = json!({"spec": {"rules": [{"backendRefs": backends}]}});
        self.routes.patch("public", &parameters, &Patch::Merge(patch)).await?;
        Ok(())
    }
}
