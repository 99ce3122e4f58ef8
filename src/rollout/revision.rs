//! What a rollout declares, compared as distributions and not as texts.

use crate::api::{Distribution, FleetRolloutSpec};

/// The declared distribution.
#[must_use]
pub fn declared(spec: &FleetRolloutSpec) -> Distribution {
    spec.members.iter().map(|member| (member.name.clone(), member.weight)).collect()
}

/// Two distributions are the same when they differ in zeros only.
#[must_use]
pub fn same(one: &Distribution, other: &Distribution) -> bool {
    let carrying = |distribution: &Distribution| -> Vec<(String, u32)> {
        distribution.iter().filter(|(_, weight)| **weight > 0).map(|(name, weight)| (name.clone(), *weight)).collect()
    };
    carrying(one) == carrying(other)
}

/// Names what is declared: the members' weights and the services. Leaving out a zero, an order or an
/// `initialWeight` changes nothing.
#[must_use]
pub fn revision(spec: &FleetRolloutSpec) -> String {
    let mut services: Vec<_> = spec.services.iter().collect();
    services.sort_by(|one, other| one.name.cmp(&other.name));
    let weights: Distribution = declared(spec).into_iter().filter(|(_, weight)| *weight > 0).collect();
    fingerprint(&(spec.weight_total, weights, services))
}

/// Names anything that is declared: twelve hexadecimal digits of FNV-1a.
pub(super) fn fingerprint(declared: &impl serde::Serialize) -> String {
    // Plain data with string keys always serialises; were it ever not to, equal declarations would still be equal.
    let text = serde_json::to_string(declared).unwrap_or_default();
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{:012x}", hash & 0xffff_ffff_ffff)
}
