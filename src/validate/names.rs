//! Names of backends: one Service of the hub cluster leads to one place.

use std::collections::BTreeMap;

use super::problem::{Problem, quoted};
use crate::{
    api::{CANARY, FleetRolloutSpec, Mode, PRIMARY, ServiceSpec},
    backend,
};

/// What a backend is for.
struct Use<'s> {
    service: &'s ServiceSpec,
    member: &'s str,
}

/// Backends of two services that have one name, or the name of a service. (That two members of one service share one is
/// another mistake.)
pub(super) fn collisions(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let members: Vec<&str> = match spec.mode() {
        Mode::Member => spec.members.iter().map(|member| member.name.as_str()).collect(),
        Mode::Service => vec![PRIMARY, CANARY],
    };
    let (mut first, mut problems) = (BTreeMap::new(), Vec::new());
    for (place, service) in spec.services.iter().enumerate() {
        for &member in &members {
            let name = backend::name(service, member);
            let this = Use { service, member };
            let declared = spec.services.iter().find(|service| service.name == name).filter(|_| this.is_generated());
            let found = match (first.get(&name), declared) {
                (Some(other), _) => this.collides(other).then(|| format!("that of {}", other.described())),
                (None, Some(_)) => Some("a service of this rollout".to_owned()),
                (None, None) => None,
            };
            if let Some(found) = found {
                let found = format!("the backend {} of {} is also {found}", quoted(&name), this.described());
                let remedy = "rename the service or the member, so that <service>-<member> differs";
                problems.push(Problem::error(format!("spec.services[{place}].name"), found, remedy));
            }
            first.entry(name).or_insert(this);
        }
    }
    problems
}

impl Use<'_> {
    /// Its name is put together, and nobody chose it.
    fn is_generated(&self) -> bool {
        backend::existing(self.service, self.member).is_none()
    }

    fn collides(&self, other: &Self) -> bool {
        self.service.name != other.service.name && (self.is_generated() || other.is_generated())
    }

    fn described(&self) -> String {
        format!("service {} and member {}", quoted(&self.service.name), quoted(self.member))
    }
}
