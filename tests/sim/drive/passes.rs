//! I12: the hub does not look at a rollout again and again.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// Passes over one rollout in ten seconds that are still no hot loop: the shortest rest allows for five hundred.
const MOST: usize = 150;

/// Passes of the present ten seconds, by rollout.
#[derive(Default)]
pub struct Passes {
    bucket: i64,
    counts: BTreeMap<String, usize>,
}

impl Passes {
    /// Adds those over these rollouts; a rollout with too many, and how many.
    pub fn count(&mut self, rollouts: Vec<String>, now: Timestamp) -> Option<(&String, &usize)> {
        let bucket = now.as_second() / 10;
        if bucket != self.bucket {
            *self = Self { bucket, counts: BTreeMap::new() };
        }
        for rollout in rollouts {
            *self.counts.entry(rollout).or_default() += 1;
        }
        self.counts.iter().find(|(_, count)| **count > MOST)
    }
}
