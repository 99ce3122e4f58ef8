//! Whether the hub runs, read from its Lease.

use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;

use super::text;
use crate::api::{Duration, HUB_LEASE, HUB_LEASE_NAMESPACE};

/// The default namespace of the hub.
pub(super) const NAMESPACE: &str = "cutover-system";

/// What was read of the hub's Lease.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LeaseSeen {
    /// The Lease, if there is one.
    Read(Option<Box<Lease>>),
    /// It cannot be read; why.
    NotReadable(String),
}

/// What the hub's Lease says at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HubLiveness {
    /// It was renewed this long ago, within its duration.
    Alive(Duration),
    /// It expired; it was last renewed this long ago.
    Silent(Duration),
    /// There is no Lease, or nobody holds it.
    Absent,
    /// The Lease cannot be read; why.
    NotKnown(String),
}

impl LeaseSeen {
    /// What the Lease says at `now`.
    pub(super) fn at(&self, now: Timestamp) -> HubLiveness {
        match self {
            Self::Read(lease) => HubLiveness::of(lease.as_deref(), now),
            Self::NotReadable(why) => HubLiveness::NotKnown(why.clone()),
        }
    }
}

impl HubLiveness {
    /// What a Lease says at `now`.
    fn of(lease: Option<&Lease>, now: Timestamp) -> Self {
        let Some(spec) = lease.and_then(|lease| lease.spec.as_ref()) else { return Self::Absent };
        let held = spec.holder_identity.as_ref().is_some_and(|holder| !holder.is_empty());
        let (true, Some(renewed)) = (held, &spec.renew_time) else { return Self::Absent };
        let ago = text::between(renewed.0, now);
        let lasts = u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
        if ago <= Duration::from_secs(lasts) { Self::Alive(ago) } else { Self::Silent(ago) }
    }

    /// No hub holds the Lease, so nothing moves and nothing rolls back.
    pub(super) const fn is_silent(&self) -> bool {
        match self {
            Self::Silent(_) | Self::Absent => true,
            Self::Alive(_) | Self::NotKnown(_) => false,
        }
    }

    /// Where nothing moves because no hub runs: what to say of it first.
    pub(super) fn alarm(&self) -> Option<String> {
        self.is_silent().then(|| self.to_string())
    }
}

impl fmt::Display for HubLiveness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alive(ago) => write!(f, "hub active {} ago", text::span(*ago)),
            Self::Silent(ago) => {
                write!(f, "HUB SILENT for {}: nothing moves, nothing rolls back", text::span(*ago))
            }
            Self::Absent => {
                write!(f, "NO HUB holds Lease {HUB_LEASE_NAMESPACE}/{HUB_LEASE} (or it runs without leader election)")
            }
            Self::NotKnown(why) => write!(f, "hub state unknown: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, renewed: &str) -> Lease {
        let spec = serde_json::json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed});
        serde_json::from_value(serde_json::json!({"spec": spec})).unwrap()
    }

    #[test]
    fn a_lease_that_ended_or_has_no_holder_is_no_sign_of_life() {
        let now = "2026-01-03T00:00:20Z".parse().unwrap();
        let of = |holder, renewed| HubLiveness::of(Some(&lease(holder, renewed)), now).to_string();
        assert_eq!(of("hub-1", "2026-01-03T00:00:16.000000Z"), "hub active 4 s ago");
        assert_eq!(
            of("hub-1", "2026-01-03T00:00:00.000000Z"),
            "HUB SILENT for 20 s: nothing moves, nothing rolls back"
        );
        let none = "NO HUB holds Lease kube-system/cutover-hub (or it runs without leader election)";
        assert_eq!(of("", "2026-01-03T00:00:16.000000Z"), none);
        assert_eq!(HubLiveness::of(None, now).to_string(), none);
    }
}
