//! The observed shares of members, compared with the desired ones. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::world::Counts;
use crate::api::Distribution;

/// Chance moves a share by so many standard deviations once in 150,000 counts.
const DEVIATIONS: f64 = 4.5;
/// Points that requests may make which were under way when the weights changed.
const UNDER_WAY: f64 = 1.0;

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
    /// Points by which observed may differ from desired.
    pub(super) within: f64,
}

impl Shares {
    pub(super) fn new(service: &str, desired: &Distribution, applied: &Distribution, counted: &Counted) -> Self {
        let requests = counted.values().sum();
        let member = |(member, count): (&String, &u64)| MemberShare {
            member: member.clone(),
            desired: desired.weight(member),
            applied: applied.weight(member),
            observed: percent(*count, requests),
            within: tolerance(desired.weight(member), requests),
        };
        Self { service: service.to_owned(), requests, members: counted.iter().map(member).collect() }
    }

    /// What is wrong, the canary's weight being `expected`; fewer requests than `least` are not judged.
    pub(super) fn wrong(&self, canary: &str, expected: u32, least: u64) -> Option<String> {
        let service = &self.service;
        if self.requests < least {
            return Some(format!("{service}: {} requests are too few to judge", self.requests));
        }
        self.members.iter().find_map(|one| {
            let MemberShare { member, desired, applied, observed, within } = one;
            if member == canary && *desired != expected {
                Some(format!("{service}: {member} is desired at {desired} %, not {expected} %"))
            } else if desired != applied {
                Some(format!("{service}: {member} is desired at {desired} %, but the route says {applied} %"))
            } else if (observed - f64::from(*desired)).abs() > *within {
                Some(format!(
                    "{service}: {member} is desired at {desired} %, but observed at {observed:.1} %, which is not within \
                     {within:.1} points"
                ))
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
    tenths(100.0 * exact(part) / exact(whole.max(1)))
}

/// Points by which chance may move a share (percent) of so many requests: each is sent by chance, so their count is binomial.
fn tolerance(share: u32, requests: u64) -> f64 {
    let part = f64::from(share.min(100)) / 100.0;
    let deviation = (part * (1.0 - part) / exact(requests.max(1))).sqrt();
    tenths((100.0 * DEVIATIONS * deviation).max(UNDER_WAY))
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn exact(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
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
        assert_eq!(shares(25, 25, [1500, 500]).wrong("eu-3", 25, 2000), None);
        assert_eq!(shares(25, 25, [1580, 420]).wrong("eu-3", 25, 2000), None);
        assert_eq!(shares(5, 5, [1900, 100]).of("eu-3").map(|one| one.observed), Some(5.0));
    }

    #[test]
    fn the_tolerance_follows_from_the_number_of_requests() {
        let of = |requests| [0, 5, 25, 50, 100].map(|share| tolerance(share, requests).to_string()).join(" ");
        assert_eq!(of(1000), "1 3.1 6.2 7.1 1");
        assert_eq!(of(2000), "1 2.2 4.4 5 1");
        assert_eq!(of(20_000), "1 1 1.4 1.6 1");
    }

    #[test]
    fn every_wrong_share_is_seen() {
        for (shares, why) in [
            (shares(25, 25, [1400, 599]), "shop: 1999 requests are too few to judge"),
            (
                shares(25, 25, [1400, 600]),
                "shop: eu-1 is desired at 75 %, but observed at 70.0 %, which is not within 4.4 points",
            ),
            (
                shares(5, 5, [2000, 0]),
                "shop: eu-1 is desired at 95 %, but observed at 100.0 %, which is not within 2.2 points",
            ),
            (shares(25, 20, [1500, 500]), "shop: eu-1 is desired at 75 %, but the route says 80 %"),
            (shares(50, 50, [1000, 1000]), "shop: eu-3 is desired at 50 %, not 25 %"),
        ] {
            assert_eq!(shares.wrong("eu-3", 25, 2000).as_deref(), Some(why));
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
