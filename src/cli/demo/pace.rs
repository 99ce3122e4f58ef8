//! How fast time goes in the demo.

use std::str::FromStr;

use crate::api::Duration;

/// The API server takes no shorter interval or window.
const SHORTEST: u64 = 1000;

/// The times of a rollout that is shown in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace(f64);

impl Pace {
    pub(super) fn interval(self) -> Duration {
        Duration::from_millis(self.millis(1000.0).max(SHORTEST))
    }

    pub(super) fn window(self) -> Duration {
        Duration::from_millis(self.millis(1500.0).max(SHORTEST))
    }

    pub(super) fn bake(self) -> Duration {
        self.window()
    }

    pub(super) fn settle(self) -> Duration {
        Duration::from_millis(self.millis(300.0))
    }

    /// Counters are scraped five times a second, so a shorter lag would look into an interval that is not over.
    pub(super) fn lag(self) -> Duration {
        Duration::from_millis(self.millis(300.0).max(250))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand, and never negative")]
    fn millis(self, at_speed_one: f64) -> u64 {
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
    fn no_time_is_shorter_than_the_api_server_takes() {
        let fast: Pace = "2".parse().unwrap();
        assert_eq!((fast.interval(), fast.window()), (Duration::from_secs(1), Duration::from_secs(1)));
        let slow: Pace = "0.5".parse().unwrap();
        assert_eq!((slow.window(), slow.settle()), (Duration::from_secs(3), Duration::from_millis(600)));
        assert!(["0", "-1", "3", "nan", "fast"].iter().all(|text| text.parse::<Pace>().is_err()));
    }
}
