//! From samples to verdicts.
//!
//! Order: guard, then Fail, then Unknown, then Pass, over services and metrics, merged and per member; the worst decides.

use std::collections::BTreeMap;

use super::{
    checks::judged_members,
    distribution::weight,
    input::{Measured, Sample, Sampled},
    merge::{self, Quantile},
};
use crate::api::{
    Analysis, Metric, Reason,
    analysis::MetricKind,
    status::{Asked, Check, MemberValue, MetricCheck, Run, Verdict},
};

/// What one sample, or several merged, say.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    value: Value,
    /// Requests behind it; `None` where the kind counts none.
    samples: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Exactly(f64),
    /// A quantile in the last bucket.
    AtLeast(f64),
    /// Nothing was counted.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    Within,
    Beyond,
    /// A value that is only bounded from below decides it.
    Undecided,
}

/// The verdict about one metric with its reason and words.
struct Verdicts {
    verdict: Verdict,
    reason: Reason,
    message: String,
}

/// Judges one round of measurements.
pub(super) fn judge(run: &Run, asked: &Asked, analysis: &Analysis, measured: &Measured) -> Check {
    let canaries = judged_members(run, asked);
    let mut metrics = Vec::new();
    for service in &run.pinned.services {
        for metric in &analysis.metrics {
            let of = |sampled: &&Sampled| sampled.service == service.name && sampled.metric == metric.name;
            let samples: Vec<&Sampled> = measured.samples.iter().filter(of).collect();
            let before = previous(run, &service.name, &metric.name);
            metrics.push(
                Round { analysis, metric, canaries: &canaries, asked, samples: &samples }.check(&service.name, before),
            );
        }
    }
    let received = received(asked, analysis, measured);
    summed_up(run, asked, analysis, measured, metrics, received)
}

fn previous<'a>(run: &'a Run, service: &str, metric: &str) -> &'a str {
    let checks = run.check.iter().flat_map(|check| &check.metrics);
    checks
        .filter(|check| check.service == service && check.metric == metric)
        .map(|check| check.recent.as_str())
        .next()
        .unwrap_or_default()
}

/// One metric of one service in one round.
struct Round<'a> {
    analysis: &'a Analysis,
    metric: &'a Metric,
    canaries: &'a [String],
    asked: &'a Asked,
    samples: &'a [&'a Sampled],
}

