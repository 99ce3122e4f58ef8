//! Whose an object is that the hub makes. Labels say it and no owner reference does: garbage collection would
//! take a backend away while a route still names it.

use std::collections::BTreeMap;

use kube::core::DynamicObject;

use super::{Context, Write};
use crate::api::ROLLOUT_LABEL;

/// The tool that made an object.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The rollout for which it was made: its name.
pub(crate) const INSTANCE: &str = "app.kubernetes.io/instance";
const MANAGER: &str = "cutover";

/// Whose an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// This rollout made it and holds it.
    This,
    /// A rollout of this name made it and gave it back.
    Released,
    /// Another rollout holds it: its uid.
    Other(String),
    /// The hub did not make it.
    Foreign,
}

impl Owner {
    /// Reads an object's labels.
    pub(crate) fn of(object: &DynamicObject, context: &Context<'_>) -> Self {
        let label = |key| object.metadata.labels.as_ref().and_then(|labels| labels.get(key)).map(String::as_str);
        match label(ROLLOUT_LABEL) {
            Some(uid) if uid == context.uid => Self::This,
            Some(uid) => Self::Other(uid.chars().take(64).collect()),
            None if label(MANAGED_BY) == Some(MANAGER) && label(INSTANCE) == Some(context.rollout) => Self::Released,
            None => Self::Foreign,
        }
    }
}

/// Some rollout made it.
pub(crate) fn is_made_by_cutover(object: &DynamicObject) -> bool {
    object.metadata.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|manager| manager == MANAGER)
}

/// Labels an object as made and held by this rollout.
pub(crate) fn set(object: &mut DynamicObject, context: &Context<'_>) {
    let labels = object.metadata.labels.get_or_insert_with(BTreeMap::new);
    for (key, value) in [(ROLLOUT_LABEL, context.uid), (MANAGED_BY, MANAGER), (INSTANCE, context.rollout)] {
        labels.insert(key.to_owned(), value.to_owned());
    }
}

/// The write that releases an object.
pub(crate) fn released(object: &DynamicObject) -> Write {
    let mut after = object.clone();
    release(&mut after);
    after.metadata.managed_fields = None;
    Write::Replace(after)
}

/// Releases an object: it stays, and a rollout of the same name may take it again.
pub(crate) fn release(object: &mut DynamicObject) {
    if let Some(labels) = &mut object.metadata.labels {
        labels.remove(ROLLOUT_LABEL);
    }
}
