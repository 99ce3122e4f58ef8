//! A hub's API server that has too much to do: it works for a twelfth of the time, while forty rollouts go on.

use crate::{
    apiserver::HUB_USER,
    cluster::Cluster,
    history::History,
    rollout::{PATIENCE, Rollout, declaration, promoted_steps, steps, to_eu_3},
    runner::{Place, Scene, Test},
    shown::shown,
    stage::{external_name, http_route},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{FleetRollout, Phase, Reason, Verb};
use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};
use kube::{Api, ResourceExt, api::ListParams};
use serde_json::json;
use std::{
    future::pending,
    time::{Duration, Instant},
};

pub const TESTS: &[Test] = &[Test {
    name: "an_overload_ends_no_run_and_delays_no_rollback",
    place: Place::Alone,
    run: |scene| Box::pin(overload(scene)),
}];

const ROLLOUTS: usize = 40;
/// The API server works for so long, and then does not.
const WORKS: Duration = Duration::from_millis(20);
const STANDS: Duration = Duration::from_millis(220);
const LASTS: Duration = seconds(24);
/// A rollback is two calls and the word that it is wanted; each may meet a server that stands.
const ROLLBACK: Duration = seconds(5);

async fn overload(scene: Scene) -> Result<()> {
    let names: Vec<String> = (0..ROLLOUTS).map(|number| format!("shop-{number}")).collect();
    let rollouts: Vec<Rollout<'_>> =
        stream::iter(&names).map(|name| begin(&scene, name)).buffered(8).try_collect().await?;
    for rollout in &rollouts {
        rollout.phase(Phase::Initialized).await?;
    }
    let routes = scene.hub.api("gateway.networking.k8s.io/v1", "HTTPRoute", &scene.namespace).await?;
    let history = History::start(routes, &names[0]).await?;
    let first = json!({"members": to_eu_3(), "strategy": {"steps": promoted_steps(&[10, 100])}});
    rollouts[0].edit(first).await?;
    rollouts[0].phase(Phase::WaitingPromotion).await?;
    try_join_all(rollouts[1..].iter().map(|rollout| rollout.edit(json!({"members": to_eu_3()})))).await?;
    let before = written(&scene)?;

    let rollback = tokio::select! {
        rollback = beside_the_overload(&rollouts[0], &names[0], &history) => rollback,
        error = overloaded(&scene.hub) => error,
    };
    scene.hub.server.resume().await?;
    let rollback = rollback?;
    let written = written(&scene)? - before;
    println!("lab: {}: a rollback took {rollback:.1?}, beside {written} writes", scene.namespace);
    ensure!(rollback <= ROLLBACK, "a rollback took {rollback:?}");
    every_other_run_succeeds(&scene).await
}

/// A service of its own at eu-1, with its route and a rollout whose canary always passes.
async fn begin<'s>(scene: &'s Scene, name: &str) -> Result<Rollout<'s>> {
    let namespace = &scene.namespace;
    external_name(&scene.hub, namespace, &format!("{name}-eu-1"), &format!("{name}.eu-1.lab")).await?;
    http_route(&scene.hub, namespace, name, name, &format!("{{name: {name}-eu-1, port: 80}}")).await?;
    let mut declared = declaration(name, &json!({"gatewayAPI": {"name": name}}));
    declared["spec"]["strategy"]["steps"] = steps(&[10, 30, 60, 100]);
    declared["spec"]["analysis"]["metrics"] = json!([{"name": "none", "query": "vector(0)", "perMember": {"max": 1}}]);
    Rollout::declare(scene, namespace, &declared).await
}

/// A person aborts in the midst of the overload; how long it took until the route showed it.
async fn beside_the_overload(rollout: &Rollout<'_>, name: &str, history: &History) -> Result<Duration> {
    tokio::time::sleep(LASTS / 2).await;
    rollout.request(Verb::Abort).await?;
    let requested_at = Instant::now();
    let took = without_canary(name, history, requested_at).await;
    tokio::time::sleep((LASTS / 2).saturating_sub(requested_at.elapsed())).await;
    took
}

async fn without_canary(name: &str, history: &History, since: Instant) -> Result<Duration> {
    eventually("the rollback of a route", PATIENCE, async || {
        let last = history.entries().pop().and_then(|entry| entry.object).context("no route")?;
        let canary = shown(&last, name).get("eu-3").copied().unwrap_or_default();
        ensure!(canary == 0, "eu-3 has {canary}");
        Ok(since.elapsed())
    })
    .await
}

/// Statuses of rollouts and routes that the hub has written.
fn written(scene: &Scene) -> Result<usize> {
    let requests = scene.hub.requests(HUB_USER)?;
    Ok(requests.iter().filter(|request| request.verb == "update" && request.code() < 300).count())
}

/// Never ends but by an error.
async fn overloaded(hub: &Cluster) -> Result<Duration> {
    loop {
        hub.server.pause().await?;
        tokio::time::sleep(STANDS).await;
        hub.server.resume().await?;
        tokio::time::sleep(WORKS).await;
    }
}

/// No run was taken back, held or failed by the overload.
async fn every_other_run_succeeds(scene: &Scene) -> Result<()> {
    let all = Api::<FleetRollout>::namespaced(scene.hub.client.clone(), &scene.namespace);
    eventually("the end of all runs", seconds(150), async || {
        for rollout in all.list(&ListParams::default()).await?.items {
            let (name, status) = (rollout.name_any(), rollout.status.unwrap_or_default());
            let skewed = status.transitions.iter().find(|transition| transition.reason == Reason::Skewed);
            if let Some(skewed) = skewed {
                println!("lab: {name}: {}", skewed.message);
                return pending().await;
            }
            let expected = if name.ends_with("-0") { Phase::RolledBack } else { Phase::Succeeded };
            ensure!(status.phase == expected, "{name}: {:?}, {}: {}", status.phase, status.reason, status.message);
        }
        Ok(())
    })
    .await
}
