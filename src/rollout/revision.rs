//! What a rollout declares, compared as distributions and not as texts.

use crate::api::{Distribution, FleetRolloutSpec, fingerprint::fingerprint};

/// The declared distribution.
#[must_use]
pub fn declared(spec: &FleetRolloutSpec) -> Distribution {
    spec.members.iter().map(|member| (member.name.as_str(), member.weight)).collect()
}

/// The distribution before the first run, where the spec tells it: every `initialWeight`.
#[must_use]
pub fn initial(spec: &FleetRolloutSpec) -> Option<Distribution> {
    let given = |member: &crate::api::MemberWeight| member.initial_weight.map(|weight| (member.name.clone(), weight));
    Some(spec.members.iter().filter_map(given).collect()).filter(|weights: &Distribution| !weights.is_empty())
}

/// Names what is declared: the members' weights and the services. Leaving out a zero, an order or an
/// `initialWeight` changes nothing.
#[must_use]
pub fn revision(spec: &FleetRolloutSpec) -> String {
    let mut services: Vec<_> = spec.services.iter().collect();
    services.sort_by(|one, other| one.name.cmp(&other.name));
    fingerprint(&(spec.weight_total, declared(spec).nonzero(), services))
}
