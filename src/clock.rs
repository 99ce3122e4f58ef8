//! The one place that reads the wall clock.

use std::time::Duration;

use jiff::{Timestamp, Unit};

/// The time of day, in whole milliseconds, so that what is recorded reads back as it was.
#[must_use]
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now)
}

/// How long it is from `now` to `at`; zero if that is past.
#[must_use]
pub fn time_until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_now() {
        let now = now();
        assert_eq!(time_until(now - Duration::from_secs(5), now), Duration::ZERO);
        assert_eq!(time_until(now + Duration::from_secs(5), now), Duration::from_secs(5));
    }

    #[test]
    fn a_recorded_time_reads_back_as_it_was() {
        let now = now();
        assert_eq!(now.subsec_nanosecond() % 1_000_000, 0);
        assert_eq!(now.to_string().parse::<Timestamp>().unwrap(), now);
    }
}
