//! A subset of one Service per member, in a mesh that spans them: a DestinationRule for each, which Istio puts together.

use std::collections::BTreeMap;

use serde_json::json;

use super::{DesiredObject, name};
use crate::api::mesh_backend::SubsetBackend;
use crate::api::{Reason, ServiceSpec};
use crate::object::{Context, service_of};
use crate::rollout::input::Problem;

/// The host whose endpoints all members have.
pub(crate) fn host<'s>(service: &'s ServiceSpec, subset: &'s SubsetBackend) -> &'s str {
    subset.host.as_deref().unwrap_or(&service.name)
}

pub(super) fn rule(context: &Context<'_>, subset: &SubsetBackend, member: &str) -> DesiredObject {
    let value = subset.values.get(member).map_or(member, String::as_str);
    let of_member = json!({"name": name(context.service, member), "labels": {subset.label.as_str(): value}});
    let fields = json!({"spec": {"host": host(context.service, subset), "subsets": [of_member]}});
    DesiredObject { fields, labels: BTreeMap::new() }
}

/// A subset that the user named is declared by some DestinationRule.
pub(super) fn check(context: &Context<'_>, subset: &SubsetBackend, member: &str) -> Result<(), Problem> {
    let (host, name) = (host(context.service, subset), name(context.service, member));
    let mut hosts = vec![host.to_owned()];
    if let Some(service) = service_of(host, context.namespace) {
        let whole = format!("{service}.{}.svc", context.namespace);
        hosts.extend([service.to_owned(), format!("{whole}.cluster.local"), whole]);
    }
    if !context.mesh.misses_subset(&hosts, &name) {
        return Ok(());
    }
    let message = format!(
        "no DestinationRule of {host} has the subset {name} for member {member}: make it, or correct spec.services[].backend.subset.existing"
    );
    Err(Problem::new(Reason::BackendNotReady, message))
}
