//! `increase` and `rate`, with Prometheus' extrapolation to the whole window.

use std::time::Duration;

use jiff::Timestamp;

use super::seconds;

/// A first or last sample within so many intervals of the window's border is thought to reach to it.
const REACHES: f64 = 1.1;

/// What a counter gained in the window that ends at `at`; none with fewer than two samples.
#[expect(clippy::cast_precision_loss, reason = "an hour holds no 2^52 samples")]
pub(super) fn increase(samples: &[(Timestamp, f64)], window: Duration, at: Timestamp) -> Option<f64> {
    let ((first, first_value), (last, last_value)) = match samples {
        [first, .., last] => (*first, *last),
        [] | [_] => return None,
    };
    // A counter that falls began anew: what it had before is not lost.
    let resets: f64 = samples.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[0].1).sum();
    let gained = last_value - first_value + resets;
    let span = seconds(last) - seconds(first);
    let interval = span / (samples.len() - 1) as f64;
    let reach = |gap: f64| if gap >= interval * REACHES { interval / 2.0 } else { gap };
    let mut before = reach(window.as_secs_f64() - (seconds(at) - seconds(first)));
    if gained > 0.0 && first_value >= 0.0 {
        // No counter was ever below zero.
        before = before.min(span * first_value / gained);
    }
    let after = reach(seconds(at) - seconds(last));
    Some(gained * (span + before + after) / span)
}
