//! When steps may be taken: days and times of day in a time zone.

use std::{fmt, str::FromStr};

use jiff::civil::{Time, Weekday};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::text::as_text;

/// The pattern of days that the CRDs carry.
pub const DAYS_PATTERN: &str = "^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)(-(Mon|Tue|Wed|Thu|Fri|Sat|Sun))?(,(Mon|Tue|Wed|Thu|Fri|Sat|Sun)(-(Mon|Tue|Wed|Thu|Fri|Sat|Sun))?)*$";
/// The pattern of times of day that the CRDs carry.
pub const TIME_PATTERN: &str = "^([01][0-9]|2[0-3]):[0-5][0-9]$";

/// A time of day at which steps may begin, on some days of the week.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.from != self.to").message("a window's from and to must differ"))]
pub struct Window {
    /// The days on which it opens: `Mon-Fri`, `Sat,Sun`, `Fri-Mon`. Default: every day.
    #[serde(default)]
    pub days: Days,
    /// Opening time, such as `09:00`: the first instant at which clocks show it.
    pub from: TimeOfDay,
    /// Closing time: the next instant at which clocks show it; on the following day if it is not later than `from`.
    pub to: TimeOfDay,
    /// A time zone of the IANA database, such as `Europe/Berlin`.
    #[serde(default = "utc")]
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: String,
}

const WEEK: [(&str, Weekday); 7] = [
    ("Mon", Weekday::Monday),
    ("Tue", Weekday::Tuesday),
    ("Wed", Weekday::Wednesday),
    ("Thu", Weekday::Thursday),
    ("Fri", Weekday::Friday),
    ("Sat", Weekday::Saturday),
    ("Sun", Weekday::Sunday),
];

/// Days of the week, from Monday; `true` for the chosen ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days([bool; 7]);

/// Why a text is not a list of days.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} are no days; write Mon, Tue, Wed, Thu, Fri, Sat, Sun, ranges and lists of them, such as Mon-Thu,Sat")]
pub struct NotDays(String);

/// A time of day, in whole minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay(Time);

/// Why a text is not a time of day.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no time of day; write hours and minutes, from 00:00 to 23:59")]
pub struct NotATimeOfDay(String);

impl Days {
    /// Whether a day is chosen.
    pub fn contains(self, day: Weekday) -> bool {
        WEEK.iter().zip(self.0).any(|((_, known), meant)| meant && *known == day)
    }
}

impl TimeOfDay {
    /// As a civil time.
    pub const fn time(self) -> Time {
        self.0
    }
}

impl Default for Days {
    fn default() -> Self {
        Self([true; 7])
    }
}

impl FromStr for Days {
    type Err = NotDays;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || NotDays(text.chars().take(40).collect());
        let place = |name: &str| WEEK.iter().position(|(known, _)| *known == name).ok_or_else(error);
        let mut days = [false; 7];
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (place(first)?, place(last)?);
            // A range may go over the end of the week: Fri-Mon.
            let length = (last + 7 - first) % 7;
            (first..=first + length).for_each(|day| days[day % 7] = true);
        }
        Ok(Self(days))
    }
}

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meant: Vec<usize> = (0..7).filter(|day| self.0[*day]).collect();
        let ranges = meant.chunk_by(|day, next| day + 1 == *next).map(|range| match range {
            [first, .., last] => format!("{}-{}", WEEK[*first].0, WEEK[*last].0),
            days => days.iter().map(|day| WEEK[*day].0).collect(),
        });
        f.write_str(&ranges.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for TimeOfDay {
    type Err = NotATimeOfDay;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || NotATimeOfDay(text.chars().take(40).collect());
        let (hour, minute) = text.split_once(':').ok_or_else(error)?;
        let number = |part: &str| {
            let plain = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse().ok().filter(|_| plain).ok_or_else(error)
        };
        Time::new(number(hour)?, number(minute)?, 0, 0).map(Self).map_err(|_| error())
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0.hour(), self.0.minute())
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}-{} {}", self.days, self.from, self.to, self.time_zone)
    }
}

as_text!(Days, DAYS_PATTERN, 64);

as_text!(TimeOfDay, TIME_PATTERN, 5);

fn utc() -> String {
    "UTC".to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Days, TimeOfDay};

    #[test]
    fn reads_days_and_writes_them_out() {
        for (text, days) in [
            ("Mon,Tue,Wed-Fri", "Mon-Fri"),
            ("Fri-Mon", "Mon,Fri-Sun"),
            ("Sun,Tue", "Tue,Sun"),
            ("Wed-Wed,Mon", "Mon,Wed"),
        ] {
            assert_eq!(text.parse::<Days>().unwrap().to_string(), days);
        }
        for text in ["", "Mon-", "mon", "Monday", "Mon,,Tue", "Mon-Tue-Wed", "Mon Tue", "*"] {
            assert!(text.parse::<Days>().is_err(), "{text}");
        }
    }

    #[test]
    fn reads_times_of_day() {
        for text in ["00:00", "09:05", "23:59"] {
            assert_eq!(text.parse::<TimeOfDay>().unwrap().to_string(), text);
        }
        for text in ["24:00", "9:00", "09:60", "09:00:00", "0900", "-1:00", "+1:00"] {
            assert!(text.parse::<TimeOfDay>().is_err(), "{text}");
        }
    }
}
