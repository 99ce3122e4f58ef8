//! Routes whose data planes do not run here: their objects on a real API server, one write after the other. And a
//! Service that is switched, with requests.

use crate::{
    history::{Entry, History},
    lab::member_address,
    load::{Load, Plan},
    rollout::{PATIENCE, Rollout, declaration, promoted_steps, steps, to_eu_3},
    runner::{Place, Scene, Test},
    stage::{all_at, host, steady_load},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

pub const TESTS: &[Test] = &[
    Test { name: "an_ingress_and_its_canary", place: Place::Shared, run: |scene| Box::pin(nginx(scene)) },
    Test { name: "four_rollouts_on_one_alb", place: Place::Alone, run: |scene| Box::pin(alb(scene)) },
    Test { name: "a_service_is_switched", place: Place::Shared, run: |scene| Box::pin(switched(scene)) },
    Test {
        name: "a_service_is_switched_to_the_canary",
        place: Place::Shared,
        run: |scene| Box::pin(switched_to_canary(scene)),
    },
];

const ORDER: &str = "alb.ingress.kubernetes.io/order";
/// Two that took one number at once have parted after this time.
const PARTED: Duration = seconds(5);

/// An Ingress of a class that no data plane here knows, with one path to the Service `<service>-eu-1`.
async fn stable(scene: &Scene, name: &str, service: &str) -> Result<()> {
    let host = host(service);
    let path = json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": format!("{service}-eu-1"), "port": {"number": 80}}}});
    let ingress = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name},
        "spec": {"ingressClassName": "elsewhere", "rules": [{"host": host, "http": {"paths": [path]}}]},
    });
    scene.hub.create(&scene.namespace, &ingress.to_string()).await
}

/// Requests that reach the members past any route, so that there is something to judge.
fn direct(service: &str) -> [Load; 2] {
    ["eu-1", "eu-3"].map(|member| {
        let plan = Plan::new((member_address(member), 80).into(), &host(service), u64::MAX);
        Load::start(Plan { rate: 50, within: Duration::from_mins(5), ..plan })
    })
}

async fn ingresses(scene: &Scene) -> Result<Api<DynamicObject>> {
    scene.hub.api("networking.k8s.io/v1", "Ingress", &scene.namespace).await
}

/// Where an Ingress led, without repeats.
fn led(history: &History) -> Vec<(String, u64)> {
    let to = |entry: Entry| {
        let object = entry.object?;
        let name = object.data.pointer("/spec/rules/0/http/paths/0/backend/service/name")?.as_str()?.to_owned();
        Some((name, entry.resource_version.parse().ok()?))
    };
    let mut all: Vec<_> = history.entries().into_iter().filter_map(to).collect();
    all.dedup_by(|later, earlier| later.0 == earlier.0);
    all
}

async fn nginx(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    stable(&scene, "public", name).await?;
    let loads = direct(name);
    let ingresses = ingresses(&scene).await?;
    let (kept, taken) =
        (History::start(ingresses.clone(), "public").await?, History::start(ingresses.clone(), "public-canary").await?);
    let mut declared = declaration(name, &json!({"nginx": {"name": "public"}}));
    declared["spec"]["strategy"]["steps"] = steps(&[10, 50, 100]);
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    rollout.edit(json!({"members": to_eu_3()})).await?;
    rollout.phase(Phase::Succeeded).await?;

    let share = |entry: &Entry| {
        let weight = |object: &DynamicObject| object.annotations()["nginx.ingress.kubernetes.io/canary-weight"].clone();
        entry.object.as_ref().map(weight)
    };
    let mut shares: Vec<_> = taken.entries().iter().map(share).collect();
    shares.dedup();
    ensure!(shares == [Some("10".to_owned()), Some("50".to_owned()), None], "the canary had {shares:?}");
    let stations = led(&kept);
    let names: Vec<&str> = stations.iter().map(|(name, _)| name.as_str()).collect();
    ensure!(names == [format!("{name}-eu-1"), format!("{name}-eu-3")], "the stable Ingress led to {names:?}");
    let gone: u64 = taken.entries().last().context("no canary")?.resource_version.parse()?;
    ensure!(stations[1].1 < gone, "the canary went before the stable Ingress led to eu-3");
    ensure!(led(&taken).iter().all(|(led, _)| *led == format!("{name}-eu-3")), "{:?}", led(&taken));
    for load in loads {
        load.stop().await.assert_all_ok()?;
    }
    Ok(())
}

