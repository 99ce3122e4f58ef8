//! A Service that its owner points from eu-1 to eu-3, on every data plane: it fails and is taken back, and when somebody
//! asks for it again it is promoted.

use super::mirror::observed;
use crate::{
    gateway::Behaviour,
    history::History,
    load::{Load, Totals},
    rollout::{Rollout, declaration},
    runner::{Place, Scene, Test},
    shares::{assert_shares, percent},
    shown::shown,
    stage::{AROUND, all_at, host, http_route, steady_load},
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};
use std::net::SocketAddr;

pub const TESTS: &[Test] = &[
    Test { name: "service_mode_by_http_route", place: Place::Shared, run: |scene| Box::pin(by_http_route(scene)) },
    Test { name: "service_mode_by_http_proxy", place: Place::Shared, run: |scene| Box::pin(by_http_proxy(scene)) },
    Test { name: "service_mode_by_route_group", place: Place::Shared, run: |scene| Box::pin(by_route_group(scene)) },
    Test {
        name: "service_mode_by_ingress_per_member",
        place: Place::Shared,
        run: |scene| Box::pin(by_ingresses(scene)),
    },
    Test { name: "service_mode_by_adopted_ingress", place: Place::Shared, run: |scene| Box::pin(by_adopted(scene)) },
    Test { name: "service_mode_mirrored", place: Place::Shared, run: |scene| Box::pin(mirrored(scene)) },
];

/// The canary's share at each step.
pub const SHARES: [u32; 3] = [10, 30, 50];
const POINTS: f64 = 5.0;
/// Percent of all requests that are copied.
const COPIED: u32 = 50;

/// Which route is used, and where its requests go.
pub struct Plane {
    pub to: SocketAddr,
    pub route: Value,
    /// API version, kind and name of the object whose history tells.
    pub watched: (&'static str, &'static str, String),
    /// It is there before the rollout, and answers.
    pub serves: bool,
}

/// An adopted `HTTPRoute` that names the owner's Service itself.
async fn by_http_route(scene: Scene) -> Result<()> {
    let owner = Owner::new(&scene).await?;
    let name = &scene.namespace;
    http_route(&scene.hub, name, "public", name, &format!("{{name: {name}, port: 80}}")).await?;
    let watched = ("gateway.networking.k8s.io/v1", "HTTPRoute", "public".to_owned());
    let route = json!({"gatewayAPI": {"name": "public"}});
    tell(&scene, owner, Plane { to: scene.contour.address, route, watched, serves: true }).await
}

/// An adopted `HTTPProxy` that names the owner's Service itself.
async fn by_http_proxy(scene: Scene) -> Result<()> {
    let owner = Owner::new(&scene).await?;
    http_proxy(&scene).await?;
    let watched = ("projectcontour.io/v1", "HTTPProxy", "public".to_owned());
    let route = json!({"contour": {"name": "public"}});
    tell(&scene, owner, Plane { to: scene.contour.address, route, watched, serves: true }).await
}

async fn http_proxy(scene: &Scene) -> Result<()> {
    let name = &scene.namespace;
    let proxy = json!({
        "apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": {"name": "public"},
        "spec": {"virtualhost": {"fqdn": host(name)}, "routes": [{"services": [{"name": name, "port": 80}]}]},
    });
    scene.hub.create(name, &proxy.to_string()).await
}

/// A `RouteGroup` that the hub makes; it holds the addresses themselves.
async fn by_route_group(scene: Scene) -> Result<()> {
    let owner = Owner::new(&scene).await?;
    let route = json!({"skipper": {"create": {"hosts": [host(&scene.namespace)]}}});
    let watched = ("zalando.org/v1", "RouteGroup", scene.namespace.clone());
    tell(&scene, owner, Plane { to: scene.skipper.address, route, watched, serves: false }).await
}

async fn by_ingresses(scene: Scene) -> Result<()> {
    let owner = Owner::new(&scene).await?;
    let route = json!({"skipper": {"form": "IngressPerMember", "create": {"hosts": [host(&scene.namespace)]}}});
    let watched = ("networking.k8s.io/v1", "Ingress", format!("{}-canary", scene.namespace));
    tell(&scene, owner, Plane { to: scene.skipper.address, route, watched, serves: false }).await
}

