//! The calls of the hub to each member, and how they were answered: the truth behind what it writes of a member's health.

use std::{collections::VecDeque, time::Duration};

use jiff::Timestamp;
use tokio::time::Instant;

/// Two checks of a member's health are so far apart, when nothing but another member is in trouble.
const BETWEEN_CHECKS: Duration = Duration::from_secs(30);
/// One member's trouble delays another's check by no more.
const DELAY: Duration = Duration::from_millis(100);
/// Nobody is called more often within this time than `MANY` times.
const WITHIN: Duration = Duration::from_secs(10);
const MANY: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Door {
    ApiServer,
    Endpoint,
    Prometheus,
}

impl Door {
    /// The condition of a member that says whether this door answers.
    pub const fn condition(self) -> &'static str {
        match self {
            Self::ApiServer => "Reachable",
            Self::Endpoint => "EndpointsReady",
            Self::Prometheus => "MetricsAvailable",
        }
    }
}

/// The calls at one door.
#[derive(Default)]
pub struct Calls {
    /// When it last answered as it should.
    pub well: Option<Timestamp>,
    /// When it last answered otherwise, or not at all.
    pub badly: Option<Timestamp>,
    /// The last check of the member's health, by which instance, and the longest time between two of one instance.
    check: Option<(usize, Instant)>,
    longest: Duration,
    recent: VecDeque<Timestamp>,
    /// It was called this often within ten seconds.
    pub hot: Option<usize>,
}

impl Calls {
    /// A call comes.
    pub fn count(&mut self, now: Timestamp) {
        let old = |at: &Timestamp| now.duration_since(*at).unsigned_abs() > WITHIN;
        while self.recent.front().is_some_and(old) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        if self.recent.len() > MANY {
            self.hot = Some(self.recent.len());
        }
    }

    /// A check of the member's health comes, from this instance, at a time of its runtime.
    pub fn check(&mut self, instance: usize, now: Instant) {
        if let Some((_, last)) = self.check.replace((instance, now)).filter(|(before, _)| *before == instance) {
            self.longest = self.longest.max(now.duration_since(last));
        }
    }

    /// The longest time between two checks, if one was late.
    pub fn late(&self) -> Option<Duration> {
        (self.longest > BETWEEN_CHECKS + DELAY).then_some(self.longest)
    }
}
