//! What was counted up to one time.

use super::{drive::Drive, figures::float};

/// Runs, requests of the hub, events that it made, and what people requested that is still there.
#[derive(Clone, Copy)]
pub struct Count {
    /// Those that ended.
    pub runs: f64,
    live_runs: f64,
    pub requests: f64,
    pub watches: f64,
    pub events: f64,
    pub kept_requests: f64,
}

impl Count {
    pub fn of(drive: &Drive) -> Self {
        let calls = drive.world.calls();
        Self {
            runs: float(drive.stored.runs()),
            live_runs: float(drive.stored.live_runs()),
            requests: float(calls.requests()),
            watches: float(calls.watches),
            events: float(drive.stored.events_made),
            kept_requests: float(drive.stored.requests.len()),
        }
    }

    pub fn requests_per_run(self, since: Self) -> f64 {
        (self.requests - since.requests) / (self.work() - since.work())
    }

    pub fn events_per_run(self, since: Self) -> f64 {
        (self.events - since.events) / (self.work() - since.work())
    }

    /// Runs that were made: those that are live are half done, on average.
    fn work(self) -> f64 {
        self.runs + self.live_runs / 2.0
    }
}