impl Round<'_> {
    fn check(&self, service: &str, before: &str) -> MetricCheck {
        let merged = self.merged(true);
        let Verdicts { verdict, reason, message } = self.verdict(merged.as_ref());
        let mut recent = before.to_owned();
        match (verdict, reason) {
            (_, Reason::Settling) | (Verdict::Unknown, _) => {}
            (Verdict::Pass, _) => recent.push('P'),
            (Verdict::Fail, _) => recent.push('F'),
        }
        let within = usize::try_from(self.analysis.failures.within).unwrap_or(usize::MAX);
        let recent = recent.split_off(recent.len().saturating_sub(within));
        MetricCheck {
            service: service.to_owned(),
            metric: self.metric.name.clone(),
            verdict,
            reason,
            message: format!("{} of {service}: {message}", self.metric.name),
            value: merged.as_ref().ok().and_then(|reading| number(reading.value)),
            samples: merged.as_ref().ok().and_then(|reading| reading.samples),
            recent,
            members: self.samples.iter().map(|sampled| self.member_value(sampled)).collect(),
        }
    }

    fn verdict(&self, merged: Result<&Reading, &String>) -> Verdicts {
        if let Some(found) = self.guard(merged).or_else(|| self.fails(merged)) {
            return found;
        }
        if let Some(found) = self.unknown(merged) {
            return found;
        }
        if self.samples.iter().any(|sampled| !sampled.whole) {
            return Verdicts::unknown(Reason::Settling, "the window is not full yet".to_owned());
        }
        let message = merged.map_or_else(|_| "within its limits".to_owned(), |reading| self.in_words(reading));
        Verdicts { verdict: Verdict::Pass, reason: Reason::ChecksPass, message }
    }

    fn guard(&self, merged: Result<&Reading, &String>) -> Option<Verdicts> {
        let guard = self.metric.guard.as_ref()?;
        let enough = |reading: &Reading| reading.samples.is_none_or(|samples| samples >= as_count(guard.min_samples));
        let beyond =
            |reading: &Reading| enough(reading) && against(reading.value, guard.min, guard.max) == Against::Beyond;
        let breached = self.readings(merged).into_iter().find(|(_, reading)| beyond(reading))?;
        let message = format!("{} is beyond the guard ({})", self.named(&breached), limits(guard.min, guard.max));
        if self.primaries().iter().any(|reading| beyond(reading)) {
            return Some(Verdicts::unknown(
                Reason::PrimaryFailsToo,
                format!("{message}, but so are the primary members"),
            ));
        }
        Some(Verdicts { verdict: Verdict::Fail, reason: Reason::GuardBreached, message })
    }

    fn fails(&self, merged: Result<&Reading, &String>) -> Option<Verdicts> {
        let all = merged.ok().filter(|reading| self.enough(reading)).map(|reading| (None, *reading));
        let together = all.map(|reading| (reading, self.metric.min, self.metric.max));
        let (min, max) = self.metric.per_member.map_or((None, None), |limits| (limits.min, limits.max));
        let singly = self.single(self.canaries).into_iter().filter(|(_, reading)| self.enough_of_member(reading));
        let singly = singly.map(|(name, reading)| ((Some(name), reading), min, max));
        let (breached, min, max) = together
            .into_iter()
            .chain(singly)
            .find(|((_, reading), min, max)| against(reading.value, *min, *max) == Against::Beyond)?;
        let message = format!("{} is beyond {}", self.named(&breached), limits(min, max));
        let shared = self
            .primaries()
            .iter()
            .any(|reading| self.enough(reading) && against(reading.value, min, max) == Against::Beyond);
        if shared {
            return Some(Verdicts::unknown(
                Reason::PrimaryFailsToo,
                format!("{message}, but so are the primary members"),
            ));
        }
        Some(Verdicts { verdict: Verdict::Fail, reason: Reason::ChecksFailed, message })
    }

    fn unknown(&self, merged: Result<&Reading, &String>) -> Option<Verdicts> {
        let missing = self.of(self.canaries).find_map(|sampled| match &sampled.sample {
            Sample::Missing(why) => Some(format!("{}: {why}", sampled.member)),
            Sample::Ratio { .. } | Sample::Buckets(_) | Sample::Value(_) => None,
        });
        let whole = self.samples.iter().all(|sampled| sampled.whole);
        let absent = self.canaries.iter().find(|name| !self.samples.iter().any(|sampled| sampled.member == **name));
        if let Some(why) = missing.or_else(|| absent.map(|name| format!("{name}: not measured"))) {
            return Some(if whole {
                Verdicts::unknown(Reason::MetricsUnknown, why)
            } else {
                Verdicts::unknown(Reason::Settling, why)
            });
        }
        let reading = match (self.metric.kind(), merged) {
            (MetricKind::Query(_), _) => return None,
            (_, Err(why)) => return Some(Verdicts::unknown(Reason::MetricsUnknown, why.clone())),
            (_, Ok(reading)) => reading,
        };
        let undecided = against(reading.value, self.metric.min, self.metric.max) == Against::Undecided;
        if !self.enough(reading) || reading.value == Value::Nothing {
            let counted = reading.samples.unwrap_or(0.0);
            let message = format!("{counted:.0} samples of the {} that are needed", self.metric.min_samples);
            let reason = if whole { Reason::TooFewSamples } else { Reason::Settling };
            return Some(Verdicts::unknown(reason, message));
        }
        undecided.then(|| {
            Verdicts::unknown(Reason::MetricsUnknown, format!("{}: the last bucket decides", self.in_words(reading)))
        })
    }

    /// All canaries together, then each by itself.
    fn readings(&self, merged: Result<&Reading, &String>) -> Vec<(Option<String>, Reading)> {
        let all = merged.ok().map(|reading| (None, *reading));
        all.into_iter()
            .chain(self.single(self.canaries).into_iter().map(|(name, reading)| (Some(name), reading)))
            .collect()
    }

    fn single(&self, members: &[String]) -> Vec<(String, Reading)> {
        self.of(members).filter_map(|sampled| Some((sampled.member.clone(), self.read(&[*sampled]).ok()?))).collect()
    }

    /// What the primary members show: merged where the kind merges, else each.
    fn primaries(&self) -> Vec<Reading> {
        match self.metric.kind() {
            MetricKind::Ratio(_) | MetricKind::Histogram(_) => self.merged(false).into_iter().collect(),
            MetricKind::Query(_) => {
                let names: Vec<String> = self.primary_names();
                self.single(&names).into_iter().map(|(_, reading)| reading).collect()
            }
        }
    }

    fn primary_names(&self) -> Vec<String> {
        let carrying = |sampled: &&&Sampled| {
            !self.canaries.contains(&sampled.member) && weight(&self.asked.weights, &sampled.member) > 0
        };
        self.samples.iter().filter(carrying).map(|sampled| sampled.member.clone()).collect()
    }

    fn merged(&self, canary: bool) -> Result<Reading, String> {
        let names = if canary { self.canaries.to_vec() } else { self.primary_names() };
        let samples: Vec<&Sampled> = self.of(&names).copied().collect();
        self.read(&samples)
    }

    fn of<'b>(&'b self, members: &'b [String]) -> impl Iterator<Item = &'b &'b Sampled> {
        self.samples.iter().filter(|sampled| members.contains(&sampled.member))
    }

    /// Samples merged exactly: ratios are summed before dividing, buckets before the quantile.
    fn read(&self, samples: &[&Sampled]) -> Result<Reading, String> {
        match self.metric.kind() {
            MetricKind::Ratio(_) => Ok(read_ratio(samples)),
            MetricKind::Histogram(histogram) => read_histogram(samples, histogram.quantile),
            MetricKind::Query(_) => match samples.iter().find_map(|sampled| value_of(&sampled.sample)) {
                Some(value) => Ok(Reading { value: Value::Exactly(value), samples: None }),
                None => Err("no value".to_owned()),
            },
        }
    }

    fn enough(&self, reading: &Reading) -> bool {
        reading.samples.is_none_or(|samples| samples >= as_count(self.metric.min_samples))
    }

    fn enough_of_member(&self, reading: &Reading) -> bool {
        let least = self.metric.per_member.and_then(|limits| limits.min_samples).unwrap_or(self.metric.min_samples);
        reading.samples.is_none_or(|samples| samples >= as_count(least))
    }

    fn member_value(&self, sampled: &Sampled) -> MemberValue {
        let reading = self.read(&[sampled]).ok();
        let missing = match &sampled.sample {
            Sample::Missing(why) => Some(why.clone()),
            Sample::Ratio { .. } | Sample::Buckets(_) | Sample::Value(_) => None,
        };
        MemberValue {
            member: sampled.member.clone(),
            canary: self.canaries.contains(&sampled.member),
            value: reading.as_ref().and_then(|reading| number(reading.value)),
            samples: reading.and_then(|reading| reading.samples),
            missing,
        }
    }

    fn named(&self, (member, reading): &(Option<String>, Reading)) -> String {
        let who = member.as_deref().unwrap_or("all canaries together");
        format!("{who}: {}", self.in_words(reading))
    }

    fn in_words(&self, reading: &Reading) -> String {
        let unit = if self.metric.ratio.is_some() { " %" } else { "" };
        let value = match reading.value {
            Value::Exactly(value) => format!("{}{unit}", rounded(value)),
            Value::AtLeast(value) => format!("at least {}{unit}", rounded(value)),
            Value::Nothing => "nothing".to_owned(),
        };
        reading.samples.map_or(value.clone(), |samples| format!("{value} of {samples:.0} requests"))
    }
}

