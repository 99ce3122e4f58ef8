//! The share observed at each member, compared with the desired one.

use std::collections::BTreeMap;

use crate::{
    api::{Analysis, status::Desired},
    rollout::input::{Measured, Sample},
};

/// Share of each service observed at each member, in percent.
pub(super) type ObservedShares = BTreeMap<String, BTreeMap<String, f64>>;

/// The shares, from the denominators of the first ratio. Nothing while requests are mirrored: a canary counts its copies
/// like requests.
pub(super) fn observed(desired: &Desired, analysis: &Analysis, measured: &Measured) -> ObservedShares {
    if desired.split.steering.as_ref().is_some_and(|steering| steering.mirrored().is_some()) {
        return BTreeMap::new();
    }
    let Some(metric) = analysis.metrics.iter().find(|metric| metric.ratio.is_some()) else { return BTreeMap::new() };
    let mut counts: BTreeMap<String, BTreeMap<String, Option<f64>>> = BTreeMap::new();
    for sampled in measured.samples.iter().filter(|sampled| sampled.metric == metric.name && sampled.whole) {
        let count = match &sampled.sample {
            // An answer without series from a member whose desired weight is 0 is no request at all.
            Sample::Ratio { denominator, .. } => Some(denominator.unwrap_or(0.0)),
            Sample::Buckets(_) | Sample::Value(_) | Sample::Missing(_)
                if desired.split.weights.weight(&sampled.member) == 0 =>
            {
                continue;
            }
            Sample::Buckets(_) | Sample::Value(_) | Sample::Missing(_) => None,
        };
        counts.entry(sampled.service.clone()).or_default().insert(sampled.member.clone(), count);
    }
    counts.into_iter().filter_map(|(service, members)| Some((service, shares(members)?))).collect()
}

/// `None` where a member that carries traffic could not be counted, or no request was observed.
fn shares(members: BTreeMap<String, Option<f64>>) -> Option<BTreeMap<String, f64>> {
    let counted: BTreeMap<String, f64> =
        members.into_iter().map(|(name, count)| Some((name, count?))).collect::<Option<_>>()?;
    let total: f64 = counted.values().sum();
    (total > 0.0)
        .then(|| counted.into_iter().map(|(name, count)| (name, (count / total * 1000.0).round() / 10.0)).collect())
}

/// A share that is farther from its weight than allowed, in words. Where requests are chosen by what they carry, nobody
/// knows how many those are.
pub(super) fn share_off(desired: &Desired, analysis: &Analysis, observed: &ObservedShares) -> Option<String> {
    let within = analysis.share.filter(|_| desired.split.steering.is_none())?.within;
    let total: u32 = desired.split.weights.total();
    observed.iter().find_map(|(service, members)| {
        members.iter().find_map(|(member, share)| {
            let wanted = f64::from(desired.split.weights.weight(member)) * 100.0 / f64::from(total.max(1));
            ((share - wanted).abs() > within).then(|| {
                format!("{member} was observed at {share} % of {service}, not {wanted} %; look for another way to it, sticky sessions, or a route that ignores weights")
            })
        })
    })
}
