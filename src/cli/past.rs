//! Runs that ended, and the one that goes back, in words: who, why, and what users saw of it. Pure.

use super::{
    metrics,
    text::{age, clock, count, day_and_clock},
    view::View,
};
use crate::api::{
    Metric, Reason,
    status::{Check, MetricCheck, Outcome, RunRecord, Verdict},
};
use jiff::Timestamp;

/// How a run ended, as it stands in a sentence.
pub(super) const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed => "failed",
        Outcome::RolledBack => "rolled back",
        Outcome::Superseded => "superseded",
    }
}

/// `7 of rev 3f9c, failed, began Fri 2026-01-02 23:40:00 UTC by ann`.
pub(super) fn began(number: u64, revision: &str, ended: &str, at: Timestamp, who: Option<&str>) -> String {
    format!("{number} of rev {revision}{ended}, began {}{}", day_and_clock(at), by(who))
}

pub(super) fn by(who: Option<&str>) -> String {
    who.map(|who| format!(" by {who}")).unwrap_or_default()
}

/// Who began the run, and when and by whom it ended.
pub(super) fn run(record: &RunRecord, now: Timestamp) -> String {
    let how = format!(", {}", outcome(record.outcome));
    let began = began(record.number, &record.revision, &how, record.started_at, record.started_by.as_deref());
    let (ago, step, steps) = (age(record.ended_at, now), record.step, record.steps);
    format!("{began}; ended {ago} ago at {step}/{steps}{}", ended_by(record.ended_by.as_deref(), record.outcome))
}

/// A person, or what the hub judged.
pub(super) fn ended_by(who: Option<&str>, outcome: Outcome) -> String {
    match (who, outcome) {
        (Some(who), _) => format!(" by {who}"),
        (None, Outcome::Failed) => " by the hub".to_owned(),
        (None, Outcome::Succeeded | Outcome::RolledBack | Outcome::Superseded) => String::new(),
    }
}

/// The metric that ended a run, where one did.
pub(super) fn decisive(record: &RunRecord) -> Option<&MetricCheck> {
    let by_checks = matches!(record.reason, Reason::GuardBreached | Reason::ChecksFailed | Reason::UnknownLimit);
    record.decisive().filter(|_| by_checks)
}

/// The members that were being proven by the last check of a run.
pub(super) fn canaries(record: &RunRecord) -> Vec<&str> {
    let metrics = record.check.iter().flat_map(|check| &check.metrics);
    let values = metrics.flat_map(|metric| &metric.members).filter(|value| value.canary);
    let mut names: Vec<&str> = values.map(|value| value.member.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A run that was lost, or goes back.
pub(super) struct Loss<'v> {
    reason: Reason,
    message: &'v str,
    /// When every route was back.
    ended_at: Option<Timestamp>,
    check: Option<&'v Check>,
}

/// Whether users were hurt, by the last check before traffic went back.
pub(super) fn users(view: &View, loss: &Loss<'_>) -> String {
    let back = loss.ended_at.map(|at| format!("until {} ago", age(at, view.now)));
    let back = back.unwrap_or_else(|| "until every route is back".to_owned());
    if loss.reason == Reason::EndpointDown {
        return format!("HURT {back}: {}", loss.message);
    }
    let Some(check) = loss.check else { return "no check was made, so nothing is known".to_owned() };
    let failed: Vec<&MetricCheck> = check.metrics.iter().filter(|metric| metric.verdict == Verdict::Fail).collect();
    let seen = match (failed.is_empty(), check.verdict) {
        _ if check.reason == Reason::NothingMeasured => "NOT KNOWN: nothing was measured".to_owned(),
        (false, _) => {
            let values = failed.iter().flat_map(|metric| values(view, metric)).collect::<Vec<_>>();
            format!("HURT {back}: {}", values.join(", "))
        }
        (true, Verdict::Pass | Verdict::Fail) => format!("no sign: the check at {} passed", clock(check.at)),
        (true, Verdict::Unknown) => {
            format!("NOT KNOWN: the check at {} was Unknown: {}", clock(check.at), check.message)
        }
    };
    let primaries = primaries(view, check);
    [Some(seen), primaries].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// `errors 31 % of 29911 requests at eu-3 (storefront)` for each canary that is beyond its limit.
fn values(view: &View, metric: &MetricCheck) -> Vec<String> {
    let declared = view.metric(&metric.metric);
    let one = |member: &str, value: f64, samples: Option<f64>| {
        let requests = samples.map(|samples| format!(" of {} requests", count(samples))).unwrap_or_default();
        let value = metrics::value(declared, value);
        format!("{} {value}{requests} at {member} ({})", metric.metric, metric.service)
    };
    let canaries = metric.members.iter().filter(|value| value.canary);
    let known: Vec<_> = canaries.filter_map(|found| Some((found, found.value?))).collect();
    let beyond = |value| declared.is_none_or(|declared| metrics::is_beyond(declared, value));
    // Where none alone is beyond its limit, all together are.
    let all = !known.iter().any(|(_, value)| beyond(*value));
    let hurt = known.into_iter().filter(|(_, value)| all || beyond(*value));
    hurt.map(|(found, value)| one(&found.member, value, found.samples)).collect()
}

/// The worst of each metric over the primary members.
pub(super) fn primaries(view: &View, check: &Check) -> Option<String> {
    let mut worst: Vec<(&str, f64)> = Vec::new();
    for metric in &check.metrics {
        let larger = view.metric(&metric.metric).is_none_or(metrics::larger_is_worse);
        let of_both = if larger { f64::max } else { f64::min };
        for value in metric.members.iter().filter(|member| !member.canary).filter_map(|member| member.value) {
            match worst.iter_mut().find(|(name, _)| *name == metric.metric) {
                Some((_, known)) => *known = of_both(*known, value),
                None => worst.push((&metric.metric, value)),
            }
        }
    }
    let words = worst.iter().map(|(name, value)| format!("{name} {}", metrics::value(view.metric(name), *value)));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("primary members at worst: {}", words.join(", ")))
}

/// What ended the run, on the row of a member that it was about: `FAIL at 00:47:00`.
pub(super) fn verdict(check: &Check, service: &str, member: &str) -> Option<String> {
    let about = |metric: &&MetricCheck| {
        metric.service == service && metric.members.iter().any(|value| value.canary && value.member == member)
    };
    let worst = check.metrics.iter().filter(about).map(|metric| metric.verdict).max()?;
    let word = match worst {
        Verdict::Pass => "Pass",
        Verdict::Unknown => "UNKNOWN",
        Verdict::Fail => "FAIL",
    };
    Some(format!("{word} at {}", clock(check.at)))
}

impl View {
    /// A declared metric.
    pub(super) fn metric(&self, name: &str) -> Option<&Metric> {
        self.rollout.spec.analysis.metrics.iter().find(|metric| metric.name == name)
    }

    /// Why the live run goes back, or how the one before it was lost.
    pub(super) fn loss(&self) -> Option<Loss<'_>> {
        let Some(run) = self.live() else {
            let record = self.lost()?;
            let RunRecord { reason, message, ended_at, check, .. } = record;
            return Some(Loss { reason: *reason, message, ended_at: Some(*ended_at), check: check.as_ref() });
        };
        let back = run.state.rollback()?;
        Some(Loss { reason: back.reason, message: &back.message, ended_at: None, check: run.check.as_ref() })
    }

    /// The last check of a run that is lost or goes back: it is about weights that are no more.
    pub(super) fn check_of_lost(&self) -> Option<&Check> {
        self.loss()?.check
    }
}