impl Verdicts {
    fn unknown(reason: Reason, message: String) -> Self {
        Self { verdict: Verdict::Unknown, reason, message }
    }
}

fn read_ratio(samples: &[&Sampled]) -> Reading {
    let pairs: Vec<(f64, f64)> = samples.iter().filter_map(|sampled| ratio_of(&sampled.sample)).collect();
    let denominator = pairs.iter().map(|pair| pair.1).sum();
    let value = merge::ratio(&pairs).map_or(Value::Nothing, Value::Exactly);
    Reading { value, samples: Some(denominator) }
}

fn read_histogram(samples: &[&Sampled], quantile: f64) -> Result<Reading, String> {
    let buckets: Vec<Vec<(f64, f64)>> = samples.iter().filter_map(|sampled| buckets_of(&sampled.sample)).collect();
    let merged = merge::merge_buckets(&buckets).map_err(|problem| problem.to_string())?;
    let count = merged.last().map_or(0.0, |bucket| bucket.1);
    let value = match merge::quantile(&merged, quantile) {
        Quantile::Value(value) => Value::Exactly(value),
        Quantile::AtLeast(value) => Value::AtLeast(value),
        Quantile::NoData => Value::Nothing,
    };
    Ok(Reading { value, samples: Some(count) })
}

/// Numerator and denominator; an absent numerator beside requests is 0.
fn ratio_of(sample: &Sample) -> Option<(f64, f64)> {
    match sample {
        Sample::Ratio { numerator, denominator } => {
            denominator.map(|denominator| (numerator.unwrap_or(0.0), denominator))
        }
        Sample::Buckets(_) | Sample::Value(_) | Sample::Missing(_) => None,
    }
}

fn buckets_of(sample: &Sample) -> Option<Vec<(f64, f64)>> {
    match sample {
        Sample::Buckets(buckets) => Some(buckets.clone()),
        Sample::Ratio { .. } | Sample::Value(_) | Sample::Missing(_) => None,
    }
}

fn value_of(sample: &Sample) -> Option<f64> {
    match sample {
        Sample::Value(value) => Some(*value),
        Sample::Ratio { .. } | Sample::Buckets(_) | Sample::Missing(_) => None,
    }
}

