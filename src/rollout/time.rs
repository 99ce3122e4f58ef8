//! Arithmetic of instants that never overflows.

use jiff::{SignedDuration, Timestamp};

use crate::api::Duration;

/// `at` plus a time, or the last instant there is.
pub(super) fn later(at: Timestamp, time: Duration) -> Timestamp {
    at.checked_add(signed(time)).unwrap_or(Timestamp::MAX)
}

/// `at` minus a time, or the first instant there is.
pub(super) fn earlier(at: Timestamp, time: Duration) -> Timestamp {
    at.checked_sub(signed(time)).unwrap_or(Timestamp::MIN)
}

/// The time from `from` to `to`; zero if the clock went back.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0))
}

fn signed(time: Duration) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}