/// Four applications on one load balancer begin at once; the hub is killed twice, and somebody takes a number.
async fn alb(scene: Scene) -> Result<()> {
    let names = ["a", "b", "c", "d"].map(|letter| format!("{}-{letter}", scene.namespace));
    let mut rollouts = Vec::new();
    let (mut loads, mut histories) = (Vec::new(), Vec::new());
    let ingresses = ingresses(&scene).await?;
    for name in &names {
        stable(&scene, name, name).await?;
        loads.extend(direct(name));
        histories.push(History::start(ingresses.clone(), &format!("{name}-canary")).await?);
        let mut declared = declaration(name, &json!({"aliyunALB": {"name": name}}));
        declared["spec"]["services"][0]["backend"] = json!({"endpointSlice": {}});
        declared["spec"]["strategy"]["steps"] = mixed();
        rollouts.push(Rollout::declare(&scene, &scene.namespace, &declared).await?);
    }
    for rollout in &rollouts {
        rollout.phase(Phase::Initialized).await?;
    }
    futures::future::try_join_all(rollouts.iter().map(|rollout| rollout.edit(json!({"members": to_eu_3()})))).await?;
    scene.process.kill().await?;
    scene.process.open().await?;
    for rollout in &rollouts {
        rollout.phase(Phase::WaitingPromotion).await?;
    }
    let before = orders(&ingresses).await?;
    ensure!(before.len() == 4 && before.values().all(|order| *order < 10), "{before:?}");

    let (owner, number) = before.first_key_value().context("no canary")?;
    takes(&scene, *number).await?;
    eventually("another number", PATIENCE, async || {
        let now = orders(&ingresses).await?;
        ensure!(now.get(owner).is_some_and(|order| order != number), "{now:?}");
        Ok(())
    })
    .await?;
    for rollout in &rollouts {
        rollout.ask(Verb::Promote).await?;
    }
    rollouts[0].applied(2).await?;
    scene.process.kill().await?;
    scene.process.open().await?;
    for rollout in &rollouts {
        rollout.phase(Phase::Succeeded).await?;
    }
    let left = orders(&ingresses).await?;
    ensure!(left.is_empty(), "numbers that were not given back: {left:?}");
    shared_for(&histories)?;
    let took_all = |agent: Option<&str>| Some(("5".to_owned(), agent.map(str::to_owned)));
    for history in &histories {
        let found = took(history);
        ensure!(
            found == [took_all(None), took_all(Some("pc")), took_all(Some("mobile")), None],
            "a canary took {found:?}"
        );
    }
    for load in loads {
        load.stop().await.assert_all_ok()?;
    }
    Ok(())
}

/// A little weight that waits for a person; then requests of one sort, of another, and everything, by itself.
fn mixed() -> Value {
    let by = |agent: &str| json!({"matches": [{"headers": [{"name": "user-agent", "exact": agent}]}], "iterations": 2});
    json!([{"progress": "5%", "wait": "Promotion"}, by("pc"), by("mobile"), {"progress": "100%"}])
}

/// What a canary took, write by write: its share, and the requests that are chosen.
fn took(history: &History) -> Vec<Option<(String, Option<String>)>> {
    let taken = |object: &DynamicObject| {
        let said = |key: &str| object.annotations().get(&format!("alb.ingress.kubernetes.io/{key}")).cloned();
        (said("canary-weight").unwrap_or_default(), said("canary-by-header-value"))
    };
    let mut all: Vec<_> = history.entries().iter().map(|entry| entry.object.as_ref().map(taken)).collect();
    all.dedup();
    all
}

/// Somebody else's Ingress with this number.
async fn takes(scene: &Scene, order: u32) -> Result<()> {
    stable(scene, "foreign", "foreign").await?;
    let patch = json!({"metadata": {"annotations": {ORDER: order.to_string()}}});
    let parameters = kube::api::PatchParams::default();
    ingresses(scene).await?.patch("foreign", &parameters, &kube::api::Patch::Merge(patch)).await?;
    Ok(())
}

fn order(object: &DynamicObject) -> Option<u32> {
    object.annotations().get(ORDER)?.parse().ok()
}

/// The number of every canary that is there; no two are the same.
async fn orders(ingresses: &Api<DynamicObject>) -> Result<BTreeMap<String, u32>> {
    let all = ingresses.list(&ListParams::default()).await?.items;
    let canaries = all.iter().filter(|object| object.name_any().ends_with("-canary"));
    let found: BTreeMap<String, u32> =
        canaries.map(|object| (object.name_any(), order(object).unwrap_or_default())).collect();
    let mut numbers: Vec<u32> = found.values().copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    ensure!(numbers.len() == found.len(), "two canaries share a number: {found:?}");
    Ok(found)
}

