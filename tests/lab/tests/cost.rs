//! What a run costs the hub's API server, read from its audit log.

use crate::{
    apiserver::HUB_USER,
    audit::Request,
    history::History,
    rollout::{Rollout, declaration, steps, to_eu_3},
    runner::{Place, Scene, Test},
    stage::{Stage, clients, host},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{FleetRolloutStatus, MemberCluster, Phase, status::ConditionStatus};
use futures::future::try_join_all;
use kube::{Api, api::ListParams};
use serde_json::json;
use std::collections::BTreeMap;

pub const TESTS: &[Test] = &[
    Test { name: "every_request_of_a_run_is_accounted_for", place: Place::Alone, run: |scene| Box::pin(cost(scene)) },
    Test {
        name: "an_advance_costs_no_more_than_it_did",
        place: Place::Alone,
        run: |scene| Box::pin(of_an_advance(scene)),
    },
];

/// What each advance may cost beside two other rollouts of its namespace: at most, which is a little more than it is, and what
/// it should be. A ceiling is lowered when the cost is.
const COSTS: [(&str, f64, f64); 4] = [
    ("update fleetrollouts/status", 4.5, 2.0),
    // A run also begins with a dry run, and with the canary at weight 0.
    ("update httproutes", 1.5, 1.5),
    ("create events", 1.5, 1.0),
    ("passes", 16.0, 8.0),
];
const TOGETHER: usize = 3;
const STEPS: [u32; 4] = [25, 50, 75, 100];

/// Verb, resource -> requests.
type Counts = BTreeMap<(String, String), usize>;

/// A run of two steps, then a minute in which nothing is desired at all.
async fn cost(scene: Scene) -> Result<()> {
    members_are_healthy(&scene).await?;
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": steps(&[50, 100])}})).await?;
    let rollouts = scene.hub.api("cutover.dev/v1alpha1", "FleetRollout", &scene.namespace).await?;
    let history = History::start(rollouts, stage.service()).await?;
    let before = scene.hub.requests(HUB_USER)?.len();
    let (versions, transitions) = (history.entries().len(), number_of_last(&stage.rollout.status().await?));
    stage.rollout.edit(json!({"members": to_eu_3()})).await?;
    stage.rollout.phase(Phase::Succeeded).await?;

    eventually("what the run took", seconds(15), async || {
        let run = counted(&scene.namespace, &scene.hub.requests(HUB_USER)?[before..]);
        let expected = [
            // Every write of the status is a version that the watch showed; one more version is our edit.
            (("update", "fleetrollouts/status"), history.entries().len() - versions - 1),
            // A dry run, eu-3 at weight 0, and two steps.
            (("update", "httproutes"), 4),
            // The first step's weight is written without another status write, so the rollout is read live before.
            (("get", "fleetrollouts"), 1),
            (("create", "services"), 1),
            (("create", "events"), usize::try_from(number_of_last(&stage.rollout.status().await?) - transitions)?),
        ];
        let named = |((verb, resource), count): ((&str, &str), usize)| ((verb.to_owned(), resource.to_owned()), count);
        let expected: Counts = expected.into_iter().map(named).collect();
        ensure!(run == expected, "it took {run:?}, not {expected:?}");
        Ok(())
    })
    .await?;

    let idle = scene.hub.requests(HUB_USER)?.len();
    stage.load.goes_on_for(seconds(60)).await?;
    let idle = counted(&scene.namespace, &scene.hub.requests(HUB_USER)?[idle..]);
    ensure!(idle.is_empty(), "in a minute of rest: {idle:?}");
    Ok(())
}

/// What a former test broke was seen to be whole again: a member that recovers is a write of its own.
async fn members_are_healthy(scene: &Scene) -> Result<()> {
    let members = Api::<MemberCluster>::all(scene.hub.client.clone());
    eventually("healthy members", seconds(90), async || {
        for member in members.list(&ListParams::default()).await?.items {
            let conditions = member.status.unwrap_or_default().conditions;
            let healthy = conditions.iter().find(|condition| condition.type_ == "Healthy").context("not looked at")?;
            ensure!(
                healthy.status == ConditionStatus::True,
                "{}: {healthy:?}",
                member.metadata.name.unwrap_or_default()
            );
        }
        Ok(())
    })
    .await
}

fn number_of_last(status: &FleetRolloutStatus) -> u64 {
    status.transitions.last().map_or(0, |transition| transition.number)
}

/// All but the Lease and watches, and but what the rollouts of other tests take.
fn counted(namespace: &str, requests: &[Request]) -> Counts {
    let ours = |request: &&Request| ["", namespace].contains(&request.object_ref.namespace.as_str());
    let called = requests.iter().filter(ours).filter(|request| request.verb != "watch");
    called.fold(Counts::new(), |mut counts, request| {
        let refused = if request.code() < 300 { String::new() } else { format!(" refused with {}", request.code()) };
        let resource = request.resource() + &refused;
        *counts.entry((request.verb.clone(), resource)).or_default() += 1;
        counts
    })
}

/// Three runs of four steps, each step with one check: what happens does not depend on how fast the machine is.
async fn of_an_advance(scene: Scene) -> Result<()> {
    members_are_healthy(&scene).await?;
    let names: Vec<String> = (1..=TOGETHER).map(|number| format!("{}-{number}", scene.namespace)).collect();
    let rollouts = try_join_all(names.iter().map(|name| at_rest(&scene, name))).await?;
    let loads = try_join_all(names.iter().map(|name| clients(&scene, name))).await?;
    let (requests, passes) = (scene.hub.requests(HUB_USER)?.len(), scene.process.passes().await?);
    try_join_all(rollouts.iter().map(|rollout| rollout.edit(json!({"members": to_eu_3()})))).await?;
    try_join_all(rollouts.iter().map(|rollout| rollout.phase(Phase::Succeeded))).await?;
    drop(loads);
    let passes = scene.process.passes().await? - passes;
    let counted = counted(&scene.namespace, &scene.hub.requests(HUB_USER)?[requests..]);
    let mut cost: BTreeMap<String, f64> = BTreeMap::from([("passes".to_owned(), passes)]);
    for ((verb, resource), count) in &counted {
        cost.insert(format!("{verb} {resource}"), f64::from(u32::try_from(*count)?));
    }
    let advances = f64::from(u32::try_from(TOGETHER * STEPS.len())?);
    for (what, most, aim) in COSTS {
        let each = cost.remove(what).unwrap_or_default() / advances;
        println!("lab: an advance: {each:.2} {what}; at most {most}, the aim is {aim}");
        ensure!(each <= most, "{each:.2} {what} for each advance, not {most} at most; {passes} passes, {counted:?}");
    }
    // What a run takes once: its backend, and a read before its first write.
    let once: f64 = cost.values().sum();
    ensure!(once <= 2.0 * f64::from(u32::try_from(TOGETHER)?), "{cost:?}");
    Ok(())
}

/// At eu-1, by an HTTPRoute that the hub makes, with clients and an interval in which a weight is proven.
async fn at_rest<'s>(scene: &'s Scene, name: &str) -> Result<Rollout<'s>> {
    let create = json!({"hosts": [host(name)], "gateways": ["projectcontour/public"]});
    let mut declared = declaration(name, &json!({"gatewayAPI": {"create": create}}));
    declared["spec"]["strategy"]["steps"] = steps(&STEPS);
    declared["spec"]["analysis"]["interval"] = json!("6s");
    let rollout = Rollout::declare(scene, &scene.namespace, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    Ok(rollout)
}
