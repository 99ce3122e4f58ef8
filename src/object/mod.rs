//! Objects of the hub cluster: whose they are, who else writes them, and what changes them. Routes and backends are both
//! made of these.

mod allowed_hosts;
mod context;
pub(crate) mod field_manager;
pub(crate) mod host_name;
mod mesh;
pub(crate) mod owner;
mod reach;
mod service_host;
mod write;

pub use allowed_hosts::HostPattern;
pub(crate) use allowed_hosts::{AllowedHosts, spelled};
pub(crate) use context::Context;
use kube::ResourceExt;
use kube::core::DynamicObject;
pub(crate) use mesh::{Mesh, entry_host, entry_of};
pub(crate) use owner::Owner;
pub(crate) use reach::Reach;
pub(crate) use service_host::service_of;
pub(crate) use write::{Target, Write, resource_of};

/// Kind and name, for messages.
pub(crate) fn describe(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("object", |types| types.kind.as_str());
    format!("{kind} {}", object.name_any())
}

/// Objects of a test as a cache shows them.
#[cfg(test)]
pub(crate) fn shared(objects: &[Option<DynamicObject>]) -> Vec<Option<std::sync::Arc<DynamicObject>>> {
    objects.iter().map(|object| object.clone().map(std::sync::Arc::new)).collect()
}
