//! Durations as programs in Go read them: `1m30s`, `1.5h`, `250ms`.

use crate::api::Duration;

/// Nanoseconds of the units.
const UNITS: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];
/// The longest that is read.
const LONGEST: f64 = 99_999.0 * 3600e9;

/// The duration in whole milliseconds, if the text is one without a sign.
pub(super) fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut nanoseconds = 0.0;
    while !rest.is_empty() || text.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        let (number, after) = rest.split_at(digits);
        let letters = after.len() - after.trim_start_matches(char::is_alphabetic).len();
        let (unit, after) = after.split_at(letters);
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        nanoseconds += number.parse::<f64>().ok()? * size;
        rest = after;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // neither negative nor larger than the longest
    (nanoseconds <= LONGEST).then(|| Duration::from_millis((nanoseconds / 1e6) as u64))
}

#[cfg(test)]
mod tests {
    use super::{Duration, go_duration};

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, millis) in
            [("30s", 30_000), ("1m30s", 90_000), ("1.5h", 5_400_000), ("250ms", 250), ("1h0m0.5s", 3_600_500)]
        {
            assert_eq!(go_duration(text).map(Duration::as_millis), Some(millis), "{text}");
        }
        for text in ["", "5", "-5m", "1d", "m", "5 m", "1..5h", "1000000h"] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }
}
