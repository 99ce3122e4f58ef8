//! A service of a rollout, and where its members are reached.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    api::{Mode, ServiceCopy, ServiceSpec},
    backend,
    member::Member,
    object::{AllowedHosts, Reach},
    rollout::input::Problem,
};

/// A service and where its members are reached.
pub(super) struct Placed {
    pub(super) spec: ServiceSpec,
    /// What the weights sum to.
    pub(super) total: u32,
    pub(super) endpoints: BTreeMap<String, Reach>,
    /// Service mode: what primary and canary are.
    pub(super) copies: BTreeMap<String, ServiceCopy>,
    /// Where Services that users write may lead.
    pub(super) allowed_hosts: AllowedHosts,
}

/// How the hub learns whether somebody answers where a member's backend leads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Readiness<'p> {
    /// Its endpoint is probed.
    ByProbes,
    /// The hub cluster keeps `EndpointSlice`s of this Service.
    BySlices(&'p ServiceCopy),
    /// Not at all: its host is outside of the cluster, and no member says how to reach it.
    NotKnown,
}

impl Placed {
    /// In member mode: the members by name, with where each is reached.
    pub(super) fn new(spec: &ServiceSpec, total: u32, namespace: &str, members: &BTreeMap<&str, Arc<Member>>) -> Self {
        let reach = |(name, member): (&&str, &Arc<Member>)| {
            let reach = backend::reach(member.spec(), namespace, &spec.name).ok()?;
            Some(((*name).to_owned(), reach))
        };
        let endpoints = members.iter().filter_map(reach).collect();
        let (spec, copies) = (spec.in_mode(Mode::Member), BTreeMap::new());
        Self { spec, total, endpoints, copies, allowed_hosts: AllowedHosts::default() }
    }

    /// In service mode: primary and canary, with where each leads.
    pub(super) fn of_copies(spec: &ServiceSpec, total: u32, copies: BTreeMap<String, (ServiceCopy, Reach)>) -> Self {
        let endpoints = copies.iter().map(|(slot, (_, reach))| (slot.clone(), reach.clone())).collect();
        let copies = copies.into_iter().map(|(slot, (copy, _))| (slot, copy)).collect();
        Self { spec: spec.in_mode(Mode::Service), total, endpoints, copies, allowed_hosts: AllowedHosts::default() }
    }

    /// With the hosts to which users' Services may lead; before there are none.
    pub(super) fn with_allowed_hosts(self, allowed_hosts: AllowedHosts) -> Self {
        Self { allowed_hosts, ..self }
    }

    /// The `MemberCluster` behind a member of the distribution; in service mode the one that the copy names.
    pub(super) fn leads_to<'a>(&'a self, member: &'a str) -> Option<&'a str> {
        if self.copies.is_empty() { Some(member) } else { self.copies.get(member)?.leads_to() }
    }

    pub(super) fn readiness(&self, member: &str) -> Readiness<'_> {
        match self.copies.get(member) {
            Some(copy) if copy.external_name().is_none() => Readiness::BySlices(copy),
            Some(copy) if copy.leads_to().is_none() => Readiness::NotKnown,
            Some(_) | None => Readiness::ByProbes,
        }
    }

    /// A copy leads where it may: what was allowed when it was made may not be any more, and then nobody calls it.
    ///
    /// # Errors
    /// When it does not.
    pub(super) fn check_host(&self, member: &str, namespace: &str) -> Result<(), Problem> {
        let Some(host) = self.copies.get(member).and_then(ServiceCopy::external_name) else { return Ok(()) };
        let title = format!("Service {}", backend::name(&self.spec, member));
        backend::check_host(&self.allowed_hosts, namespace, &title, host)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::member::HostHeader;

    /// A service in service mode whose canary is this copy.
    fn placed(copy: &Value) -> Placed {
        let service = json!({"name": "shop", "port": 80, "routes": []});
        let reach = Reach { host: "a".to_owned(), port: 80, server_name: None, host_header: HostHeader::Preserve };
        let copies = [("canary".to_owned(), (serde_json::from_value(copy.clone()).unwrap(), reach))];
        let allowed = AllowedHosts::new(["eu-3.example.com".to_owned()], &[]);
        Placed::of_copies(&serde_json::from_value(service).unwrap(), 100, copies.into()).with_allowed_hosts(allowed)
    }

    #[test]
    fn a_copy_leads_to_the_member_that_it_names_and_is_probed_only_outside_the_cluster() {
        let inside = json!({"spec": {"type": "ClusterIP"}, "annotations": {"cutover.dev/member": "eu-3"}});
        let with_addresses = placed(&inside);
        assert_eq!(with_addresses.readiness("canary"), Readiness::BySlices(&with_addresses.copies["canary"]));
        let annotations = json!({"cutover.dev/member": "eu-3"});
        let outside = json!({"type": "ExternalName", "externalName": "eu-3.example.com"});
        for (copy, leads_to, readiness) in [
            (json!({"spec": outside, "annotations": annotations}), Some("eu-3"), Readiness::ByProbes),
            (json!({"spec": outside}), None, Readiness::NotKnown),
        ] {
            let placed = placed(&copy);
            assert_eq!((placed.leads_to("canary"), placed.readiness("canary")), (leads_to, readiness), "{copy}");
            assert_eq!(placed.leads_to("primary"), None);
        }
    }

    #[test]
    fn a_copy_may_lead_only_where_its_host_is_still_allowed() {
        for (host, is_allowed) in [
            ("eu-3.example.com", true),
            ("EU-3.example.com.", true),
            ("kubernetes.default.svc.cluster.local.", false),
            ("metadata.google.internal", false),
        ] {
            let spec = json!({"type": "ExternalName", "externalName": host});
            let checked = placed(&json!({ "spec": spec })).check_host("canary", "shop");
            assert_eq!(checked.is_ok(), is_allowed, "{host}: {checked:?}");
        }
        assert_eq!(placed(&json!({"spec": {"type": "ClusterIP"}})).check_host("canary", "shop"), Ok(()));
    }

    #[test]
    fn in_member_mode_a_member_is_what_it_is_named_and_probed() {
        let service = json!({"name": "shop", "port": 80, "routes": []});
        let placed = Placed::new(&serde_json::from_value(service).unwrap(), 100, "shop", &BTreeMap::new());
        assert_eq!((placed.leads_to("eu-1"), placed.readiness("eu-1")), (Some("eu-1"), Readiness::ByProbes));
    }
}
