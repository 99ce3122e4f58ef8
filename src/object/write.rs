//! Which objects to fetch, and what to write.

use kube::core::{ApiResource, DynamicObject};

/// An object of the hub cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its kind.
    pub resource: ApiResource,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// One change of one object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Write {
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
