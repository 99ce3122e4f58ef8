//! When a round of queries began, and whether a Prometheus agrees about the time.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::{Missing, client::SENT_WITHIN};

/// Clocks that agree so far are synchronised: a header Date has whole seconds, and NTP keeps machines within less than one.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(5);
/// A Date is as old as the answer, which may take five seconds.
const OLDEST: SignedDuration = SignedDuration::from_secs(10);

/// When a round of queries began, by the hub's clock and by one that never jumps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Began {
    time: Timestamp,
    instant: Instant,
}

impl Began {
    /// A round that begins now, which is `time` by the hub's clock.
    pub(crate) fn now(time: Timestamp) -> Self {
        Self { time, instant: Instant::now() }
    }

    /// Until when its queries may be sent.
    pub(super) fn sent_until(self) -> Instant {
        self.instant + SENT_WITHIN
    }

    /// The time by the hub's clock, as far as nobody sets it.
    pub(super) fn present(self) -> Timestamp {
        self.time.saturating_add(self.instant.elapsed()).unwrap_or(self.time)
    }

    /// A query is for a time of the hub's clock. Where the Prometheus that has just answered has another time, the answer
    /// is about another time: one before a weight was applied, perhaps. `date` is when it answered by its own clock.
    ///
    /// # Errors
    /// When the clocks differ.
    pub(super) fn check(self, date: Option<Timestamp>) -> Result<(), Missing> {
        let Some(date) = date else { return Ok(()) };
        let behind = date.duration_since(self.present());
        if behind > TOLERANCE {
            Err(Missing::ClockBehind(behind.as_secs()))
        } else if -behind > OLDEST {
            Err(Missing::ClockAhead(-behind.as_secs()))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn clocks_may_differ_by_seconds_and_an_answer_may_be_late() {
        let time: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let began = Began::now(time);
        tokio::time::advance(std::time::Duration::from_secs(4)).await;
        for (seconds, expected) in [
            (-7, Err(Missing::ClockAhead(11))),
            (-6, Ok(())),
            (0, Ok(())),
            (4, Ok(())),
            (9, Ok(())),
            (10, Err(Missing::ClockBehind(6))),
            (3600, Err(Missing::ClockBehind(3596))),
        ] {
            assert_eq!(began.check(Some(time + SignedDuration::from_secs(seconds))), expected, "{seconds}");
        }
        assert_eq!(began.check(None), Ok(()));
        assert!(began.check(Some(Timestamp::MAX)).is_err() && began.check(Some(Timestamp::MIN)).is_err());
    }
}
