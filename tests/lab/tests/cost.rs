//! What a run costs the hub's API server, read from its audit log.

use crate::{
    apiserver::HUB_USER,
    audit::Request,
    history::History,
    rollout::{steps, to_eu_3},
    runner::{Scene, Test},
    stage::Stage,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::Phase;
use serde_json::json;
use std::collections::BTreeMap;

pub const TESTS: &[Test] =
    &[Test { name: "every_request_of_a_run_is_accounted_for", exclusive: true, run: |scene| Box::pin(cost(scene)) }];

/// Verb, resource -> requests.
type Counts = BTreeMap<(String, String), usize>;

/// A run of two steps, then a minute in which nothing is asked at all.
async fn cost(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": steps(&[50, 100])}})).await?;
    let rollouts = scene.hub.api("cutover.dev/v1alpha1", "FleetRollout", &scene.namespace).await?;
    let told = History::start(rollouts, stage.service()).await?;
    let before = scene.hub.requests(HUB_USER)?.len();
    let (versions, announced) = (told.entries().len(), stage.rollout.status().await?.announced);
    stage.rollout.edit(json!({"members": to_eu_3()})).await?;
    let status = stage.rollout.phase(Phase::Succeeded).await?;
    let last = status.transitions.last().context("no transition")?.number;
    let seen = eventually("the last status write", seconds(10), async || {
        ensure!(stage.rollout.status().await?.announced == last, "not everything is announced yet");
        Ok(told.entries().len())
    })
    .await?;
    let run = counted(&scene.hub.requests(HUB_USER)?[before..]);

    let expected = [
        // Every write of the status is a version that the watch showed; one more version is our edit.
        (("update", "fleetrollouts/status"), seen - versions - 1),
        // A dry run, eu-3 at weight 0, and two steps.
        (("update", "httproutes"), 4),
        (("create", "services"), 1),
        (("create", "events"), usize::try_from(last - announced)?),
    ];
    let expected: Counts =
        expected.into_iter().map(|((verb, resource), count)| ((verb.to_owned(), resource.to_owned()), count)).collect();
    ensure!(run == expected, "the run took {run:?}, not {expected:?}");

    let idle = scene.hub.requests(HUB_USER)?.len();
    stage.load.goes_on_for(seconds(60)).await?;
    let idle = counted(&scene.hub.requests(HUB_USER)?[idle..]);
    ensure!(idle.is_empty(), "in a minute of rest: {idle:?}");
    Ok(())
}

/// All but the Lease and watches.
fn counted(requests: &[Request]) -> Counts {
    let asked = requests.iter().filter(|request| request.verb != "watch" && request.object_ref.resource != "leases");
    asked.fold(Counts::new(), |mut counts, request| {
        let object = &request.object_ref;
        let slash = if object.subresource.is_empty() { "" } else { "/" };
        let resource = format!("{}{slash}{}", object.resource, object.subresource);
        *counts.entry((request.verb.clone(), resource)).or_default() += 1;
        counts
    })
}
