//! How long to leave something alone before the next try.

use std::time::Duration;

use tokio::time::Instant;

/// The least time between two writes to one route: a fight with another writer stays slow, and a person can still read along.
pub(super) const LEAST: Duration = Duration::from_secs(1);
/// The most time between two tries: whatever was repaired is seen within this time.
const MOST: Duration = Duration::from_secs(10);

/// When something may be tried again: at once at first, then doubling from [`LEAST`] to [`MOST`] while it fails.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    not_before: Option<Instant>,
}

impl Backoff {
    /// The time until which it must be left alone, if that is not past.
    pub(super) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        self.not_before.filter(|at| *at > now)
    }

    /// It was tried and succeeded.
    pub(super) fn succeeded(&mut self, now: Instant) {
        *self = Self { failures: 0, not_before: Some(now + LEAST) };
    }

    /// It was tried and failed.
    pub(super) fn failed(&mut self, now: Instant) {
        *self = Self { failures: self.failures + 1, not_before: Some(now + wait_after(self.failures)) };
    }
}

/// How long to wait after so many failures before the one just now.
pub(super) fn wait_after(failures: u32) -> Duration {
    LEAST.saturating_mul(1 << failures.min(10)).min(MOST)
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
    }
}
