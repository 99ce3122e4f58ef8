//! How many turns there are: fewer while the API server is overloaded, more while it keeps up. Additive increase and
//! multiplicative decrease, as TCP finds its share of a link (RFC 5681, section 3.1).

use std::time::Duration;

use tokio::time::Instant;

/// Before anything is known of the API server.
const FIRST: f64 = 8.0;
const LEAST: f64 = 2.0;
const MOST: f64 = 64.0;
/// What a round of answers adds: TCP adds one, but what is sent too much here is a write that nobody takes back.
const MORE: f64 = 0.2;
/// What was sent before a decrease says nothing about it.
const DECREASE_EVERY: Duration = Duration::from_secs(1);
/// A call of the hub's own kinds that takes longer says that the API server has too much to do: half of Kubernetes' own
/// objective for a write, which is one second in 99 of 100 cases.
const SLOW: Duration = Duration::from_millis(500);

/// For so long an overload explains what came late, and is not reported again.
pub(super) const RECENT: Duration = Duration::from_mins(1);

/// What a call said about the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hub) enum Load {
    /// It was answered in time.
    Answered(Duration),
    /// It was not answered in time, or put off: 429, 503, 504.
    Overloaded,
}

/// The bound on the calls that are under way.
#[derive(Debug)]
pub(super) struct Limit {
    most: f64,
    decreased_at: Option<Instant>,
    overloaded_at: Option<Instant>,
}

impl Default for Limit {
    fn default() -> Self {
        Self { most: FIRST, decreased_at: None, overloaded_at: None }
    }
}

impl Limit {
    /// Turns that there may be at a time.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 2 and 64")]
    pub(super) const fn most(&self) -> usize {
        self.most as usize
    }

    /// When the API server was overloaded the last time.
    pub(super) const fn overloaded_at(&self) -> Option<Instant> {
        self.overloaded_at
    }

    /// Takes what a call said, while so many were under way. True if the API server became overloaded by it.
    pub(super) fn heard(&mut self, load: Load, under_way: usize, now: Instant) -> bool {
        match load {
            Load::Overloaded => {
                self.decrease(0.5, now);
                let before = self.overloaded_at.replace(now);
                before.is_none_or(|before| now - before > RECENT)
            }
            Load::Answered(after) if after > SLOW => {
                self.decrease(0.75, now);
                false
            }
            // A bound that nobody reaches says nothing about a higher one.
            Load::Answered(_) if under_way >= self.most() => {
                self.most = (self.most + MORE / self.most).min(MOST);
                false
            }
            Load::Answered(_) => false,
        }
    }

    fn decrease(&mut self, to: f64, now: Instant) {
        if self.decreased_at.is_none_or(|at| now - at >= DECREASE_EVERY) {
            self.most = (self.most * to).max(LEAST);
            self.decreased_at = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: Load = Load::Answered(Duration::from_millis(20));

    /// The bound after so many answers while all turns are taken.
    fn grown(limit: &mut Limit, answers: usize, now: Instant) -> usize {
        for _ in 0..answers {
            limit.heard(PROMPT, limit.most(), now);
        }
        limit.most()
    }

    #[tokio::test]
    async fn the_bound_grows_by_one_in_five_rounds_of_answers_while_it_is_reached() {
        let (mut limit, now) = (Limit::default(), Instant::now());
        limit.heard(PROMPT, 7, now);
        assert_eq!(limit.most(), 8, "it was not reached");
        assert_eq!((grown(&mut limit, 40, now), grown(&mut limit, 5, now)), (8, 9));
        assert_eq!(grown(&mut limit, 50_000, now), 64);
    }

    #[tokio::test]
    async fn an_overload_halves_it_once_a_second_and_never_below_two() {
        let (mut limit, mut now) = (Limit::default(), Instant::now());
        grown(&mut limit, 50_000, now);
        for expected in [32, 16, 8, 4, 2, 2] {
            for _ in 0..50 {
                limit.heard(Load::Overloaded, 64, now);
            }
            assert_eq!(limit.most(), expected);
            now += DECREASE_EVERY;
        }
    }

    #[tokio::test]
    async fn a_slow_answer_takes_a_quarter_and_is_no_overload() {
        let (mut limit, now) = (Limit::default(), Instant::now());
        limit.heard(Load::Answered(SLOW), 7, now);
        assert_eq!(limit.most(), 8);
        limit.heard(Load::Answered(SLOW * 2), 7, now);
        assert_eq!((limit.most(), limit.overloaded_at()), (6, None));
    }

    #[tokio::test]
    async fn an_overload_is_reported_once_until_a_minute_has_passed_without_one() {
        let (mut limit, now) = (Limit::default(), Instant::now());
        let after = |seconds| now + Duration::from_secs(seconds);
        let reported = [0, 1, 61, 121, 182].map(|at| limit.heard(Load::Overloaded, 8, after(at)));
        assert_eq!(reported, [true, false, false, false, true]);
        assert_eq!(limit.overloaded_at(), Some(after(182)));
    }
}
