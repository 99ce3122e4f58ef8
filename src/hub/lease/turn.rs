//! What to do with the Lease now; pure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use tokio::time::Instant;

use super::DURATION;

/// The Lease as it was last seen.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// What it says.
    pub(super) lease: Lease,
    /// Since when it has said that, by this machine's own clock: clocks of other machines are not compared.
    pub(super) since: Instant,
}

/// What to do with the Lease.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Turn {
    /// Make it.
    Create(Lease),
    /// Write it over the version that was seen.
    Replace(Lease),
    /// Another process holds it.
    Wait,
}

/// Takes news of the Lease; if it says what it said before, the old time counts.
pub(super) fn learn(known: Option<Known>, lease: Lease, now: Instant) -> Known {
    match known {
        Some(known) if known.lease.metadata.resource_version == lease.metadata.resource_version => known,
        _ => Known { lease, since: now },
    }
}

/// What `holder` does next.
pub(super) fn next(holder: &str, known: Option<&Known>, now: Instant, wall: Timestamp) -> Turn {
    let Some(Known { lease, since }) = known else {
        return Turn::Create(Lease { spec: Some(claim(holder, None, wall)), ..Lease::default() });
    };
    let spec = lease.spec.as_ref();
    let held_by = spec.and_then(|spec| spec.holder_identity.as_deref()).filter(|name| !name.is_empty());
    let free = held_by.is_none_or(|name| name == holder) || now >= *since + validity(spec);
    if !free {
        return Turn::Wait;
    }
    Turn::Replace(Lease { spec: Some(claim(holder, spec, wall)), ..lease.clone() })
}

/// The Lease without a holder.
pub(super) fn released(lease: &Lease, wall: Timestamp) -> Lease {
    let spec = lease.spec.clone().unwrap_or_default();
    let spec = LeaseSpec { holder_identity: None, renew_time: Some(MicroTime(wall)), ..spec };
    Lease { spec: Some(spec), ..lease.clone() }
}

/// The time that the holder wrote down; another version of the hub may use another one than this.
fn validity(spec: Option<&LeaseSpec>) -> Duration {
    let seconds = spec.and_then(|spec| spec.lease_duration_seconds).and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map_or(DURATION, Duration::from_secs).max(DURATION)
}

