//! Durations as users write them: GEP-2257, whole `h m s ms`, no sign (`1h30m`, `500ms`).

use std::{fmt, str::FromStr};

use super::text::as_text;

/// The pattern that the CRDs carry.
pub const PATTERN: &str = "^([0-9]{1,5}(h|m|s|ms)){1,4}$";

/// A span of time in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration; write whole numbers with h, m, s or ms, such as 1h30m")]
pub struct NotADuration(String);

impl Duration {
    /// Nothing at all.
    pub const ZERO: Self = Self(0);

    /// From milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// From seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// In milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// In seconds, with their fraction.
    #[allow(clippy::cast_precision_loss)] // five digits of hours fit a double's 53 bits
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// The standard library's form.
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }

    /// Sum that stops at the largest value.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Difference that stops at zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl FromStr for Duration {
    type Err = NotADuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || NotADuration(text.chars().take(40).collect());
        let mut rest = text;
        let mut millis = 0_u64;
        for _ in 0..4 {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if !(1..=5).contains(&digits) {
                return Err(error());
            }
            let number: u64 = rest[..digits].parse().map_err(|_| error())?;
            rest = &rest[digits..];
            let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
            millis += number
                * match &rest[..letters] {
                    "h" => 3_600_000,
                    "m" => 60_000,
                    "s" => 1000,
                    "ms" => 1,
                    _ => return Err(error()),
                };
            rest = &rest[letters..];
            if rest.is_empty() {
                return Ok(Self(millis));
            }
        }
        Err(error())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (unit, size) in [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] {
            if rest >= size {
                write!(f, "{}{unit}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    }
}

as_text!(Duration, PATTERN, 32);

#[cfg(test)]
mod tests {
    use super::Duration;

    #[test]
    fn reads_what_gep_2257_allows_and_writes_it_back() {
        for (text, millis, canonical) in [
            ("1h30m", 5_400_000, "1h30m"),
            ("90s", 90_000, "1m30s"),
            ("500ms", 500, "500ms"),
            ("0s", 0, "0s"),
            ("1h2m3s4ms", 3_723_004, "1h2m3s4ms"),
        ] {
            let read: Duration = text.parse().unwrap();
            assert_eq!((read.as_millis(), read.to_string()), (millis, canonical.into()), "{text}");
        }
    }

    #[test]
    fn refuses_signs_fractions_other_units_and_nothing() {
        for text in ["", "5", "-5m", "1.5h", "1ns", "1d", "123456s", "1h1h1h1h1h", "5 m", "10s!!"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }
}
