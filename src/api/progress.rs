//! How far a stage has moved, as users write it: `20%`, `12.5%`.

use std::{fmt, str::FromStr};

use super::text::as_text;

/// The pattern that the CRDs carry: from 0.01 to 100.
pub const PATTERN: &str = r"^(100|[1-9][0-9]?(\.[0-9]{1,2})?|0\.(0[1-9]|[1-9][0-9]?))%$";

/// A part of the way from old to new, in hundredths of a percent (10000 is all of it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Progress(u16);

/// Why a text is not a progress.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a progress; write a percentage from 0.01% to 100%, such as 25% or 12.5%")]
pub struct NotAProgress(String);

impl Progress {
    /// The end of the way.
    pub const ALL: Self = Self(10_000);

    /// Whole percents, at most 100.
    pub fn percent(percent: u32) -> Self {
        Self(u16::try_from(percent.min(100) * 100).unwrap_or(10_000))
    }

    /// This part of so many units, rounded down.
    pub fn of(self, units: u32) -> u32 {
        u32::try_from(u64::from(units) * self.basis_points() / Self::ALL.basis_points()).unwrap_or(units)
    }

    /// The smallest number of units of which this part is at least one.
    pub fn least_total(self) -> u32 {
        u32::try_from(Self::ALL.basis_points().div_ceil(self.basis_points().max(1))).unwrap_or(u32::MAX)
    }

    /// In hundredths of a percent, 0 to 10000.
    pub const fn basis_points(self) -> u64 {
        self.0 as u64
    }
}

impl FromStr for Progress {
    type Err = NotAProgress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || NotAProgress(text.chars().take(40).collect());
        let number = text.strip_suffix('%').ok_or_else(error)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let plain = |part: &str, most: usize| {
            (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !plain(whole, 3) || !plain(fraction, 2) {
            return Err(error());
        }
        let hundredths: u16 = format!("{fraction:0<2}").parse().map_err(|_| error())?;
        let whole: u16 = whole.parse().map_err(|_| error())?;
        match whole * 100 + hundredths {
            points @ 1..=10_000 => Ok(Self(points)),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => write!(f, "{whole}%"),
            (whole, part) if part % 10 == 0 => write!(f, "{whole}.{}%", part / 10),
            (whole, part) => write!(f, "{whole}.{part:02}%"),
        }
    }
}

as_text!(Progress, PATTERN, 6);

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn reads_percentages_and_writes_them_back() {
        for (text, points) in [("5%", 500), ("12.5%", 1250), ("0.01%", 1), ("33.33%", 3333), ("100%", 10_000)] {
            let read: Progress = text.parse().unwrap();
            assert_eq!((read.basis_points(), read.to_string()), (points, text.to_owned()));
        }
    }

    #[test]
    fn refuses_what_is_no_part_of_the_way() {
        for text in ["0%", "101%", "5", "-5%", "1.234%", "%", "5.%", "100.01%", "1e1%"] {
            assert!(text.parse::<Progress>().is_err(), "{text}");
        }
    }
}
