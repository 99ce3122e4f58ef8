//! Which objects to fetch, and what to write.

use kube::{
    ResourceExt,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};

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

/// The kind of an object.
pub(crate) fn resource_of(object: &DynamicObject) -> ApiResource {
    let kind = object.types.as_ref().and_then(|types| GroupVersionKind::try_from(types).ok());
    ApiResource::from_gvk(&kind.unwrap_or_else(|| GroupVersionKind::gvk("", "", "")))
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
    /// The object that is written.
    pub(crate) fn target(&self) -> Target {
        match self {
            Self::Delete { target, .. } => target.clone(),
            Self::Create(object) | Self::Replace(object) => {
                let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
                Target { resource: resource_of(object), namespace, name }
            }
        }
    }

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
