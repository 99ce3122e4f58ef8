//! Service mode: what primary and canary of each service are, and where they lead.

use std::collections::BTreeMap;

use super::placed::Placed;
use crate::{
    api::{CANARY, FleetRolloutStatus, PRIMARY, Reason, ServiceCopy, ServiceSpec, copy::LEADS_TO_ANNOTATION},
    backend,
    http::sanitise,
    member::Registry,
    rollout::{
        self,
        input::{MemberSeen, Problem},
    },
};

/// A service with its primary and its canary, as far as the status knows them.
pub(super) fn placed(
    service: &ServiceSpec,
    total: u32,
    namespace: &str,
    status: &FleetRolloutStatus,
    registry: &Registry,
) -> Placed {
    let lead = |copy: ServiceCopy| {
        let member = copy.leads_to().and_then(|name| registry.member(name));
        let reach = backend::reach_of(&copy, service, namespace, member.as_ref().map(|member| member.spec()));
        (copy, reach)
    };
    let copies = rollout::copies(&service.name, status).into_iter();
    Placed::of_copies(service, total, copies.map(|(slot, copy)| (slot, lead(copy))).collect())
}

/// What is seen of the clusters behind primary and canary.
pub(super) fn seen(
    services: &[Placed],
    namespace: &str,
    unmeasured: bool,
    registry: &Registry,
) -> BTreeMap<String, MemberSeen> {
    let of = |slot: &str| {
        let mut identities = Vec::new();
        for placed in services.iter().filter(|placed| placed.endpoints.contains_key(slot)) {
            if let Err(problem) = placed.check_host(slot, namespace) {
                return MemberSeen::Unusable(problem);
            }
            match cluster(placed, slot, namespace, registry) {
                Ok(identity) => identities.push(identity),
                Err(_) if unmeasured => {}
                Err(problem) => return MemberSeen::Unusable(problem),
            }
        }
        MemberSeen::Registered { identity: identities.join(" ") }
    };
    [PRIMARY, CANARY].into_iter().map(|slot| (slot.to_owned(), of(slot))).collect()
}

fn cluster(placed: &Placed, slot: &str, namespace: &str, registry: &Registry) -> Result<String, Problem> {
    let service = &placed.spec.name;
    let Some(name) = placed.leads_to(slot) else {
        let message = format!(
            "Service {service}: annotation {LEADS_TO_ANNOTATION} does not say which MemberCluster the {slot} leads to: \
             add it, so that its Prometheus is read"
        );
        return Err(Problem::new(Reason::MemberNotFound, message));
    };
    let Some(member) = registry.member(name) else {
        let (name, why) = (sanitise(name), registry.why_absent(name));
        let message = format!("Service {service}: annotation {LEADS_TO_ANNOTATION}: MemberCluster {name} {why}");
        return Err(Problem::new(Reason::MemberNotFound, message));
    };
    member.consents(namespace).map(|()| member.identity())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        hub::fixtures::{objects, world::World},
        object::AllowedHosts,
    };

    /// The hub knows eu-1, and eu-2, which other namespaces may use.
    async fn registry() -> Registry {
        let mut closed = objects::member("eu-2");
        closed["spec"]["allowedNamespaces"] = json!({"from": "Names", "names": ["billing"]});
        World::of([objects::member("eu-1"), closed]).await.hub.registry.clone()
    }

    fn service() -> ServiceSpec {
        serde_json::from_value(json!({"name": "shop", "port": 443, "routes": []})).unwrap()
    }

    /// A copy that leads to this member, if to any.
    fn copy(member: Option<&str>) -> Value {
        let annotations = member.map_or(json!({}), |member| json!({LEADS_TO_ANNOTATION: member}));
        json!({"spec": {"type": "ExternalName", "externalName": "gateway.example.com"}, "annotations": annotations})
    }

    /// The service while eu-1 is the primary and this the canary.
    fn placed_with(canary: &Value, registry: &Registry) -> Placed {
        let promoted = json!({"revision": "r", "services": {"shop": copy(Some("eu-1"))}});
        let status = serde_json::from_value(json!({"promoted": promoted, "canary": {"shop": canary}})).unwrap();
        let allowed = AllowedHosts::new(["gateway.example.com".to_owned()], &[]);
        placed(&service(), 100, "shop", &status, registry).with_allowed_hosts(allowed)
    }

    #[tokio::test]
    async fn primary_and_canary_lead_where_their_copies_say() {
        let placed = placed_with(&copy(Some("eu-2")), &registry().await);
        let leads = |slot| (placed.leads_to(slot), placed.endpoints[slot].host.as_str(), placed.endpoints[slot].port);
        assert_eq!(leads(PRIMARY), (Some("eu-1"), "gateway.example.com", 443));
        assert_eq!(leads(CANARY), (Some("eu-2"), "gateway.example.com", 443));
    }

    #[tokio::test]
    async fn a_canary_whose_member_cannot_be_measured_says_so_unless_nothing_is_measured() {
        let registry = registry().await;
        for (member, reason, message) in [
            (
                None,
                Reason::MemberNotFound,
                "Service shop: annotation cutover.dev/member does not say which MemberCluster the canary leads to: add \
                 it, so that its Prometheus is read",
            ),
            (
                Some("eu-9"),
                Reason::MemberNotFound,
                "Service shop: annotation cutover.dev/member: MemberCluster eu-9 does not exist; register it, or \
                 correct the name",
            ),
            (
                Some("eu-2"),
                Reason::NamespaceNotAllowed,
                "MemberCluster eu-2 does not allow namespace shop; add it to its spec.allowedNamespaces.names",
            ),
        ] {
            let services = [placed_with(&copy(member), &registry)];
            let found = seen(&services, "shop", false, &registry);
            assert_eq!(found[CANARY], MemberSeen::Unusable(Problem::new(reason, message)));
            let identity = registry.member("eu-1").unwrap().identity();
            assert_eq!(found[PRIMARY], MemberSeen::Registered { identity });
            let unmeasured = seen(&services, "shop", true, &registry);
            assert_eq!(unmeasured[CANARY], MemberSeen::Registered { identity: String::new() });
        }
    }

    #[tokio::test]
    async fn a_canary_whose_host_is_not_allowed_any_more_gains_nothing_even_if_nothing_is_measured() {
        let registry = registry().await;
        let services = [placed_with(&copy(Some("eu-1")), &registry).with_allowed_hosts(AllowedHosts::default())];
        let message = "Service shop-canary: spec.externalName: \"gateway.example.com\" is no endpoint of a MemberCluster that \
                       allows namespace shop; correct it, add it to spec.endpoints of the MemberCluster, or start the hub \
                       with --allow-external-names";
        for unmeasured in [false, true] {
            let found = seen(&services, "shop", unmeasured, &registry);
            let refused = Problem::new(Reason::AddressNotAllowed, message);
            assert_eq!(found[CANARY], MemberSeen::Unusable(refused), "{unmeasured}");
        }
    }
}
