//! The one place that reads the wall clock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp, Unit};
use tokio::time::Instant;

/// The wall clock. Cheap to clone; clones share one clock.
#[derive(Clone, Debug, Default)]
pub struct Clock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    Virtual(Arc<Virtual>),
}

/// A wall clock that advances with tokio's time.
#[derive(Debug)]
struct Virtual {
    origin: Timestamp,
    since: Instant,
    /// In milliseconds.
    skew: AtomicI64,
}

impl Clock {
    /// A clock that shows `origin` now and advances with tokio's time, which a test may pause.
    #[must_use]
    pub fn starting_at(origin: Timestamp) -> Self {
        Self(Source::Virtual(Arc::new(Virtual { origin, since: Instant::now(), skew: AtomicI64::new(0) })))
    }

    /// The present time in whole milliseconds, so that a recorded time reads back unchanged.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let now = match &self.0 {
            Source::System => Timestamp::now(),
            Source::Virtual(clock) => clock.now(),
        };
        now.round(Unit::Millisecond).unwrap_or(now)
    }

    /// Sets the offset of a virtual clock from the true time; has no effect on the system's clock.
    pub fn set_wrong(&self, by: SignedDuration) {
        match &self.0 {
            Source::System => {}
            Source::Virtual(clock) => {
                let millis = i64::try_from(by.as_millis()).unwrap_or_default();
                clock.skew.store(millis, Ordering::Relaxed);
            }
        }
    }
}

impl Virtual {
    fn now(&self) -> Timestamp {
        let skew = SignedDuration::from_millis(self.skew.load(Ordering::Relaxed));
        self.origin + self.since.elapsed() + skew
    }
}

/// The duration from `now` to `at`; zero if that is past.
#[must_use]
pub(crate) fn time_until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_now() {
        let now = Clock::default().now();
        assert_eq!(time_until(now - Duration::from_secs(5), now), Duration::ZERO);
        assert_eq!(time_until(now + Duration::from_secs(5), now), Duration::from_secs(5));
    }

    #[test]
    fn a_recorded_time_reads_back_as_it_was() {
        let now = Clock::default().now();
        assert_eq!(now.subsec_nanosecond() % 1_000_000, 0);
        assert_eq!(now.to_string().parse::<Timestamp>().unwrap(), now);
    }

    #[tokio::test(start_paused = true)]
    async fn a_virtual_clock_goes_on_with_tokio_and_can_be_wrong() {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(clock.now().as_second(), 90);
        clock.clone().set_wrong(SignedDuration::from_secs(-30));
        assert_eq!(clock.now().as_second(), 60);
    }
}
