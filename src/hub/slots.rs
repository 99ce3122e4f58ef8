//! Service mode: what primary and canary of each service are, and where they lead.

use std::collections::BTreeMap;

use super::placed::Placed;
use crate::{
    api::{CANARY, FleetRolloutStatus, PRIMARY, Reason, ServiceCopy, ServiceSpec, copy::LEADS_TO_ANNOTATION},
    backend,
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
        let message = format!(
            "Service {service}: annotation {LEADS_TO_ANNOTATION}: MemberCluster {name} does not exist; register it, or \
             correct the name"
        );
        return Err(Problem::new(Reason::MemberNotFound, message));
    };
    if member.allows(namespace) {
        return Ok(member.identity());
    }
    let message = format!(
        "MemberCluster {name} does not allow namespace {namespace}; add it to its spec.allowedNamespaces.names"
    );
    Err(Problem::new(Reason::NamespaceNotAllowed, message))
}
