//! The observed shares of members, compared with the desired ones. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::world::Counts;
use crate::api::Distribution;

/// Requests behind each share that is shown: fewer would move by a point or two by chance alone.
pub(super) const REQUESTS: u64 = 2000;
/// Four times what chance moves a share of so many requests.
const POINTS: f64 = 4.0;

/// One service at one time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shares {
    pub(super) service: String,
    /// Requests that were counted.
    pub(super) requests: u64,
    pub(super) members: Vec<MemberShare>,
}

/// One member's part, in percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MemberShare {
    pub(super) member: String,
    /// By the rollout's status.
    pub(super) desired: u32,
    /// By the live route.
    pub(super) applied: u32,
    /// By the member's own counters.
    pub(super) observed: f64,
}

impl Shares {
    pub(super) fn new(service: &str, desired: &Distribution, applied: &Distribution, counted: &Counted) -> Self {
        let requests = counted.values().sum();
        let member = |(member, count): (&String, &u64)| MemberShare {
            member: member.clone(),
            desired: desired.weight(member),
            applied: applied.weight(member),
            observed: percent(*count, requests),
        };
        Self { service: service.to_owned(), requests, members: counted.iter().map(member).collect() }
    }

    /// What is wrong, the canary's weight being `expected`.
    pub(super) fn wrong(&self, canary: &str, expected: u32) -> Option<String> {
        let service = &self.service;
        if self.requests < REQUESTS {
            return Some(format!("{service}: {} requests are too few to judge", self.requests));
        }
        self.members.iter().find_map(|one| {
            let MemberShare { member, desired, applied, observed } = one;
            if member == canary && *desired != expected {
                Some(format!("{service}: {member} is desired at {desired} %, not {expected} %"))
            } else if desired != applied {
                Some(format!("{service}: {member} is desired at {desired} %, but the route says {applied} %"))
            } else if (observed - f64::from(*desired)).abs() > POINTS {
                Some(format!("{service}: {member} is desired at {desired} %, but observed at {observed:.1} %"))
            } else {
                None
            }
        })
    }

    pub(super) fn of(&self, member: &str) -> Option<&MemberShare> {
        self.members.iter().find(|one| one.member == member)
    }
}

/// Requests of one service by member.
pub(super) type Counted = BTreeMap<String, u64>;

/// What arrived between two counts, by service.
pub(super) fn between(before: &Counts, after: &Counts) -> BTreeMap<String, Counted> {
    let grown = |service: &String, member: &String, count: u64| {
        count.saturating_sub(before.get(service).and_then(|counts| counts.get(member)).copied().unwrap_or(0))
    };
    let counted = |(service, counts): (&String, &Counted)| {
        let grown = counts.iter().map(|(member, count)| (member.clone(), grown(service, member, *count)));
        (service.clone(), grown.collect())
    };
    after.iter().map(counted).collect()
}

/// A part in percent, rounded to a tenth.
pub(super) fn percent(part: u64, whole: u64) -> f64 {
    let exact = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    (1000.0 * exact(part) / exact(whole.max(1))).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(desired: u32, applied: u32, counted: [u64; 2]) -> Shares {
        let both = |canary: u32| Distribution::from([("eu-1".to_owned(), 100 - canary), ("eu-3".to_owned(), canary)]);
        let counted = Counted::from([("eu-1".to_owned(), counted[0]), ("eu-3".to_owned(), counted[1])]);
        Shares::new("shop", &both(desired), &both(applied), &counted)
    }

    #[test]
    fn a_share_is_right_within_what_chance_moves() {
        assert_eq!(shares(25, 25, [1500, 500]).wrong("eu-3", 25), None);
        assert_eq!(shares(25, 25, [1580, 420]).wrong("eu-3", 25), None);
        assert_eq!(shares(5, 5, [1900, 100]).of("eu-3").map(|one| one.observed), Some(5.0));
    }

    #[test]
    fn every_wrong_share_is_seen() {
        for (shares, why) in [
            (shares(25, 25, [1400, 599]), "shop: 1999 requests are too few to judge"),
            (shares(25, 25, [1400, 600]), "shop: eu-1 is desired at 75 %, but observed at 70.0 %"),
            (shares(5, 5, [2000, 0]), "shop: eu-1 is desired at 95 %, but observed at 100.0 %"),
            (shares(25, 20, [1500, 500]), "shop: eu-1 is desired at 75 %, but the route says 80 %"),
            (shares(50, 50, [1000, 1000]), "shop: eu-3 is desired at 50 %, not 25 %"),
        ] {
            assert_eq!(shares.wrong("eu-3", 25).as_deref(), Some(why));
        }
    }

    #[test]
    fn only_what_arrived_in_between_counts() {
        let at = |one, other| {
            Counts::from([("shop".to_owned(), Counted::from([("eu-1".to_owned(), one), ("eu-3".to_owned(), other)]))])
        };
        assert_eq!(between(&at(10, 5), &at(40, 15)), at(30, 10));
    }
}
