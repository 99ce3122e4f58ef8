//! Users stay where they were sent, and a weight is the part of all users that a member has.

use crate::{
    rollout::{PATIENCE, Rollout, declaration, promoted_steps, to_eu_3},
    runner::{Place, Scene, Test},
    shares::percent,
    stage::{host, steady_load, to_eu_1},
    users::{Users, Whereabouts},
    wait::eventually,
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Reason, Verb};
use serde_json::{Value, json};
use std::net::SocketAddr;

pub const TESTS: &[Test] = &[
    Test { name: "session_affinity_by_http_route", place: Place::Shared, run: |scene| Box::pin(by_http_route(scene)) },
    Test {
        name: "session_affinity_by_route_group",
        place: Place::Shared,
        run: |scene| Box::pin(by_route_group(scene)),
    },
];

const USERS: usize = 2_000;
const COOKIE: &str = "lab-cluster";

async fn by_http_route(scene: Scene) -> Result<()> {
    to_eu_1(&scene.hub, &scene.namespace, &scene.namespace).await?;
    tell(&scene, scene.contour.address, "HTTPRoute", &json!({"gatewayAPI": {"name": "public"}})).await
}

async fn by_route_group(scene: Scene) -> Result<()> {
    let route = json!({"skipper": {"form": "RouteGroup", "create": {"hosts": [host(&scene.namespace)]}}});
    tell(&scene, scene.skipper.address, "RouteGroup", &route).await
}

pub async fn tell(scene: &Scene, to: SocketAddr, kind: &str, route: &Value) -> Result<()> {
    let name = &scene.namespace;
    let mut declared = declaration(name, route);
    declared["spec"]["strategy"]["steps"] = promoted_steps(&[10, 30, 50, 100]);
    declared["spec"]["strategy"]["sessionAffinity"] = json!({"cookieName": COOKIE});
    let rollout = Rollout::declare(scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = steady_load(to, name).await?;
    let mut users = Users::new(USERS, to, &host(name));
    let before = users.visit(scene).await?;
    ensure!(!users.have(COOKIE), "cookies are given in runs only");

    rollout.edit(json!({"members": to_eu_3()})).await?;
    let first = step(&rollout, scene, &mut users, &before, (1, 10)).await?;
    ensure!(users.have(COOKIE) && users.have("basket"), "the route's cookie stands beside the application's");
    rollout.ask(Verb::Promote).await?;
    let second = step(&rollout, scene, &mut users, &first, (2, 30)).await?;
    rollout.ask(Verb::Rollback).await?;
    rollout.phase(Phase::RolledBack).await?;
    ensure!(second.contains(&"eu-3"), "somebody was to be taken back");
    let back = all_at(scene, &mut users, "eu-1").await?;

    rollout.ask(Verb::Retry).await?;
    let mut last = back;
    for (number, share) in (1..).zip([10, 30, 50]) {
        last = step(&rollout, scene, &mut users, &last, (number, share)).await?;
        rollout.ask(Verb::Promote).await?;
    }
    rollout.at_step(4).await?;
    rollout.phase(Phase::WaitingPromotion).await?;
    rollout.ask(Verb::Promote).await?;
    rollout.stands(Phase::Succeeded, Reason::RunSucceeded).await?;
    all_at(scene, &mut users, "eu-3").await?;
    load.stop().await.assert_all_ok()?;
    nothing_is_left(scene, kind).await
}

/// At this step so many percent of the users are at eu-3, everybody stays where he is, and nobody went back to eu-1.
async fn step(
    rollout: &Rollout<'_>,
    scene: &Scene,
    users: &mut Users,
    before: &Whereabouts,
    (number, share): (u32, u32),
) -> Result<Whereabouts> {
    rollout.at_step(number).await?;
    let (one, other) = (users.visit(scene).await?, users.visit(scene).await?);
    ensure!(one == other, "somebody was sent to two members within step {number}");
    let went_back = before.iter().zip(&one).filter(|(before, now)| **before == "eu-3" && **now != "eu-3").count();
    ensure!(went_back == 0, "{went_back} users were taken away from eu-3 at step {number}");
    let there = one.iter().filter(|member| **member == "eu-3").count();
    let found = percent(u64::try_from(there)?, u64::try_from(USERS)?);
    ensure!((found - f64::from(share)).abs() <= 5.0, "{found:.1} % of the users are at eu-3, not {share} %");
    rollout.phase(Phase::WaitingPromotion).await?;
    Ok(one)
}

/// From some moment on, whatever cookies they have.
async fn all_at(scene: &Scene, users: &mut Users, member: &str) -> Result<Whereabouts> {
    eventually(&format!("all users at {member}"), PATIENCE, async || {
        let found = users.visit(scene).await?;
        let elsewhere = found.iter().filter(|at| **at != member).count();
        ensure!(elsewhere == 0, "{elsewhere} are elsewhere");
        Ok(found)
    })
    .await
}

async fn nothing_is_left(scene: &Scene, kind: &str) -> Result<()> {
    let group = match kind {
        "HTTPRoute" => "gateway.networking.k8s.io/v1",
        "VirtualService" => "networking.istio.io/v1",
        _ => "zalando.org/v1",
    };
    let routes = scene.hub.api(group, kind, &scene.namespace).await?.list(&kube::api::ListParams::default()).await?;
    let text = serde_json::to_string(&routes.items)?;
    ensure!(routes.items.len() == 1 && !text.contains(COOKIE), "{text}");
    Ok(())
}
