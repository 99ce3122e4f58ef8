//! What a pass saw, with the objects that its writes are made of.

use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

use kube::core::DynamicObject;

use super::leftovers::Leftovers;
use crate::rollout::{Observation, RouteKey};

/// Objects in the order that routes and backends name them.
pub(super) type Found = Vec<Option<Arc<DynamicObject>>>;

/// What was seen, and the very objects: what is written later is made of them and of nothing newer, so that a write
/// meets a conflict where somebody else was faster.
#[derive(Default)]
pub(super) struct Observed {
    pub(super) seen: Observation,
    pub(super) routes: BTreeMap<RouteKey, Found>,
    pub(super) backends: BTreeMap<(String, String), Found>,
    /// Backends of members and services that are not declared any more.
    pub(super) left: Leftovers,
    pub(super) addresses: BTreeMap<(String, String), Vec<IpAddr>>,
}
