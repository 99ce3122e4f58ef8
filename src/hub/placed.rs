//! A service of a rollout, and where its members are reached.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    api::{ServiceCopy, ServiceSpec},
    backend,
    member::Member,
    object::Reach,
};

/// A service and where its members are reached.
pub(super) struct Placed {
    pub(super) spec: ServiceSpec,
    /// What the weights sum to.
    pub(super) total: u32,
    pub(super) endpoints: BTreeMap<String, Reach>,
    /// Service mode: what primary and canary are.
    pub(super) copies: BTreeMap<String, ServiceCopy>,
}

impl Placed {
    /// In member mode: the members by name, with where each is reached.
    pub(super) fn new(spec: &ServiceSpec, total: u32, namespace: &str, members: &BTreeMap<&str, Arc<Member>>) -> Self {
        let reach = |(name, member): (&&str, &Arc<Member>)| {
            let reach = backend::reach(member.spec(), namespace, &spec.name).ok()?;
            Some(((*name).to_owned(), reach))
        };
        let endpoints = members.iter().filter_map(reach).collect();
        Self { spec: spec.clone(), total, endpoints, copies: BTreeMap::new() }
    }

    /// In service mode: primary and canary, with where each leads.
    pub(super) fn of_copies(spec: &ServiceSpec, total: u32, copies: BTreeMap<String, (ServiceCopy, Reach)>) -> Self {
        let endpoints = copies.iter().map(|(slot, (_, reach))| (slot.clone(), reach.clone())).collect();
        let copies = copies.into_iter().map(|(slot, (copy, _))| (slot, copy)).collect();
        Self { spec: spec.clone(), total, endpoints, copies }
    }

    /// The `MemberCluster` behind a member of the distribution; in service mode the one that the copy names.
    pub(super) fn leads_to<'a>(&'a self, member: &'a str) -> Option<&'a str> {
        if self.copies.is_empty() { Some(member) } else { self.copies.get(member)?.leads_to() }
    }

    /// Nobody asks whether a Service with a selector answers: that is for the data plane to know.
    pub(super) fn is_probed(&self, member: &str) -> bool {
        self.copies.get(member).is_none_or(|copy| copy.external_name().is_some() && copy.leads_to().is_some())
    }
}