/// An adopted Ingress that names the owner's Service itself.
async fn by_adopted(scene: Scene) -> Result<()> {
    let owner = Owner::new(&scene).await?;
    let name = &scene.namespace;
    scene.hub.create(name, &ingress(name, "public-primary", &host(name)).to_string()).await?;
    let route = json!({"skipper": {"form": "IngressPerMember", "name": "public"}});
    let watched = ("networking.k8s.io/v1", "Ingress", "public-canary".to_owned());
    tell(&scene, owner, Plane { to: scene.skipper.address, route, watched, serves: true }).await
}

/// The Service as its owner wrote it last.
pub struct Owner {
    services: Api<DynamicObject>,
    written: DynamicObject,
}

impl Owner {
    /// It leads to eu-1.
    pub async fn new(scene: &Scene) -> Result<Self> {
        let services = scene.hub.api("v1", "Service", &scene.namespace).await?;
        let written = write(&services, &scene.namespace, "eu-1").await?;
        Ok(Self { services, written })
    }

    async fn points_at(&mut self, member: &str) -> Result<()> {
        self.written = write(&self.services, &self.written.name_any(), member).await?;
        Ok(())
    }

    /// Nobody but its owner has written it.
    async fn is_alone(&self) -> Result<()> {
        let live = self.services.get(&self.written.name_any()).await?;
        ensure!(live.resource_version() == self.written.resource_version(), "{live:?} is not {:?}", self.written);
        Ok(())
    }

    /// Where the Services of primary and canary lead.
    async fn copies_lead(&self, primary: &str, canary: &str) -> Result<()> {
        let service = self.written.name_any();
        for (copy, member) in [("primary", primary), ("canary", canary)] {
            let name = format!("{service}-{copy}");
            let leads = self.services.get(&name).await?.data["spec"]["externalName"].clone();
            ensure!(leads == json!(target(&service, member)), "{name} leads to {leads}, not to {member}");
        }
        Ok(())
    }
}

fn target(service: &str, member: &str) -> String {
    format!("{service}.{member}.lab")
}

/// As an owner does with `kubectl apply`: both lines at once.
async fn write(services: &Api<DynamicObject>, name: &str, member: &str) -> Result<DynamicObject> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "annotations": {"cutover.dev/member": member}},
        "spec": {"type": "ExternalName", "externalName": target(name, member), "ports": [{"name": "http", "port": 80}]},
    });
    Ok(services.patch(name, &PatchParams::apply("owner"), &Patch::Apply(&service)).await?)
}

pub async fn tell(scene: &Scene, mut owner: Owner, plane: Plane) -> Result<()> {
    let name = &scene.namespace;
    let (api_version, kind, object) = plane.watched;
    let history = History::start(scene.hub.api(api_version, kind, name).await?, &object).await?;
    let before = if plane.serves { Some(steady_load(plane.to, name).await?) } else { None };
    let rollout = Rollout::declare(scene, name, &declared(name, &plane.route)).await?;
    let load = match before {
        Some(load) => load,
        None => steady_load(plane.to, name).await?,
    };
    rollout.phase(Phase::Initialized).await?;
    owner.is_alone().await?;
    owner.copies_lead("eu-1", "eu-1").await?;

    load.goes_on_for(AROUND).await?;
    owner.points_at("eu-3").await?;
    rollout.applied(2).await?;
    behave(scene, Some(5));
    rollout.stands(Phase::Failed, Reason::ChecksFailed).await?;
    all_at(scene, &load, "eu-1").await?;
    owner.copies_lead("eu-1", "eu-3").await?;
    assert_only_the_canary_failed(&load.stop().await)?;

    behave(scene, None);
    let load = steady_load(plane.to, name).await?;
    rollout.ask(Verb::Retry).await?;
    for (step, share) in (1..).zip(SHARES) {
        judge(scene, &rollout, &load, step, share).await?;
    }
    rollout.phase(Phase::Succeeded).await?;
    owner.copies_lead("eu-3", "eu-3").await?;
    all_at(scene, &load, "eu-3").await?;
    load.goes_on_for(AROUND).await?;
    load.stop().await.assert_all_ok()?;
    owner.is_alone().await?;
    assert_rises(&history, name)
}

/// Service mode is a rollout without members.
pub fn declared(name: &str, route: &Value) -> Value {
    let mut declared = declaration(name, route);
    let strategy = json!({"bake": "3s", "ramp": {"stepWeights": SHARES}});
    let spec = json!({"members": null, "strategy": strategy, "analysis": {"failures": {"limit": 1, "within": 1}}});
    declared["spec"]["strategy"] = Value::Null;
    json_patch::merge(&mut declared["spec"], &spec);
    declared
}

