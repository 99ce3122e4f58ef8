//! What is shown of a rollout: what its status says, and what this process counted of it.

use jiff::Timestamp;
use kube::ResourceExt;

use super::{
    counts::Counts,
    described::{
        APPLIED, CHECKED, CHECKS, DESIRED, Described, HELD, MEMBER_VALUE, OBSERVED, PHASE, RUN, RUNS, SAMPLES, SINCE,
        STEP, STEPS, VALUE, VERDICT,
    },
    series::Series,
};
use crate::api::{
    Distribution, FleetRollout, FleetRolloutStatus, Phase,
    status::{Check, MetricCheck},
};

/// The labels of a rollout.
struct Named<'r> {
    namespace: &'r str,
    rollout: &'r str,
}

impl Named<'_> {
    fn series<'v>(&'v self, metric: &Described, more: &[&'v str], value: f64) -> Series {
        Series::new(metric, [self.namespace, self.rollout].into_iter().chain(more.iter().copied()), value)
    }
}

/// Every series of a rollout.
pub(super) fn series(rollout: &FleetRollout, counts: &Counts, now: Timestamp) -> Vec<Series> {
    let (namespace, name) = (rollout.namespace().unwrap_or_default(), rollout.name_any());
    let named = Named { namespace: &namespace, rollout: &name };
    let Some(status) = &rollout.status else { return Vec::new() };
    let mut all = state(&named, status, now);
    all.extend(weights(&named, status));
    all.extend(status.run.iter().flat_map(|run| &run.check).flat_map(|check| checked(&named, check)));
    all.extend(counts.checks().map(|(verdict, count)| named.series(&CHECKS, &[verdict], count)));
    all.extend(counts.runs().map(|(outcome, count)| named.series(&RUNS, &[outcome], count)));
    all
}

fn state(named: &Named<'_>, status: &FleetRolloutStatus, now: Timestamp) -> Vec<Series> {
    let phase = format!("{:?}", status.phase);
    let since = status.since.unwrap_or(now);
    let held = if status.phase == Phase::Held { now.duration_since(since).as_secs_f64().max(0.0) } else { 0.0 };
    let (step, steps) = status.run.as_ref().map_or((0, 0), |run| (run.step(), run.plan.len()));
    vec![
        named.series(&PHASE, &[&phase], 1.0),
        named.series(&SINCE, &[], seconds(since)),
        named.series(&HELD, &[], held),
        named.series(&RUN, &[], number(status.last_run())),
        named.series(&STEP, &[], f64::from(step)),
        named.series(&STEPS, &[], number(steps as u64)),
    ]
}

fn weights(named: &Named<'_>, status: &FleetRolloutStatus) -> Vec<Series> {
    let desired = status.desired.iter().flat_map(|desired| ratios(&desired.split.weights));
    let desired = desired.map(|(member, ratio)| named.series(&DESIRED, &[member], ratio));
    let applied = status.routes.iter().flat_map(|route| {
        let of_member = |(member, ratio)| named.series(&APPLIED, &[&route.service, &route.route, member], ratio);
        ratios(&route.applied).map(of_member)
    });
    desired.chain(applied).collect()
}

fn ratios(weights: &Distribution) -> impl Iterator<Item = (&str, f64)> {
    let total = f64::from(weights.total().max(1));
    weights.iter().map(move |(member, weight)| (member, f64::from(weight) / total))
}

fn checked(named: &Named<'_>, check: &Check) -> Vec<Series> {
    let shares = check.observed.iter().flat_map(|(service, shares)| {
        shares.iter().map(move |(member, percent)| named.series(&OBSERVED, &[service, member], percent / 100.0))
    });
    let metrics = check.metrics.iter().flat_map(|metric| of_metric(named, metric));
    std::iter::once(named.series(&CHECKED, &[], seconds(check.at))).chain(shares).chain(metrics).collect()
}

fn of_metric(named: &Named<'_>, metric: &MetricCheck) -> Vec<Series> {
    let of = [metric.service.as_str(), metric.metric.as_str()];
    let verdict = format!("{:?}", metric.verdict);
    let members = metric.members.iter().filter_map(|member| {
        let role = if member.canary { "canary" } else { "primary" };
        Some(named.series(&MEMBER_VALUE, &[of[0], of[1], &member.member, role], member.value?))
    });
    let numbers = [(&VALUE, metric.value), (&SAMPLES, metric.samples)];
    let numbers = numbers.into_iter().filter_map(|(described, number)| Some(named.series(described, &of, number?)));
    let verdict = named.series(&VERDICT, &[of[0], of[1], &verdict], 1.0);
    numbers.chain([verdict]).chain(members).collect()
}

/// Unix time.
pub(super) fn seconds(at: Timestamp) -> f64 {
    at.duration_since(Timestamp::UNIX_EPOCH).as_secs_f64()
}

/// Exact up to 2^53.
#[allow(clippy::cast_precision_loss)]
pub(super) const fn number(count: u64) -> f64 {
    count as f64
}
