//! What the functions of this module work with: whose route it is, which objects to fetch, and what to write.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::core::{ApiResource, DynamicObject};

use crate::api::{ServiceCopy, ServiceSpec};
use crate::backend::Reach;

/// Whose route it is, and where its members are.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
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
    /// Every object of the kind that [`super::neighbours`] asks for, in all namespaces; empty where it asks for none.
    pub neighbours: &'a [Arc<DynamicObject>],
}

/// Member mode.
pub static NO_COPIES: BTreeMap<String, ServiceCopy> = BTreeMap::new();

/// An object of the hub cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its kind.
    pub resource: ApiResource,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// One change of one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Make it.
    Create(DynamicObject),
    /// Put this in its place; it carries the resourceVersion that was read.
    Replace(DynamicObject),
    /// Remove it, if it is still the one that was read.
    Delete {
        /// What to remove.
        target: Target,
        /// Its uid.
        uid: String,
        /// The resourceVersion that was read.
        resource_version: String,
    },
}

impl Write {
    /// What brings one object from `before` to `after`; nothing where they are equal.
    pub(crate) fn between(
        target: Target,
        before: Option<&DynamicObject>,
        after: Option<DynamicObject>,
    ) -> Option<Self> {
        match (before, after) {
            (None, None) => None,
            (None, Some(after)) => Some(Self::Create(after)),
            (Some(before), Some(after)) if *before == after => None,
            (Some(_), Some(mut after)) => {
                after.metadata.managed_fields = None;
                Some(Self::Replace(after))
            }
            (Some(before), None) => Some(Self::Delete {
                target,
                uid: before.metadata.uid.clone().unwrap_or_default(),
                resource_version: before.metadata.resource_version.clone().unwrap_or_default(),
            }),
        }
    }
}