pub fn behave(scene: &Scene, fail_every: Option<u64>) {
    let behaviour = Behaviour { fail_every, ..Behaviour::default() };
    scene.member("eu-3").gateway.behave(&scene.namespace, behaviour);
}

/// The run stands still at a step until 2,000 requests were counted.
pub async fn judge(scene: &Scene, rollout: &Rollout<'_>, load: &Load, step: u32, share: u32) -> Result<()> {
    rollout.applied(step).await?;
    rollout.ask(Verb::Pause).await?;
    let before = scene.observed(&scene.namespace);
    load.sends(2_100).await?;
    assert_shares(&before, &scene.observed(&scene.namespace), &[("eu-1", 100 - share), ("eu-3", share)])?;
    let paused = rollout.phase(Phase::Paused).await?;
    ensure!(paused.run.is_some_and(|run| run.step() == step), "the run went on from step {step} in the meantime");
    rollout.ask(Verb::Resume).await
}

/// Every request was answered by a member, and with an error only where the canary was made to fail.
pub fn assert_only_the_canary_failed(totals: &Totals) -> Result<()> {
    let by_member = totals.by_status.keys().all(|status| [200, 500].contains(status));
    ensure!(by_member && totals.failed == 0, "not every request was answered by a member: {totals:?}");
    Ok(())
}

/// Every state that anybody could have seen: once back at once, and once through all steps, where the primary has nothing
/// while it is changed.
pub fn assert_rises(history: &History, service: &str) -> Result<()> {
    let states = history.entries().into_iter().filter_map(|entry| Some(shown(&entry.object?, service)));
    let shares = states.map(|shown| shown.get("canary").copied().unwrap_or_default());
    let mut shares: Vec<u32> = shares.skip_while(|share| *share == 0).collect();
    shares.dedup();
    ensure!(shares == [10, 30, 0, 10, 30, 50, 100, 0], "the canary had {shares:?}");
    Ok(())
}

/// The canary gets copies before it answers anybody. It fails on them, and no user sees that; the next time it passes.
async fn mirrored(scene: Scene) -> Result<()> {
    let mut owner = Owner::new(&scene).await?;
    http_proxy(&scene).await?;
    let name = &scene.namespace;
    let mut declared = declared(name, &json!({"contour": {"name": "public"}}));
    declared["spec"]["strategy"]["ramp"] = json!({"stepWeights": [50], "mirror": true, "mirrorWeight": COPIED});
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = steady_load(scene.contour.address, name).await?;

    behave(&scene, Some(3));
    owner.points_at("eu-3").await?;
    rollout.stands(Phase::Failed, Reason::ChecksFailed).await?;
    let (served, copies) = observed(&scene, "eu-3");
    ensure!(served == 0 && copies > 0, "eu-3 answered {served} requests and got {copies} copies");

    behave(&scene, None);
    rollout.ask(Verb::Retry).await?;
    rollout.applied(1).await?;
    rollout.ask(Verb::Pause).await?;
    let (before, (_, had)) = (load.so_far(), observed(&scene, "eu-3"));
    load.sends(2_100).await?;
    let (after, (served, copies)) = (load.so_far(), observed(&scene, "eu-3"));
    ensure!(served == 0, "eu-3 answered {served} requests while it should get copies only");
    let share = percent(copies - had, after.sent - before.sent);
    ensure!((share - f64::from(COPIED)).abs() <= POINTS, "eu-3 got copies of {share:.1} % of all requests");
    owner.copies_lead("eu-1", "eu-3").await?;
    rollout.ask(Verb::Resume).await?;

    rollout.phase(Phase::Succeeded).await?;
    owner.copies_lead("eu-3", "eu-3").await?;
    let (_, ended) = observed(&scene, "eu-3");
    all_at(&scene, &load, "eu-3").await?;
    let (_, copies) = observed(&scene, "eu-3");
    ensure!(copies == ended, "promoted, eu-3 got {} copies", copies - ended);
    owner.is_alone().await?;
    load.stop().await.assert_all_ok()
}

/// An Ingress of Skipper that names the Service.
pub fn ingress(service: &str, name: &str, host: &str) -> Value {
    let backend = json!({"service": {"name": service, "port": {"name": "http"}}});
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "annotations": {"kubernetes.io/ingress.class": "skipper"}},
        "spec": {"rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]},
    })
}
