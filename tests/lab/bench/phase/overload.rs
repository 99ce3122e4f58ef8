//! Twice the load that fits, for a minute; then half of what fits.
//!
//! The load is the number of runs that advance at once: each wants one advance in every interval. It grows until fewer come.

use super::crash::deciding;
use crate::{
    audit::Request,
    bench::{
        requests::{Refused, delays, is_route_write, is_status_write, rate},
        rollouts::{Rollouts, place},
        stats::{Quantiles, float},
        stub::Badness,
        world::World,
    },
    lab::MEMBERS,
};
use anyhow::Result;
use cutover::api::{Phase, Reason};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    time::Duration,
};
use tokio::time::sleep;

const CANARY: &str = MEMBERS[2];
/// Runs that are added at a time, until twice fewer than this share of the advances come.
const STAGE: usize = 50;
const KEPT: f64 = 0.85;
/// Over which the figures of a stage are taken, and three times those of the overload.
const STAGE_LASTS: Duration = Duration::from_secs(12);
const WINDOW: Duration = Duration::from_secs(20);
/// A run begins with more requests than it goes on with.
const BEGINNING: Duration = Duration::from_secs(8);
/// Canaries that fail during the overload.
pub const FAILING: usize = 10;
const RECOVERY_WITHIN: SignedDuration = SignedDuration::from_secs(90);

/// What was seen while so many runs advanced.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Window {
    pub runs: usize,
    /// Advances a second: demanded, and made.
    pub demanded: f64,
    pub advances: f64,
    pub status_writes: f64,
    pub refused: Refused,
    /// Milliseconds.
    pub hub_cpu_per_advance: f64,
    pub api_server_cpu_per_advance: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Overload {
    pub interval: u64,
    pub ramp: Vec<Window>,
    /// The most advances a second that any stage made.
    pub best: f64,
    pub windows: Vec<Window>,
    /// From a bad answer during the overload to the route that takes the canary's traffic away, in milliseconds.
    pub sample_to_route: Option<Quantiles>,
    /// Of those, how many never came.
    pub not_back: usize,
    /// Runs that ended as they would not have ended without the overload, by phase.
    pub ended_otherwise: BTreeMap<String, usize>,
    /// Until the hub makes what is demanded again, without a refusal; `None`: not within 90 s.
    pub recovery_seconds: Option<f64>,
}

/// All rollouts are at rest at eu-1.
pub async fn overload(world: &World<'_>, rollouts: &Rollouts<'_>) -> Result<Overload> {
    let ramp = ramp(world, rollouts).await?;
    let best = ramp.iter().map(|stage| stage.advances).fold(0.0, f64::max);
    let (from, running) = (Timestamp::now(), ramp.last().map_or(0, |stage| stage.runs));
    let twice = runs_for(2.0 * best, rollouts).clamp(running, rollouts.plan.rollouts);
    rollouts.send_to(running..twice, [0, 0, 100]).await?;
    let mut windows = vec![window(world, rollouts, twice, WINDOW).await?];
    world.stub.behave(Badness::At { member: CANARY, below: FAILING });
    windows.push(window(world, rollouts, twice, WINDOW).await?);
    windows.push(window(world, rollouts, twice, WINDOW).await?);
    let recovery_seconds = recover(world, rollouts, runs_for(best / 2.0, rollouts), twice).await?;
    let (sample_to_route, not_back) = rollbacks(world, rollouts, from)?;
    world.stub.behave(Badness::Nothing);
    let ended_otherwise = ended_otherwise(rollouts);
    Ok(Overload {
        interval: rollouts.plan.interval,
        ramp,
        best,
        windows,
        sample_to_route,
        not_back,
        ended_otherwise,
        recovery_seconds,
    })
}

/// How many runs demand so many advances a second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundreds")]
fn runs_for(advances: f64, rollouts: &Rollouts<'_>) -> usize {
    (advances * seconds(rollouts)) as usize
}

fn seconds(rollouts: &Rollouts<'_>) -> f64 {
    Duration::from_secs(rollouts.plan.interval).as_secs_f64()
}

async fn ramp(world: &World<'_>, rollouts: &Rollouts<'_>) -> Result<Vec<Window>> {
    let mut stages: Vec<Window> = Vec::new();
    // A busy moment of the machine is not yet too much load.
    let fits = |stages: &[Window]| {
        let late = |stage: &&Window| stage.advances < KEPT * stage.demanded;
        stages.iter().rev().take(2).filter(late).count() < 2
    };
    // What follows is twice as many.
    while fits(&stages) && (stages.len() + 1) * STAGE * 2 <= rollouts.plan.rollouts {
        let before = stages.len() * STAGE;
        rollouts.send_to(before..before + STAGE, [0, 0, 100]).await?;
        sleep(BEGINNING).await;
        stages.push(window(world, rollouts, before + STAGE, STAGE_LASTS).await?);
    }
    Ok(stages)
}

