//! How figures grow with the number of rollouts.

use super::{
    results::Results,
    size::Size,
    stats::{exponent, float},
};

type Figure = fn(&Size) -> f64;

/// What grows, and its figure at one size.
const GROWING: [(&str, Figure); 5] = [
    ("creation", |size| size.create.seconds),
    ("CPU of the hub in a run", |size| size.run.hub_cpu_per_advance * size.run.advances),
    ("lateness p99", |size| size.run.lateness.map_or(0.0, |lateness| lateness.p99)),
    ("bad sample to route p99", |size| size.bad.sample_to_route.map_or(0.0, |reaction| reaction.p99)),
    ("RSS of the hub", |size| size.idle.hub_mib),
];

/// Exponents, and what each further rollout and member costs; nothing with one size alone.
pub fn growth(results: &Results) -> String {
    let sizes = &results.sizes;
    let points = |of: Figure| sizes.iter().map(|size| (float(size.plan.rollouts), of(size))).collect::<Vec<_>>();
    let exponents = GROWING.iter().filter_map(|(what, of)| Some(format!("{what} {:.2}", exponent(&points(*of))?)));
    let exponents: Vec<String> = exponents.collect();
    let grown =
        (!exponents.is_empty()).then(|| format!("Growth exponents (1: in proportion): {}.", exponents.join(", ")));
    let said = |what, kib: Option<f64>| kib.map(|kib| format!("RSS of the hub for each further {what}: {kib:.0} KiB."));
    let of_members = sizes.iter().find_map(|size| size.kib_per_member);
    let lines = [grown, said("rollout", kib_per_rollout(sizes)), said("member that is not used", of_members)];
    lines.into_iter().flatten().map(|line| line + "\n").collect()
}

fn kib_per_rollout(sizes: &[Size]) -> Option<f64> {
    let (first, last) = (sizes.first()?, sizes.last()?);
    let more = float(last.plan.rollouts.saturating_sub(first.plan.rollouts));
    (more > 0.0).then(|| (last.idle.hub_mib - first.idle.hub_mib) * 1024.0 / more)
}
