//! What samples say: merged exactly, and compared with limits.

use crate::rollout::{
    input::{Sample, Sampled},
    merge::{self, Quantile},
};

/// What one sample, or several merged, say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) value: Value,
    /// Requests behind it; `None` where the kind counts none.
    pub(super) samples: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Exactly(f64),
    /// A quantile in the last bucket.
    AtLeast(f64),
    /// Nothing was counted.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    Within,
    Beyond,
    /// A value that is only bounded from below decides it.
    Undecided,
}

pub(super) fn read_ratio(samples: &[&Sampled]) -> Reading {
    let pairs: Vec<(f64, f64)> = samples.iter().filter_map(|sampled| ratio_of(&sampled.sample)).collect();
    // A sum of nothing is -0, which people would read.
    let denominator = pairs.iter().map(|pair| pair.1).sum::<f64>() + 0.0;
    let value = merge::ratio(&pairs).map_or(Value::Nothing, Value::Exactly);
    Reading { value, samples: Some(denominator) }
}

pub(super) fn read_histogram(samples: &[&Sampled], quantile: f64) -> Result<Reading, String> {
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
pub(super) fn ratio_of(sample: &Sample) -> Option<(f64, f64)> {
    match sample {
        Sample::Ratio { numerator, denominator } => {
            denominator.map(|denominator| (numerator.unwrap_or(0.0), denominator))
        }
        Sample::Buckets(_) | Sample::Value(_) | Sample::Missing(_) => None,
    }
}

pub(super) fn buckets_of(sample: &Sample) -> Option<Vec<(f64, f64)>> {
    match sample {
        Sample::Buckets(buckets) => Some(buckets.clone()),
        Sample::Ratio { .. } | Sample::Value(_) | Sample::Missing(_) => None,
    }
}

pub(super) fn value_of(sample: &Sample) -> Option<f64> {
    match sample {
        Sample::Value(value) => Some(*value),
        Sample::Ratio { .. } | Sample::Buckets(_) | Sample::Missing(_) => None,
    }
}

pub(super) fn against(value: Value, min: Option<f64>, max: Option<f64>) -> Against {
    match value {
        Value::Exactly(value) if max.is_some_and(|max| value > max) || min.is_some_and(|min| value < min) => {
            Against::Beyond
        }
        Value::Exactly(_) => Against::Within,
        Value::AtLeast(value) if max.is_some_and(|max| value > max) => Against::Beyond,
        Value::AtLeast(value) if max.is_none() && min.is_none_or(|min| value >= min) => Against::Within,
        Value::AtLeast(_) | Value::Nothing => Against::Undecided,
    }
}

pub(super) fn number(value: Value) -> Option<f64> {
    match value {
        Value::Exactly(value) | Value::AtLeast(value) => Some(value),
        Value::Nothing => None,
    }
}

pub(super) fn limits(min: Option<f64>, max: Option<f64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("min {min}, max {max}"),
        (Some(min), None) => format!("min {min}"),
        (None, Some(max)) => format!("max {max}"),
        (None, None) => "no limit".to_owned(),
    }
}

#[allow(clippy::cast_precision_loss)] // bounded by the CRD far below 2^53
pub(super) fn as_count(count: u64) -> f64 {
    count as f64
}
