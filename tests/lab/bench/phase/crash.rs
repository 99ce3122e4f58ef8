//! The hub is killed in mid-run and started again; then every canary fails at once.

use crate::{
    audit::Request,
    bench::{
        requests::{delays, is_route_write, is_status_write, millis},
        rollouts::{Rollouts, place},
        stats::Quantiles,
        stub::{Badness, Round},
        world::World,
    },
    wait::{eventually, seconds},
};
use anyhow::{Result, ensure};
use cutover::api::{FleetRollout, Phase};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::sleep;

const CANARY: &str = "eu-2";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Crash {
    /// Seconds from the start of the next hub until it has the Lease, which the killed one did not release.
    pub restart_to_lead: f64,
    /// From then to its first write about each rollout, in milliseconds.
    pub lead_to_write: Option<Quantiles>,
    /// The most that the killed hub held.
    pub hub_peak_mib: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bad {
    /// From the end of the deciding answer to the arrival of the route that takes the canary's traffic away, in milliseconds.
    pub sample_to_route: Option<Quantiles>,
    /// Until the last of them had arrived, in seconds.
    pub all_back: f64,
}

/// A run to eu-2, which stands at its first step.
pub async fn crash(world: &World<'_>, rollouts: &Rollouts<'_>) -> Result<Crash> {
    let all = rollouts.plan.rollouts;
    rollouts.send_to(0..all, [0, 100, 0]).await?;
    eventually("the first step everywhere", seconds(60 + all as u64), async || {
        let standing = rollouts.state().iter().filter(|rollout| stands(rollout)).count();
        ensure!(standing == all, "{standing} of {all}");
        Ok(())
    })
    .await?;
    let hub_peak_mib = world.reading().await?.hub_peak;
    world.process.kill().await?;
    let restarted = Timestamp::now();
    world.process.open().await?;
    let requests = eventually("a write about every rollout", seconds(60 + all as u64), async || {
        let requests = world.of_the_hub(restarted, Timestamp::now())?;
        let names: BTreeSet<String> = writes(&requests).map(|request| request.object_ref.name.clone()).collect();
        ensure!(names.len() == all, "{} of {all}", names.len());
        Ok(requests)
    })
    .await?;
    let leads = requests.iter().find(|request| is_lease_write(request)).map_or(restarted, |request| request.answered);
    let begun = (0..all).map(|number| (place(&rollouts.plan, number).1, leads)).collect();
    let lead_to_write = delays(&begun, &writes(&requests).collect::<Vec<_>>());
    Ok(Crash { restart_to_lead: millis(restarted, leads) / 1000.0, lead_to_write, hub_peak_mib })
}

/// What the hub writes about a rollout.
fn writes(requests: &[Request]) -> impl Iterator<Item = &Request> {
    requests.iter().filter(|request| is_status_write(request) || is_route_write(request))
}

fn is_lease_write(request: &Request) -> bool {
    request.verb == "update" && request.object_ref.resource == "leases" && request.code() == 200
}

/// It has taken its first step, whether or not the data plane has it already.
fn stands(rollout: &FleetRollout) -> bool {
    let run = rollout.status.as_ref().and_then(|status| status.run.as_ref());
    run.is_some_and(|run| run.step() >= 1)
}

/// From now on every canary answers half of the requests with errors, until every run has failed.
pub async fn bad(world: &World<'_>, rollouts: &Rollouts<'_>) -> Result<Bad> {
    // The new leader has just written every route, and writes none twice within a second.
    sleep(seconds(2)).await;
    let from = Timestamp::now();
    world.stub.behave(Badness::At { member: CANARY, below: rollouts.plan.rollouts });
    let outcome = rollouts.reach(Phase::Failed, seconds(60 + rollouts.plan.interval * 4)).await;
    world.stub.behave(Badness::Nothing);
    outcome?;
    let to = Timestamp::now();
    let requests = world.of_the_hub(from, to)?;
    let routes: Vec<&Request> = requests.iter().filter(|request| is_route_write(request)).collect();
    let last = routes.iter().map(|request| request.arrived).max();
    Ok(Bad {
        sample_to_route: delays(&deciding(rollouts, &world.stub.rounds(from, to)), &routes),
        all_back: last.map_or(0.0, |last| millis(from, last) / 1000.0),
    })
}

/// When the first bad answer about each rollout was given: one is enough.
pub fn deciding(rollouts: &Rollouts<'_>, rounds: &[Round]) -> BTreeMap<String, Timestamp> {
    let bad = rounds.iter().rev().filter(|round| round.bad);
    bad.map(|round| (place(&rollouts.plan, round.service).1, round.answered)).collect()
}