fn claim(holder: &str, before: Option<&LeaseSpec>, wall: Timestamp) -> LeaseSpec {
    let renewed = before.filter(|before| before.holder_identity.as_deref() == Some(holder));
    let transitions = before.and_then(|before| before.lease_transitions).unwrap_or(0);
    LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
        acquire_time: renewed.map_or(Some(MicroTime(wall)), |before| before.acquire_time.clone()),
        renew_time: Some(MicroTime(wall)),
        lease_transitions: Some(if renewed.is_some() { transitions } else { transitions.saturating_add(1) }),
        ..before.cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: Option<&str>, version: &str) -> Lease {
        let mut lease = Lease { spec: Some(LeaseSpec::default()), ..Lease::default() };
        lease.metadata.resource_version = Some(version.to_owned());
        if let Some(spec) = &mut lease.spec {
            spec.holder_identity = holder.map(str::to_owned);
            spec.lease_transitions = Some(3);
        }
        lease
    }

    fn turn(holder: Option<&str>, age: Duration) -> Turn {
        let since = Instant::now();
        let known = Known { lease: lease(holder, "7"), since };
        next("me", Some(&known), since + age, Timestamp::UNIX_EPOCH)
    }

    fn transitions(turn: &Turn) -> Option<i32> {
        match turn {
            Turn::Replace(lease) => lease.spec.as_ref().and_then(|spec| spec.lease_transitions),
            Turn::Create(_) | Turn::Wait => None,
        }
    }

    #[test]
    fn a_lease_that_is_not_there_is_made() {
        assert!(matches!(next("me", None, Instant::now(), Timestamp::UNIX_EPOCH), Turn::Create(_)));
    }

    #[test]
    fn another_holder_is_left_alone_until_nothing_was_heard_for_its_whole_validity() {
        assert_eq!(turn(Some("other"), DURATION.saturating_sub(Duration::from_millis(1))), Turn::Wait);
        assert_eq!(transitions(&turn(Some("other"), DURATION)), Some(4));
    }

    #[test]
    fn a_holder_with_another_validity_than_ours_is_given_the_longer_of_both() {
        for (seconds, expected) in [(Some(1), 15), (Some(60), 60), (Some(-1), 15), (None, 15)] {
            let mut lease = lease(Some("other"), "7");
            lease.spec.as_mut().unwrap().lease_duration_seconds = seconds;
            let known = Known { lease, since: Instant::now() };
            let at = |age: Duration| next("me", Some(&known), known.since + age, Timestamp::UNIX_EPOCH);
            let whole = Duration::from_secs(expected);
            assert_eq!(at(whole.saturating_sub(Duration::from_millis(1))), Turn::Wait, "{seconds:?}");
            assert!(matches!(at(whole), Turn::Replace(_)), "{seconds:?}");
        }
    }

    #[test]
    fn a_claim_says_who_holds_the_lease_how_long_and_since_when() {
        let spec = |turn: Turn| match turn {
            Turn::Create(lease) | Turn::Replace(lease) => lease.spec.unwrap(),
            Turn::Wait => panic!("it is free"),
        };
        let (first, later) = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH + Duration::from_secs(5));
        let made = spec(next("me", None, Instant::now(), first));
        assert_eq!((made.holder_identity.as_deref(), made.lease_duration_seconds), (Some("me"), Some(15)));
        let known = Known { lease: Lease { spec: Some(made), ..lease(None, "7") }, since: Instant::now() };
        let renewed = spec(next("me", Some(&known), Instant::now(), later));
        assert_eq!((renewed.acquire_time, renewed.renew_time), (Some(MicroTime(first)), Some(MicroTime(later))));
        let taken = spec(next("other", Some(&known), known.since + DURATION, later));
        assert_eq!((taken.acquire_time, taken.renew_time), (Some(MicroTime(later)), Some(MicroTime(later))));
    }

    #[test]
    fn a_lease_that_is_given_back_has_no_holder_and_is_written_over_the_version_that_was_seen() {
        let given = released(&lease(Some("me"), "7"), Timestamp::UNIX_EPOCH);
        let spec = given.spec.unwrap();
        assert_eq!((spec.holder_identity, spec.lease_transitions), (None, Some(3)));
        assert_eq!(spec.renew_time, Some(MicroTime(Timestamp::UNIX_EPOCH)), "when it was given back");
        assert_eq!(given.metadata.resource_version.as_deref(), Some("7"));
    }

    #[test]
    fn a_released_lease_is_taken_and_the_own_one_renewed() {
        assert_eq!(transitions(&turn(None, Duration::ZERO)), Some(4));
        assert_eq!(transitions(&turn(Some(""), Duration::ZERO)), Some(4));
        assert_eq!(transitions(&turn(Some("me"), Duration::ZERO)), Some(3), "a renewal is no transition");
    }

    #[test]
    fn every_write_is_about_the_version_that_was_seen() {
        let Turn::Replace(lease) = turn(Some("me"), Duration::ZERO) else { panic!("it is renewed") };
        assert_eq!(lease.metadata.resource_version.as_deref(), Some("7"));
    }

    #[test]
    fn seeing_the_same_version_again_does_not_begin_the_wait_anew() {
        let first = Instant::now();
        let later = first + Duration::from_secs(9);
        let known = learn(None, lease(Some("other"), "7"), first);
        let known = learn(Some(known), lease(Some("other"), "7"), later);
        assert_eq!(known.since, first);
        assert_eq!(learn(Some(known), lease(Some("other"), "8"), later).since, later);
    }
}
