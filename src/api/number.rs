//! A measured number as people read it: the same digits in every message and on every screen.

/// Significant digits: more than checks can tell apart.
const DIGITS: i32 = 3;

/// With three significant digits, without trailing zeros: `31`, `0.204`, `91204`.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return (value + 0.0).to_string();
    }
    // The exponent as it is after rounding: 9.996 is written as 10.
    let rounded = format!("{value:.*e}", usize::try_from(DIGITS - 1).unwrap_or(0));
    let exponent: i32 = rounded.rsplit('e').next().and_then(|exponent| exponent.parse().ok()).unwrap_or(0);
    let digits = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Counted requests: whole ones, although Prometheus extrapolates.
pub fn count(samples: f64) -> String {
    format!("{:.0}", samples + 0.0)
}

#[cfg(test)]
mod tests {
    use super::{count, number};

    #[test]
    fn numbers_keep_the_digits_that_matter() {
        let shown = [91204.4, 12.34, 0.07, 0.2049, 0.0004, 0.000_012_34, 9.996, 0.0, -0.0, 5.0].map(number);
        assert_eq!(shown, ["91204", "12.3", "0.07", "0.205", "0.0004", "0.0000123", "10", "0", "0", "5"]);
    }

    #[test]
    fn requests_are_whole() {
        assert_eq!([46.428_571, 0.4, 29_911.0].map(count), ["46", "0", "29911"]);
    }
}