async fn window(world: &World<'_>, rollouts: &Rollouts<'_>, runs: usize, time: Duration) -> Result<Window> {
    let from = world.reading().await?;
    sleep(time).await;
    let to = world.reading().await?;
    let took = to.since(&from);
    let requests = world.of_the_hub(from.at, to.at)?;
    let count = |is: fn(&Request) -> bool| requests.iter().filter(|request| is(request)).count();
    let advances = count(is_route_write);
    Ok(Window {
        runs,
        demanded: float(runs) / seconds(rollouts),
        advances: rate(advances, took),
        status_writes: rate(count(is_status_write), took),
        refused: Refused::of(&requests),
        hub_cpu_per_advance: (to.hub - from.hub) / float(advances.max(1)),
        api_server_cpu_per_advance: (to.server - from.server) / float(advances.max(1)),
    })
}

/// All but so many runs are suspended. How long it takes until one interval begins in which the rest advances as it should.
async fn recover(world: &World<'_>, rollouts: &Rollouts<'_>, fits: usize, running: usize) -> Result<Option<f64>> {
    rollouts.edit(fits..running, &json!({"suspend": true})).await?;
    let since = Timestamp::now();
    let interval = SignedDuration::from_secs(rollouts.plan.interval.cast_signed());
    loop {
        sleep(Duration::from_secs(1)).await;
        let now = Timestamp::now();
        let begin = now - interval;
        if begin >= since && keeps_up(world, rollouts, fits, begin, now)? {
            return Ok(Some(begin.duration_since(since).as_secs_f64()));
        }
        if begin.duration_since(since) > RECOVERY_WITHIN {
            return Ok(None);
        }
    }
}

/// Nothing was refused, and the runs among the first `fits` made their advances; most of them still had some to make.
fn keeps_up(world: &World<'_>, rollouts: &Rollouts<'_>, fits: usize, from: Timestamp, to: Timestamp) -> Result<bool> {
    let requests = world.of_the_hub(from, to)?;
    let Refused { conflict_409, too_many_429, timeout_504 } = Refused::of(&requests);
    let made = requests.iter().filter(|request| is_route_write(request)).count();
    let advancing = standing(rollouts, 0..fits).filter(|(phase, _)| *phase == Phase::Progressing).count();
    let well = conflict_409 + too_many_429 + timeout_504 == 0;
    Ok(well && 2 * advancing >= fits && float(made) >= KEPT * float(advancing))
}

/// How fast the canaries that failed lost their traffic, and how many of them never did.
fn rollbacks(world: &World<'_>, rollouts: &Rollouts<'_>, from: Timestamp) -> Result<(Option<Quantiles>, usize)> {
    let now = Timestamp::now();
    let requests = world.of_the_hub(from, now)?;
    let routes: Vec<&Request> = requests.iter().filter(|request| is_route_write(request)).collect();
    let back = delays(&deciding(rollouts, &world.stub.rounds(from, now)), &routes);
    Ok((back, FAILING - back.map_or(0, |back| back.count)))
}

/// Everything but the canaries that failed was well all the time.
fn ended_otherwise(rollouts: &Rollouts<'_>) -> BTreeMap<String, usize> {
    let wrong = [Phase::Failed, Phase::RolledBack, Phase::Held];
    let others = standing(rollouts, FAILING..rollouts.plan.rollouts);
    let wrong = others.filter(|(phase, reason)| wrong.contains(phase) || *reason == Reason::Skewed);
    wrong.fold(BTreeMap::new(), |mut counts, (phase, reason)| {
        *counts.entry(format!("{phase:?} {reason}")).or_default() += 1;
        counts
    })
}

/// Where some of the rollouts stand, and why.
fn standing(rollouts: &Rollouts<'_>, numbers: Range<usize>) -> impl Iterator<Item = (Phase, Reason)> {
    let names: BTreeSet<String> = numbers.map(|number| place(&rollouts.plan, number).1).collect();
    let chosen = rollouts.state().into_iter().filter(move |rollout| names.contains(&rollout.name_any()));
    chosen.filter_map(|rollout| rollout.status.as_ref().map(|status| (status.phase, status.reason)))
}
