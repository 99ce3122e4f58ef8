//! How long to leave something alone before the next try.

use std::time::Duration;

use backoff::{BackoffBuilder, ExponentialBuilder};
use tokio::time::Instant;

/// The least time between two writes to one route: a fight with another writer stays slow, and a person can still read along.
pub(super) const LEAST: Duration = Duration::from_secs(1);
/// The most time between two tries: whatever was repaired is seen within this time.
const MOST: Duration = Duration::from_secs(10);

/// The waits between tries that fail in a row: doubling from a least to a most, without end; by default from [`LEAST`] to
/// [`MOST`].
#[derive(Debug)]
pub(super) struct Waits(<ExponentialBuilder as BackoffBuilder>::Backoff);

impl Default for Waits {
    fn default() -> Self {
        Self::between(LEAST, MOST)
    }
}

impl Waits {
    fn between(least: Duration, most: Duration) -> Self {
        let doubling = ExponentialBuilder::new().with_min_delay(least).with_max_delay(most);
        Self(doubling.without_max_times().build())
    }

    /// How long to wait after the failure just now.
    pub(super) fn after_failure(&mut self) -> Duration {
        self.0.next().unwrap_or(MOST)
    }
}

/// When something may be tried again: at once at first, then after [`Waits`] while it fails.
#[derive(Debug)]
pub(super) struct Backoff {
    least: Duration,
    most: Duration,
    waits: Waits,
    not_before: Option<Instant>,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::between(LEAST, MOST)
    }
}

impl Backoff {
    /// Waits from `least`, also after a success, to `most`.
    pub(super) fn between(least: Duration, most: Duration) -> Self {
        Self { least, most, waits: Waits::between(least, most), not_before: None }
    }

    /// The time until which it must be left alone, if that is not past.
    pub(super) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        self.not_before.filter(|at| *at > now)
    }

    /// It was tried and succeeded.
    pub(super) fn succeeded(&mut self, now: Instant) {
        *self = Self { not_before: Some(now + self.least), ..Self::between(self.least, self.most) };
    }

    /// It was tried and failed.
    pub(super) fn failed(&mut self, now: Instant) {
        self.not_before = Some(now + self.waits.after_failure());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_try_is_never_delayed() {
        assert_eq!(Backoff::default().blocked_until(Instant::now()), None);
    }

    #[test]
    fn waits_double_up_to_the_most_and_a_success_forgets_them() {
        let now = Instant::now();
        let mut backoff = Backoff::default();
        let waits: Vec<u64> = (0..7)
            .map(|_| {
                backoff.failed(now);
                (backoff.blocked_until(now).unwrap() - now).as_secs()
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10, 10]);
        backoff.succeeded(now);
        assert_eq!(backoff.blocked_until(now), Some(now + LEAST));
        assert_eq!(backoff.blocked_until(now + LEAST), None);
        backoff.failed(now);
        assert_eq!(backoff.blocked_until(now), Some(now + LEAST), "the first failure after a success");
    }
}
