//! Numbers out of many numbers.

use serde::{Deserialize, Serialize};

/// Of how many values, half of them are at most, 99 of 100 are at most, and the largest.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Quantiles {
    pub count: usize,
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

impl Quantiles {
    /// `None` without any value.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let rank = |percent: usize| values.get((values.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        Some(Self { count: values.len(), p50: rank(50)?, p99: rank(99)?, max: rank(100)? })
    }
}

/// The exponent b of the curve y = a·x^b that fits best: 1 is growth in proportion. `None` with fewer than two points.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / float(values.len());
    let (x, y) = (mean(logs.iter().map(|log| log.0).collect()), mean(logs.iter().map(|log| log.1).collect()));
    let spread: f64 = logs.iter().map(|log| (log.0 - x).powi(2)).sum();
    let common: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    (logs.len() > 1 && spread > 0.0).then(|| common / spread)
}

#[expect(clippy::cast_precision_loss, reason = "nothing here is counted to 2^52")]
pub fn float(count: usize) -> f64 {
    count as f64
}
