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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(services: &Value, members: &Value) -> String {
        let spec = json!({"services": services, "members": members, "analysis": {"metrics": []}});
        revision(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn equal_declarations_have_one_revision_however_they_are_written() {
        let service = |name: &str, port: u16| json!({"name": name, "port": port, "routes": []});
        let (shop, cart) = (service("shop", 80), service("cart", 80));
        let members = json!([{"name": "eu-1", "weight": 40}, {"name": "eu-3", "weight": 60}]);
        let declared = of(&json!([shop, cart]), &members);
        let with_more = json!([
            {"name": "eu-3", "weight": 60, "initialWeight": 0}, {"name": "eu-2", "weight": 0},
            {"name": "eu-1", "weight": 40, "initialWeight": 100}]);
        assert_eq!(of(&json!([cart, shop]), &with_more), declared);
        for (services, members) in [
            (json!([shop]), members.clone()),
            (json!([service("shop", 81), cart]), members.clone()),
            (json!([shop, cart]), json!([{"name": "eu-1", "weight": 41}, {"name": "eu-3", "weight": 59}])),
        ] {
            assert_ne!(of(&services, &members), declared, "{services} {members}");
        }
    }
}
