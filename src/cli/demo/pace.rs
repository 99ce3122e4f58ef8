//! How fast time goes in the demo.

use std::str::FromStr;

use crate::api::Duration;

/// Time between two checks, the shortest that an API server takes. It is the same at every speed, so that a step ends when its
/// window is full, and not up to an interval later.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// The times of a rollout that is shown in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace(f64);

impl Pace {
    pub(super) fn window(self) -> Duration {
        Duration::from_millis(self.scaled(2000.0))
    }

    pub(super) fn bake(self) -> Duration {
        self.window()
    }

    pub(super) fn settle(self) -> Duration {
        Duration::from_millis(self.scaled(300.0))
    }

    /// Requests behind each share that is shown.
    pub(super) fn requests(self) -> u64 {
        self.scaled(2000.0)
    }

    /// Counters are scraped five times a second, so a shorter lag would look into an interval that is not over.
    pub(super) fn lag(self) -> Duration {
        Duration::from_millis(self.scaled(300.0).max(250))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand, and never negative")]
    /// A number that grows as time slows down: milliseconds, or requests at a steady rate.
    fn scaled(self, at_speed_one: f64) -> u64 {
        (at_speed_one / self.0).round() as u64
    }
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(speed) if (0.1..=2.0).contains(&speed) => Ok(Self(speed)),
            Ok(_) | Err(_) => Err("write a number from 0.1 to 2".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_counted_for_a_time_that_follows_the_speed() {
        let requests = ["0.1", "0.5", "1", "2"].map(|speed| speed.parse::<Pace>().unwrap().requests());
        assert_eq!(requests, [20_000, 4000, 2000, 1000]);
    }

    #[test]
    fn all_times_follow_and_none_is_shorter_than_the_api_server_takes() {
        let fast: Pace = "2".parse().unwrap();
        assert_eq!((fast.window(), fast.settle()), (Duration::from_secs(1), Duration::from_millis(150)));
        let slow: Pace = "0.5".parse().unwrap();
        assert_eq!((slow.window(), slow.settle()), (Duration::from_secs(4), Duration::from_millis(600)));
        assert!(["0", "-1", "3", "nan", "fast"].iter().all(|text| text.parse::<Pace>().is_err()));
    }
}
