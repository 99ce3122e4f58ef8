//! Metrics of other tools as ours: what is measured, and which values pass.

use std::collections::BTreeMap;

use super::promql::{Meaning, Measured};
use crate::api::{
    Duration, Metric,
    analysis::{Histogram, Limits, Ratio},
};

/// Requests that a check needs, where nothing is said.
const MIN_SAMPLES: u64 = 100;

/// The values that pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Range {
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

impl Range {
    /// All limits times this.
    pub(super) fn scaled(self, by: f64) -> Self {
        Self { min: self.min.map(|min| min * by), max: self.max.map(|max| max * by) }
    }
}

/// A metric without anything but its name.
pub(super) fn empty(name: &str) -> Metric {
    Metric {
        name: slug(name),
        ratio: None,
        histogram: None,
        query: None,
        template_ref: None,
        variables: BTreeMap::new(),
        builtin: None,
        window: None,
        max: None,
        min: None,
        per_member: None,
        guard: None,
        min_samples: MIN_SAMPLES,
    }
}

/// No two metrics have one name.
pub(super) fn distinct(mut metric: Metric, others: &[Metric]) -> Metric {
    let own = metric.name.clone();
    let mut number = 2;
    while others.iter().any(|other| other.name == metric.name) {
        metric.name = format!("{own}-{number}");
        number += 1;
    }
    metric
}

/// What is said of a query that cannot be merged.
pub(super) fn per_member(why: &str) -> String {
    format!("Judged for each member by itself: {why}.")
}

/// The time that a query covers whatever the interval is.
pub(super) fn fixed(meaning: &Meaning) -> Option<Duration> {
    meaning.window.map(|window| Duration::from_millis(u64::try_from(window.as_millis()).unwrap_or(u64::MAX)))
}

/// The metric with what is measured, and its limits.
pub(super) fn measured(metric: Metric, meaning: &Meaning, range: Range) -> Metric {
    let limited = limits(metric, meaning, range);
    match &meaning.measured {
        Measured::Ratio { numerator, denominator } => {
            let ratio = Ratio { numerator: numerator.clone(), denominator: denominator.clone() };
            Metric { ratio: Some(ratio), ..limited }
        }
        Measured::Histogram { buckets, quantile, milliseconds } => {
            let histogram = Histogram { buckets: buckets.clone(), quantile: *quantile, milliseconds: *milliseconds };
            Metric { histogram: Some(histogram), ..limited }
        }
        Measured::Query { query, .. } => Metric { query: Some(query.clone()), ..limited },
    }
}

/// The limits, where the kind of what is measured has them.
pub(super) fn limits(metric: Metric, meaning: &Meaning, range: Range) -> Metric {
    let (min, max) = meaning.limits(range.min, range.max);
    match &meaning.measured {
        Measured::Ratio { .. } | Measured::Histogram { .. } => Metric { max, min, ..metric },
        Measured::Query { .. } => Metric { per_member: Some(Limits { min, max, min_samples: None }), ..metric },
    }
}

/// A name as Kubernetes allows it.
pub(super) fn slug(name: &str) -> String {
    let mut dashed = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && dashed.ends_with(|before: char| before.is_ascii_lowercase()) {
            dashed.push('-');
        }
        dashed.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    }
    dashed.truncate(63);
    let slug = dashed.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    if slug.is_empty() { "metric".to_owned() } else { slug }
}
