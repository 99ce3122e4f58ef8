//! One run of every rollout, from the declaration to its end.

use super::idle::Idle;
use crate::{
    audit::Request,
    bench::{
        lateness::lateness,
        reading::Reading,
        requests::{Counts, Refused, counted, delays, is_status_write},
        rollouts::Rollouts,
        stats::{Quantiles, float},
        world::World,
    },
};
use anyhow::Result;
use cutover::api::Phase;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub seconds: f64,
    /// Steps taken, of all rollouts together.
    pub advances: f64,
    pub requests_per_advance: Counts,
    pub passes_per_advance: f64,
    /// Milliseconds.
    pub hub_cpu_per_advance: f64,
    /// Without what it takes when nothing is to be done, where that was measured.
    pub api_server_cpu_per_advance: f64,
    /// From the answer to the one who declares another target to the first status about it, in milliseconds.
    pub trigger: Option<Quantiles>,
    pub lateness: Option<Quantiles>,
    pub refused: Refused,
    pub hub_peak_mib: f64,
}

/// To eu-3, by all steps.
pub async fn run(world: &World<'_>, rollouts: &Rollouts<'_>, idle: Option<&Idle>) -> Result<Run> {
    let plan = rollouts.plan;
    let from = world.reading().await?;
    rollouts.send_to(0..plan.rollouts, [0, 0, 100]).await?;
    rollouts.reach(Phase::Succeeded, plan.patience()).await?;
    let to = world.reading().await?;
    figures(world, rollouts, idle, &from, &to)
}

fn figures(
    world: &World<'_>,
    rollouts: &Rollouts<'_>,
    idle: Option<&Idle>,
    from: &Reading,
    to: &Reading,
) -> Result<Run> {
    let plan = rollouts.plan;
    let advances = float(plan.rollouts) * f64::from(plan.steps);
    let requests = world.of_the_hub(from.at, to.at)?;
    let written: Vec<&Request> = requests.iter().filter(|request| is_status_write(request)).collect();
    let at_rest = idle.map_or(0.0, |idle| idle.api_server_cpu * 10.0 * to.since(from));
    Ok(Run {
        seconds: to.since(from),
        advances,
        requests_per_advance: counted(&requests, advances),
        passes_per_advance: (to.passes - from.passes) / advances,
        hub_cpu_per_advance: (to.hub - from.hub) / advances,
        api_server_cpu_per_advance: (to.server - from.server - at_rest) / advances,
        trigger: delays(&declared(&world.requests(from.at, to.at)?), &written),
        lateness: lateness(&world.stub.rounds(from.at, to.at), "eu-3", plan.interval),
        refused: Refused::of(&requests),
        hub_peak_mib: to.hub_peak,
    })
}

/// When each rollout's other target was stored.
fn declared(requests: &[Request]) -> BTreeMap<String, Timestamp> {
    let by_us = requests.iter().filter(|request| request.user.username == crate::apiserver::ADMIN);
    let patched = by_us.filter(|request| request.verb == "patch" && request.resource() == "fleetrollouts");
    patched.map(|request| (request.object_ref.name.clone(), request.answered)).collect()
}