fn against(value: Value, min: Option<f64>, max: Option<f64>) -> Against {
    match value {
        Value::Nothing => Against::Undecided,
        Value::Exactly(value) if max.is_some_and(|max| value > max) || min.is_some_and(|min| value < min) => {
            Against::Beyond
        }
        Value::Exactly(_) => Against::Within,
        Value::AtLeast(value) if max.is_some_and(|max| value > max) => Against::Beyond,
        Value::AtLeast(value) if max.is_none() && min.is_none_or(|min| value >= min) => Against::Within,
        Value::AtLeast(_) => Against::Undecided,
    }
}

fn number(value: Value) -> Option<f64> {
    match value {
        Value::Exactly(value) | Value::AtLeast(value) => Some(value),
        Value::Nothing => None,
    }
}

fn limits(min: Option<f64>, max: Option<f64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("min {min}, max {max}"),
        (Some(min), None) => format!("min {min}"),
        (None, Some(max)) => format!("max {max}"),
        (None, None) => "no limit".to_owned(),
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[allow(clippy::cast_precision_loss)] // bounded by the CRD far below 2^53
fn as_count(count: u64) -> f64 {
    count as f64
}

/// Share that each member received of each service, in percent, from the first ratio's denominators.
fn received(asked: &Asked, analysis: &Analysis, measured: &Measured) -> BTreeMap<String, BTreeMap<String, f64>> {
    let Some(metric) = analysis.metrics.iter().find(|metric| metric.ratio.is_some()) else { return BTreeMap::new() };
    let mut counts: BTreeMap<String, BTreeMap<String, Option<f64>>> = BTreeMap::new();
    for sampled in measured.samples.iter().filter(|sampled| sampled.metric == metric.name && sampled.whole) {
        let count = match &sampled.sample {
            // An answer without series from a member that is asked for nothing is no request at all.
            Sample::Ratio { denominator, .. } => Some(denominator.unwrap_or(0.0)),
            Sample::Buckets(_) | Sample::Value(_) | Sample::Missing(_)
                if weight(&asked.weights, &sampled.member) == 0 =>
            {
                continue;
            }
            Sample::Buckets(_) | Sample::Value(_) | Sample::Missing(_) => None,
        };
        counts.entry(sampled.service.clone()).or_default().insert(sampled.member.clone(), count);
    }
    counts.into_iter().filter_map(|(service, members)| Some((service, shares(members)?))).collect()
}

/// `None` where a member that carries traffic could not be counted, or nothing was received.
fn shares(members: BTreeMap<String, Option<f64>>) -> Option<BTreeMap<String, f64>> {
    let counted: BTreeMap<String, f64> =
        members.into_iter().map(|(name, count)| Some((name, count?))).collect::<Option<_>>()?;
    let total: f64 = counted.values().sum();
    (total > 0.0)
        .then(|| counted.into_iter().map(|(name, count)| (name, (count / total * 1000.0).round() / 10.0)).collect())
}

/// A share that is farther from its weight than allowed, in words.
fn share_off(asked: &Asked, analysis: &Analysis, received: &BTreeMap<String, BTreeMap<String, f64>>) -> Option<String> {
    let within = analysis.share?.within;
    let total: u32 = asked.weights.values().sum();
    received.iter().find_map(|(service, members)| {
        members.iter().find_map(|(member, share)| {
            let wanted = f64::from(weight(&asked.weights, member)) * 100.0 / f64::from(total.max(1));
            ((share - wanted).abs() > within).then(|| {
                format!("{member} received {share} % of {service}, not {wanted} %; look for another way to it, sticky sessions, or a route that ignores weights")
            })
        })
    })
}

/// The whole check: the worst of its metrics, and what is remembered of the checks before it.
fn summed_up(
    run: &Run,
    asked: &Asked,
    analysis: &Analysis,
    measured: &Measured,
    metrics: Vec<MetricCheck>,
    received: BTreeMap<String, BTreeMap<String, f64>>,
) -> Check {
    let worst = metrics.iter().max_by_key(|metric| (metric.verdict, severity(metric.reason)));
    let (mut verdict, mut reason, mut message) = worst
        .map_or((Verdict::Unknown, Reason::MetricsUnknown, "no metric".to_owned()), |worst| {
            (worst.verdict, worst.reason, worst.message.clone())
        });
    // A member that nothing reaches has too few samples; that its traffic is elsewhere says more.
    let says_more = verdict == Verdict::Pass || reason == Reason::TooFewSamples;
    if let Some(off) = share_off(asked, analysis, &received).filter(|_| says_more) {
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
    let passed_at = if verdict == Verdict::Pass { Some(measured.at) } else { before.and_then(|check| check.passed_at) };
    Check {
        at: measured.at,
        verdict,
        reason,
        message,
        unknown_in_a_row,
        since,
        passed_at,
        sequence: asked.sequence,
        metrics,
        received,
    }
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
