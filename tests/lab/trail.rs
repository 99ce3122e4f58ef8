//! What a rollout left behind it, state by state: every write to its route, and every status that could be read.

use crate::{history::History, shown::shown, stage::Stage};
use anyhow::{Context, Result, ensure};
use cutover::api::{
    FleetRolloutStatus, WRITE_ANNOTATION,
    status::{Check, Verdict},
};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

/// One state of the route: the first one that has this mark and this weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// All objects of the hub's cluster count in one etcd, so versions tell what came first.
    pub version: u64,
    pub at: Timestamp,
    /// The sequence in the hub's mark; 0 without one.
    pub sequence: u64,
    /// Weight of eu-3.
    pub weight: u32,
}

impl Stage<'_> {
    pub fn writes(&self) -> Vec<Written> {
        let entries = self.history.entries().into_iter();
        let mut writes: Vec<_> = entries
            .filter_map(|entry| {
                let object = entry.object?;
                let mark = object.annotations().get(WRITE_ANNOTATION);
                Some(Written {
                    version: entry.resource_version.parse().unwrap(),
                    at: entry.at,
                    sequence: mark.and_then(|mark| mark.split('/').nth(3)).map_or(0, |text| text.parse().unwrap()),
                    weight: shown(&object, self.service()).get("eu-3").copied().unwrap_or_default(),
                })
            })
            .collect();
        writes.dedup_by_key(|write| (write.sequence, write.weight));
        writes
    }
}

/// Every status of a rollout, with the version of its object.
fn statuses(rollout: &History) -> Result<Vec<(u64, FleetRolloutStatus)>> {
    let entries = rollout.entries().into_iter().filter_map(|entry| Some((entry.resource_version, entry.object?)));
    let with_status = entries.filter(|(_, object)| object.data["status"].is_object());
    with_status
        .map(|(version, object)| Ok((version.parse()?, serde_json::from_value(object.data["status"].clone())?)))
        .collect()
}

/// No write raised eu-3 before the weight under it had been held for `dwell` since the routes confirmed it, and a check
/// of that weight, made after that time, was recorded as passed.
pub fn assert_every_rise_is_earned(writes: &[Written], rollout: &History, dwell: SignedDuration) -> Result<()> {
    let statuses = statuses(rollout)?;
    for (below, above) in
        writes.iter().zip(&writes[1..]).filter(|(below, above)| below.weight > 0 && below.weight < above.weight)
    {
        let first = writes.iter().find(|write| write.weight == below.weight).context("no first write")?;
        let held = above.at.duration_since(first.at);
        ensure!(held >= dwell, "{} % rose to {} % after {held:?}, not {dwell:?}", below.weight, above.weight);
        let sequences: Vec<u64> =
            writes.iter().filter(|write| write.weight == below.weight).map(|write| write.sequence).collect();
        let earlier = || statuses.iter().filter(|(version, _)| *version < above.version).map(|(_, status)| status);
        let confirmed = earlier()
            .filter_map(|status| status.desired.as_ref())
            .find(|desired| sequences.contains(&desired.sequence) && desired.confirmed_at.is_some())
            .and_then(|desired| desired.confirmed_at)
            .with_context(|| format!("{} % was not confirmed before it rose", below.weight))?;
        let passed = |check: &Check| {
            check.verdict == Verdict::Pass
                && sequences.contains(&check.sequence)
                && check.at.duration_since(confirmed) >= dwell
        };
        let mut checks = earlier().filter_map(|status| status.run.as_ref()?.check.as_ref());
        ensure!(
            checks.any(passed),
            "{} % rose to {} % without a recorded pass {dwell:?} after {confirmed}",
            below.weight,
            above.weight
        );
    }
    Ok(())
}
