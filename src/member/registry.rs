//! The registry: every member as it is declared now, and how it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tokio::sync::watch;

use super::Member;

/// What is declared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    pub(super) by_name: BTreeMap<String, Arc<Member>>,
    /// The names of those that this version cannot read.
    pub(super) unreadable: BTreeSet<String>,
}

/// Every member as it is declared now, and how it is. Cheap to clone; clones are one registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry(pub(super) Arc<watch::Sender<Option<Members>>>);

impl Registry {
    /// A member by name.
    pub(crate) fn member(&self, name: &str) -> Option<Arc<Member>> {
        self.0.borrow().as_ref()?.by_name.get(name).cloned()
    }

    /// Why there is no member of this name, and what to do about it.
    pub(crate) fn why_absent(&self, name: &str) -> &'static str {
        if self.0.borrow().as_ref().is_some_and(|members| members.unreadable.contains(name)) {
            "cannot be read; correct it as the log of the hub says"
        } else {
            "does not exist; register it, or correct the name"
        }
    }

    /// Every member.
    pub(crate) fn all(&self) -> Vec<Arc<Member>> {
        self.0.borrow().iter().flat_map(|members| members.by_name.values()).cloned().collect()
    }

    /// Fires whenever a member or its health changed. Holds none until the first list is complete: before that a member
    /// that is not found may only not be known yet.
    pub(crate) fn changes(&self) -> watch::Receiver<Option<Members>> {
        self.0.subscribe()
    }

    /// Another member with the same cluster id.
    pub(crate) fn duplicate_of(&self, member: &Member) -> Option<String> {
        let cluster = member.health()?.cluster_id?;
        let members = self.0.borrow().clone()?;
        let mut others = members.by_name.into_iter().filter(|(name, _)| *name != member.declared.name);
        let duplicate =
            others.find(|(_, other)| other.health().and_then(|health| health.cluster_id).as_ref() == Some(&cluster));
        duplicate.map(|(name, _)| name)
    }

    /// The health of a member is another one.
    pub(super) fn health_changed(&self) {
        self.0.send_modify(|_| ());
    }
}
