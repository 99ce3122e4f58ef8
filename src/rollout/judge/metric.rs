//! One metric of one service: guard, then Fail, then Unknown, then Pass.

use super::reading::{
    Against, Reading, Value, against, as_count, limits, number, read_histogram, read_ratio, value_of,
};
use crate::{
    api::{
        Analysis, Metric, Reason,
        analysis::MetricKind,
        number::{count, number as in_digits},
        status::{MemberValue, MetricCheck, Verdict},
    },
    rollout::input::{Sample, Sampled},
};

/// One metric of one service in one round.
pub(super) struct Round<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) metric: &'a Metric,
    pub(super) canaries: &'a [String],
    /// The step is too small to give anybody more than the rollback target does.
    pub(super) idle: bool,
    pub(super) samples: &'a [&'a Sampled],
}

impl Round<'_> {
    pub(super) fn check(&self, service: &str, before: &str) -> MetricCheck {
        let merged = self.merged(true);
        let Verdicts { verdict, reason, message } = self.verdict(merged.as_ref());
        let mut recent = before.to_owned();
        match (verdict, reason) {
            _ if self.idle => {}
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
        if self.idle {
            let message = "nobody has more than in the rollback target, so nothing is left to judge".to_owned();
            return Verdicts { verdict: Verdict::Pass, reason: Reason::ChecksPass, message };
        }
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
        if self.primaries().iter().any(beyond) {
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
            (MetricKind::Query(_) | MetricKind::Template(_) | MetricKind::Builtin(_), _) => return None,
            (_, Err(why)) => return Some(Verdicts::unknown(Reason::MetricsUnknown, why.clone())),
            (_, Ok(reading)) => reading,
        };
        let too_few = if whole { Reason::TooFewSamples } else { Reason::Settling };
        let undecided = against(reading.value, self.metric.min, self.metric.max) == Against::Undecided;
        if !self.enough(reading) || reading.value == Value::Nothing {
            let counted = reading.samples.unwrap_or(0.0);
            let needed = self.metric.min_samples;
            let counted = count(counted);
            let message = format!("{counted} samples, minSamples is {needed}; wait for more, or lower it");
            return Some(Verdicts::unknown(too_few, message));
        }
        if let Some(name) = self.uncounted() {
            let message = format!("{name}: no requests were counted, and those of others say nothing of it");
            return Some(Verdicts::unknown(too_few, message));
        }
        undecided.then(|| {
            Verdicts::unknown(Reason::MetricsUnknown, format!("{}: the last bucket decides", self.in_words(reading)))
        })
    }

    /// A canary of which nothing is known: the requests of all together are evidence for those that had some.
    fn uncounted(&self) -> Option<String> {
        let mut readings = self.single(self.canaries).into_iter();
        readings.find(|(_, reading)| reading.value == Value::Nothing).map(|(name, _)| name)
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
            MetricKind::Query(_) | MetricKind::Template(_) | MetricKind::Builtin(_) => {
                let names: Vec<String> = self.primary_names();
                self.single(&names).into_iter().map(|(_, reading)| reading).collect()
            }
        }
    }

    fn primary_names(&self) -> Vec<String> {
        let others = self.samples.iter().filter(|sampled| !self.canaries.contains(&sampled.member));
        others.map(|sampled| sampled.member.clone()).collect()
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
            MetricKind::Query(_) | MetricKind::Template(_) | MetricKind::Builtin(_) => {
                match samples.iter().find_map(|sampled| value_of(&sampled.sample)) {
                    Some(value) => Ok(Reading { value: Value::Exactly(value), samples: None }),
                    None => Err("no value".to_owned()),
                }
            }
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
            Value::Exactly(value) => format!("{}{unit}", in_digits(value)),
            Value::AtLeast(value) => format!("at least {}{unit}", in_digits(value)),
            Value::Nothing => "nothing".to_owned(),
        };
        reading.samples.map_or(value.clone(), |samples| format!("{value} of {} requests", count(samples)))
    }
}

impl Verdicts {
    fn unknown(reason: Reason, message: String) -> Self {
        Self { verdict: Verdict::Unknown, reason, message }
    }
}

/// The verdict about one metric with its reason and words.
struct Verdicts {
    verdict: Verdict,
    reason: Reason,
    message: String,
}
