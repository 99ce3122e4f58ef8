//! From samples to verdicts.
//!
//! Order: guard, then Fail, then Unknown, then Pass, over services and metrics, merged and per member; the worst decides.

mod metric;
mod observed;
mod reading;
#[cfg(test)]
mod tests;

use self::{
    metric::Round,
    observed::{ObservedShares, observed, share_off},
};
use super::{
    checks::judged_members,
    input::{Measured, Sampled},
};
use crate::api::{
    Analysis, Reason,
    status::{Check, Desired, MetricCheck, Run, Verdict},
};

/// Judges one round of measurements.
pub(super) fn judge(run: &Run, desired: &Desired, analysis: &Analysis, measured: &Measured) -> Check {
    let canaries = judged_members(run, desired);
    let idle = run.canaries().is_empty();
    let mut metrics = Vec::new();
    for service in &run.pinned.services {
        for metric in &analysis.metrics {
            let of = |sampled: &&Sampled| sampled.service == service.name && sampled.metric == metric.name;
            let samples: Vec<&Sampled> = measured.samples.iter().filter(of).collect();
            let before = previous(run, &service.name, &metric.name);
            let round = Round { analysis, metric, canaries: &canaries, idle, samples: &samples };
            metrics.push(round.check(&service.name, before));
        }
    }
    let observed = observed(desired, analysis, measured);
    summed_up(run, desired, analysis, measured, metrics, observed)
}

fn previous<'a>(run: &'a Run, service: &str, metric: &str) -> &'a str {
    let checks = run.check.iter().flat_map(|check| &check.metrics);
    checks
        .filter(|check| check.service == service && check.metric == metric)
        .map(|check| check.recent.as_str())
        .next()
        .unwrap_or_default()
}

/// The whole check: the worst of its metrics, and what is remembered of the checks before it.
fn summed_up(
    run: &Run,
    desired: &Desired,
    analysis: &Analysis,
    measured: &Measured,
    metrics: Vec<MetricCheck>,
    observed: ObservedShares,
) -> Check {
    let worst = metrics.iter().max_by_key(|metric| (metric.verdict, severity(metric.reason)));
    let (mut verdict, mut reason, mut message) =
        worst.map_or_else(|| without_metrics(analysis), |worst| (worst.verdict, worst.reason, worst.message.clone()));
    // A member that nothing reaches has too few samples; that its traffic is elsewhere says more.
    let says_more = verdict == Verdict::Pass || reason == Reason::TooFewSamples;
    if let Some(off) = share_off(desired, analysis, &observed).filter(|_| says_more) {
        (verdict, reason, message) = (Verdict::Unknown, Reason::WeightNotObserved, off);
    }
    let before = run.check.as_ref();
    let unknown_before = before.map_or(0, |check| check.unknown_in_a_row);
    let unknown_in_a_row = match (verdict, reason) {
        (Verdict::Unknown, Reason::Settling | Reason::PrimaryFailsToo) => unknown_before,
        (Verdict::Unknown, _) => unknown_before.saturating_add(1),
        (Verdict::Pass | Verdict::Fail, _) => 0,
    };
    let since = before
        .filter(|check| check.verdict == verdict && check.reason == reason)
        .map_or(measured.at, |check| check.since);
    let passes = verdict == Verdict::Pass && analysis.measures();
    let passed_at = if passes { Some(measured.at) } else { before.and_then(|check| check.passed_at) };
    Check {
        at: measured.at,
        verdict,
        reason,
        message,
        unknown_in_a_row,
        since,
        passed_at,
        sequence: desired.sequence,
        metrics,
        observed,
    }
}

/// Where no metric is declared, nothing stands in the way of time; else nothing is known.
fn without_metrics(analysis: &Analysis) -> (Verdict, Reason, String) {
    if analysis.measures() {
        return (Verdict::Unknown, Reason::MetricsUnknown, "no metric".to_owned());
    }
    let message = "nothing is measured, for no metric is declared; the endpoint probes and the time judge";
    (Verdict::Pass, Reason::NothingMeasured, message.to_owned())
}

/// Among equal verdicts, which one a person should read first.
fn severity(reason: Reason) -> u8 {
    match reason {
        Reason::GuardBreached => 4,
        Reason::PrimaryFailsToo => 3,
        Reason::MetricsUnknown => 2,
        Reason::Settling => 0,
        _ => 1,
    }
}
