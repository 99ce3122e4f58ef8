//! Two tenants query one member, and what it answers to the second would harm a hub that let it.

use super::{
    proxy::{Malice, Proxy},
    rights::{create, grant_authorship, lend, withdraw},
};
use crate::{
    apiserver::TENANTS,
    rollout::{PATIENCE, Rollout, declaration, steps},
    runner::Scene,
    stage::{Stage, all_at, host},
    wait::eventually,
};
use anyhow::{Result, ensure};
use cutover::api::Phase;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// eu-3 as the second tenant lends it.
const LENT: &str = "lent-and-slow";

/// Rollouts of the second tenant, and metrics of each: more queries than may be under way at one member.
const ROLLOUTS: usize = 3;
const METRICS: usize = 3;

/// What the hub may need more while an answer has 29,000 series, in MiB, beside what other tests make it do.
const MORE_MEMORY: u64 = 96;
/// By so much a run may be longer than without the other tenant: other tests share the machine.
const MORE_TIME: Duration = Duration::from_secs(6);

/// The first tenant's runs take as long as alone, and the hub's memory stays what it was, while the second one's queries are
/// answered after half a minute, or with more than a megabyte each.
pub async fn beside_a_hostile_one(scene: Scene) -> Result<()> {
    let (name, hostile) = (&scene.namespace, format!("{}-b", scene.namespace));
    let proxy = Proxy::pass_on(scene.member("eu-3").prometheus.url(), None).await?;
    let allowed = json!({"from": "Names", "names": [name, hostile]});
    let members = lend(&scene, LENT, &json!({"address": proxy.address("http")}), &allowed).await?;
    let stage = Stage::begin(&scene, json!({"strategy": {"bake": "3s", "steps": steps(&[10, 50, 100])}})).await?;

    scene.process.peak_memory().await?;
    let alone = run(&stage, 0).await?;
    let before = scene.process.peak_memory().await?;
    let others = move_in(&scene, &hostile).await?;
    let mut measured = Vec::new();
    for (number, malice) in [Malice::Slow, Malice::Floods].into_iter().enumerate() {
        let harmed = proxy.harmed();
        proxy.turn(&hostile, malice);
        let is_harmed = async || {
            ensure!(proxy.harmed() > harmed + 4, "{} queries of the other tenant", proxy.harmed() - harmed);
            Ok(())
        };
        eventually("queries of the other tenant", PATIENCE, is_harmed).await?;
        let took = run(&stage, number + 1).await?;
        measured.push((malice, took, scene.process.peak_memory().await?));
    }
    println!("lab: {name}: alone {alone:.1?}, at most {before} MiB; then {measured:.1?}");
    for (malice, took, memory) in measured {
        ensure!(took <= alone + MORE_TIME, "{malice:?}: a run took {took:?}, and {alone:?} alone");
        ensure!(memory <= before + MORE_MEMORY, "{malice:?}: {memory} MiB, and {before} MiB before");
    }
    all_at(&scene, &stage.load, "eu-3").await?;
    for other in others {
        other.delete().await?;
        other.is_gone().await?;
    }
    stage.rollout.delete().await?;
    stage.rollout.is_gone().await?;
    withdraw(&scene, &members, LENT).await?;
    stage.load.stop().await.assert_all_ok()
}

/// A whole run of the first tenant's, to the member that is lent and back in turns; how long it took.
async fn run(stage: &Stage<'_>, number: usize) -> Result<Duration> {
    let began = Instant::now();
    let [here, lent] = if number.is_multiple_of(2) { [0, 100] } else { [100, 0] };
    let members = json!([{"name": "eu-1", "weight": here, "initialWeight": 100},
                         {"name": LENT, "weight": lent, "initialWeight": 0}]);
    let runs = stage.rollout.status().await?.last_run();
    stage.rollout.edit(json!({ "members": members })).await?;
    let ended = |status: &cutover::api::FleetRolloutStatus| {
        status.last_run() > runs && [Phase::Succeeded, Phase::Failed].contains(&status.phase)
    };
    let status = stage.rollout.until("the end of a run", ended).await?;
    ensure!(status.phase == Phase::Succeeded, "{:?}: {}", status.phase, status.message);
    Ok(began.elapsed())
}

/// The second tenant's rollouts, each under way to the same member, with many metrics.
async fn move_in<'s>(scene: &'s Scene, namespace: &str) -> Result<Vec<Rollout<'s>>> {
    scene.hub.create_namespace(namespace).await?;
    grant_authorship(scene, namespace, TENANTS[1]).await?;
    let tenant = scene.hub.client_as(TENANTS[1]).await?;
    let mut rollouts = Vec::new();
    for number in 0..ROLLOUTS {
        let service = format!("{namespace}-{number}");
        for object in [backend(&service), route(&service), hostile_rollout(&service)] {
            create(&tenant, namespace, &object).await?;
        }
        rollouts.push(Rollout::of(scene, namespace, &service));
    }
    Ok(rollouts)
}

fn backend(service: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("{service}-eu-1")},
           "spec": {"type": "ExternalName", "externalName": format!("{service}.eu-1.lab"),
                    "ports": [{"name": "http", "port": 80}]}})
}

fn route(service: &str) -> Value {
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": service},
           "spec": {"parentRefs": [{"namespace": "projectcontour", "name": "public"}], "hostnames": [host(service)],
                    "rules": [{"backendRefs": [{"name": format!("{service}-eu-1"), "port": 80}]}]}})
}

fn hostile_rollout(service: &str) -> Value {
    let mut declared = declaration(service, &json!({"gatewayAPI": {"name": service}}));
    let errors = declared["spec"]["analysis"]["metrics"][0].clone();
    let metric = |number: usize| {
        let mut metric = errors.clone();
        metric["name"] = format!("errors-{number}").into();
        // A query that several metrics share is sent once.
        let failed =
            metric["ratio"]["numerator"].as_str().unwrap_or_default().replace("5..", &format!("5..|42{number}"));
        metric["ratio"]["numerator"] = failed.into();
        metric
    };
    declared["spec"]["analysis"]["metrics"] = (0..METRICS).map(metric).collect();
    declared["spec"]["members"] = json!([{"name": "eu-1", "weight": 0, "initialWeight": 100},
                                         {"name": LENT, "weight": 100, "initialWeight": 0}]);
    declared
}
