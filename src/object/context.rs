//! What every function that reads or renders objects is given: whose objects they are, and where the members are.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::core::DynamicObject;

use super::{AllowedHosts, Mesh, Reach};
use crate::api::{ServiceCopy, ServiceSpec};

/// Whose objects they are, and where the members are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// Namespace of the rollout and of all its objects.
    pub namespace: &'a str,
    /// Name of the rollout.
    pub rollout: &'a str,
    /// UID of the rollout.
    pub uid: &'a str,
    /// UID of the hub cluster's namespace kube-system.
    pub hub: &'a str,
    /// The service whose weights the route holds.
    pub service: &'a ServiceSpec,
    /// What the weights sum to.
    pub total: u32,
    /// Every declared member, and where it is reached; in service mode primary and canary.
    pub endpoints: &'a BTreeMap<String, Reach>,
    /// Service mode: what the Services of primary and canary must be; empty in member mode.
    pub copies: &'a BTreeMap<String, ServiceCopy>,
    /// Where Services that users write may lead.
    pub allowed_hosts: &'a AllowedHosts,
    /// Every object of the route's kind in all namespaces, for a kind whose objects share numbers; else empty.
    pub neighbours: &'a [Arc<DynamicObject>],
    /// What the mesh knows beside Services, for a route that Istio serves.
    pub mesh: &'a Mesh,
}