/// Nobody shared a number for longer than it takes to see it and to move, with a hub that was killed in between.
fn shared_for(histories: &[History]) -> Result<()> {
    let mut events = Vec::new();
    for (index, history) in histories.iter().enumerate() {
        events.extend(
            history.entries().into_iter().map(|entry| (entry.at, index, entry.object.as_ref().and_then(order))),
        );
    }
    events.sort_by_key(|(at, ..)| *at);
    let mut held: BTreeMap<usize, u32> = BTreeMap::new();
    let mut since = None;
    for (at, index, order) in events {
        if let Some(since) = since {
            let shared = Duration::try_from(at.duration_since(since)).unwrap_or_default();
            ensure!(shared <= PARTED, "two canaries shared a number for {shared:?}: {held:?}");
        }
        match order {
            Some(order) => held.insert(index, order),
            None => held.remove(&index),
        };
        let mut numbers: Vec<&u32> = held.values().collect();
        numbers.sort_unstable();
        let shares = numbers.windows(2).any(|pair| pair[0] == pair[1]);
        since = shares.then(|| since.unwrap_or(at));
    }
    ensure!(since.is_none(), "two canaries share a number at the end: {held:?}");
    Ok(())
}

/// Skipper sends to the Service by its name, wherever it leads.
/// Who reads a Service of the hub's is not known, so nothing tells when: here it is Skipper, which polls twice a second.
const READERS_POLL: Duration = Duration::from_secs(1);

async fn switched(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "called-by-clients"},
        "spec": {"type": "ExternalName", "externalName": format!("{name}.eu-1.lab"), "ports": [{"name": "http", "port": 80}]},
    });
    scene.hub.create(name, &service.to_string()).await?;
    clients_call(&scene, "called-by-clients").await?;
    let mut declared = declaration(name, &json!({"kubernetes": {"name": "called-by-clients"}}));
    declared["spec"]["strategy"]["steps"] = promoted_steps(&[100]);
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = steady_load(scene.skipper.address, name).await?;
    all_at(&scene, &load, "eu-1").await?;
    rollout.edit(json!({"members": to_eu_3()})).await?;
    rollout.applied(1).await?;
    load.goes_on_for(READERS_POLL).await?;
    all_at(&scene, &load, "eu-3").await?;
    rollout.phase(Phase::WaitingPromotion).await?;
    rollout.ask(Verb::Abort).await?;
    rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    load.goes_on_for(READERS_POLL).await?;
    all_at(&scene, &load, "eu-1").await?;
    load.stop().await.assert_all_ok()
}

/// An Ingress that no rollout knows leads clients to this Service.
async fn clients_call(scene: &Scene, service: &str) -> Result<()> {
    let name = &scene.namespace;
    let path =
        json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": service, "port": {"number": 80}}}});
    let ingress = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "public", "annotations": {"kubernetes.io/ingress.class": "skipper"}},
        "spec": {"rules": [{"host": host(name), "http": {"paths": [path]}}]},
    });
    scene.hub.create(name, &ingress.to_string()).await
}

/// Service mode without a proxy: the Service that clients call, which the hub makes, is switched to what was declared, and in a
/// rollback switched back.
async fn switched_to_canary(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let points_at = |member: &str| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "annotations": {"cutover.dev/member": member}},
               "spec": {"type": "ExternalName", "externalName": format!("{name}.{member}.lab"), "ports": [{"name": "http", "port": 80}]}})
    };
    scene.hub.apply(name, &points_at("eu-1").to_string()).await?;
    clients_call(&scene, "called-by-clients").await?;
    let mut declared = declaration(name, &json!({"kubernetes": {"create": {"name": "called-by-clients"}}}));
    declared["spec"]["strategy"] = json!({"ramp": {"iterations": 8}});
    declared["spec"].as_object_mut().context("a spec")?.remove("members");
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = steady_load(scene.skipper.address, name).await?;
    all_at(&scene, &load, "eu-1").await?;
    scene.hub.apply(name, &points_at("eu-3").to_string()).await?;
    rollout.applied(1).await?;
    load.goes_on_for(READERS_POLL).await?;
    all_at(&scene, &load, "eu-3").await?;
    rollout.phase(Phase::Succeeded).await?;
    scene.hub.apply(name, &points_at("eu-1").to_string()).await?;
    rollout
        .until("the second run's step", |status| {
            status.run.as_ref().is_some_and(|run| run.number == 2 && run.step() == 1)
        })
        .await?;
    rollout.ask(Verb::Abort).await?;
    rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    load.goes_on_for(READERS_POLL).await?;
    all_at(&scene, &load, "eu-3").await?;
    load.stop().await.assert_all_ok()
}
