//! What a pass is about: a rollout, its services, and where their members are reached.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use kube::{
    ResourceExt,
    core::{ApiResource, DynamicObject},
};

use super::{external_names, placed::Placed, slots};
use crate::{
    api::{Distribution, FleetRollout, FleetRolloutSpec, FleetRolloutStatus, Mode, Reason, ServiceSpec},
    backend,
    member::{Member, Registry},
    metric::{Clusters, Destination},
    object::{Context, HostPattern, Mesh},
    rollout::{
        self,
        input::{MemberSeen, Problem},
    },
    route,
};

/// The status of a rollout of which nothing is recorded.
static NOTHING: LazyLock<FleetRolloutStatus> = LazyLock::new(FleetRolloutStatus::default);

/// What is recorded of a rollout.
pub(super) fn recorded(rollout: &FleetRollout) -> &FleetRolloutStatus {
    rollout.status.as_ref().unwrap_or(&NOTHING)
}

/// A rollout with what is known of its members.
pub(super) struct Subject<'r> {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// UID of the hub cluster's namespace kube-system.
    pub(super) hub: String,
    pub(super) status: &'r FleetRolloutStatus,
    /// The services that the live run began with, else the declared ones.
    pub(super) services: Vec<Placed>,
    /// The declared services.
    pub(super) declared: Vec<Placed>,
    /// Every member that is named.
    pub(super) members: BTreeMap<String, MemberSeen>,
    /// What [`route::neighbours`] of its routes asks for.
    pub(super) neighbours: Vec<Arc<DynamicObject>>,
    /// What the mesh knows beside Services, where a route is Istio's.
    pub(super) mesh: Mesh,
}

impl<'r> Subject<'r> {
    /// What the rollout declares and records, with the members as they are registered now. In service mode primary and
    /// canary stand where members do, and each leads where its copy of the Service says. `patterns` are hosts to which
    /// users' Services may lead, beside members' endpoints.
    pub(super) fn new(hub: &str, rollout: &'r FleetRollout, registry: &Registry, patterns: &[HostPattern]) -> Self {
        let namespace = rollout.namespace().unwrap_or_default();
        let status = recorded(rollout);
        let spec = &rollout.spec;
        let names = members(spec, status, rollout.metadata.deletion_timestamp.is_some());
        let placed = names.iter().map(String::as_str).chain(left_behind(status));
        let known: BTreeMap<&str, Arc<Member>> =
            placed.filter_map(|name| Some((name, registry.member(name)?))).collect();
        let place = |services: &[ServiceSpec], total| -> Vec<Placed> {
            let placed = |service| {
                let allowed = external_names::allowed(service, spec.mode(), &namespace, registry, patterns);
                let placed = match spec.mode() {
                    Mode::Member => Placed::new(service, total, &namespace, &known),
                    Mode::Service => slots::placed(service, total, &namespace, status, registry),
                };
                placed.with_allowed_hosts(allowed)
            };
            services.iter().map(placed).collect()
        };
        let total = status.run.as_ref().map_or(spec.weight_total, |run| run.pinned.weight_total);
        let services = place(rollout::services(spec, status), total);
        let declared = place(&spec.services, spec.weight_total);
        let seen = |name: &String| {
            let member = known.get(name.as_str()).map(AsRef::as_ref).ok_or_else(|| registry.why_absent(name));
            seen(name, &namespace, member, &spec.services)
        };
        let members = match spec.mode() {
            Mode::Member => names.iter().map(|name| (name.clone(), seen(name))).collect(),
            Mode::Service => {
                let unmeasured = spec.skip_analysis || !spec.analysis.measures();
                slots::seen(&services, &namespace, unmeasured, registry)
            }
        };
        let (name, uid) = (rollout.name_any(), rollout.uid().unwrap_or_default());
        Self {
            name,
            uid,
            hub: hub.to_owned(),
            services,
            declared,
            members,
            status,
            namespace,
            neighbours: Vec::new(),
            mesh: Mesh::NotKnown,
        }
    }

    /// The kinds of which every object counts for its routes.
    pub(super) fn neighbour_kinds(&self) -> impl Iterator<Item = ApiResource> {
        let routes = self.services.iter().chain(&self.declared).flat_map(|placed| &placed.spec.routes);
        routes.filter_map(route::neighbours)
    }

    /// The kinds of what the mesh knows beside Services, if it matters.
    pub(super) fn mesh_kinds(&self) -> Option<[ApiResource; 2]> {
        let placed = self.services.iter().chain(&self.declared);
        placed.map(|placed| &placed.spec).find_map(backend::mesh_kinds)
    }

    /// The cluster and the backend of each service and member of the distribution.
    pub(super) fn clusters(&self) -> Clusters {
        let of = |placed: &Placed| {
            let service = placed.spec.name.clone();
            let behind = |member: &String| {
                let cluster = placed.leads_to(member)?.to_owned();
                let backend = backend::name(&placed.spec, member);
                Some(((service.clone(), member.clone()), Destination { cluster, backend }))
            };
            placed.endpoints.keys().filter_map(behind).collect::<Vec<_>>()
        };
        self.services.iter().flat_map(of).collect()
    }

    /// What routes and backends of one service need to know.
    pub(super) fn context<'a>(&'a self, placed: &'a Placed) -> Context<'a> {
        Context {
            namespace: &self.namespace,
            rollout: &self.name,
            uid: &self.uid,
            hub: &self.hub,
            service: &placed.spec,
            total: placed.total,
            endpoints: &placed.endpoints,
            copies: &placed.copies,
            allowed_hosts: &placed.allowed_hosts,
            neighbours: &self.neighbours,
            mesh: &self.mesh,
        }
    }
}

/// The members that are declared, and those that the live run, or the cleanup of a deleted rollout, still needs.
fn members(spec: &FleetRolloutSpec, status: &FleetRolloutStatus, deleting: bool) -> BTreeSet<String> {
    let declared = spec.members.iter().map(|member| member.name.as_str());
    let planned = status.run.iter().flat_map(|run| &run.plan).flat_map(|step| step.split.weights.members());
    let running = status.run.iter().flat_map(|run| run.rollback_to.members()).chain(planned);
    let leaving = status.primary.iter().filter(|_| deleting).flat_map(Distribution::members);
    declared.chain(running).chain(leaving).map(str::to_owned).collect()
}

/// The members of the write before, on every route that has not confirmed the last one: it may still send requests to one
/// that is named nowhere any more, and only who knows its objects can remove them.
fn left_behind(status: &FleetRolloutStatus) -> impl Iterator<Item = &str> {
    let last = status.desired.as_ref().map(|desired| desired.sequence);
    status.routes.iter().filter(move |route| Some(route.sequence) != last).flat_map(|route| route.applied.members())
}

fn seen(name: &str, namespace: &str, member: Result<&Member, &str>, services: &[ServiceSpec]) -> MemberSeen {
    let member = match member {
        Ok(member) => member,
        Err(why_absent) => {
            let message = format!("spec.members: MemberCluster {name} {why_absent}");
            return MemberSeen::Unusable(Problem::new(Reason::MemberNotFound, message));
        }
    };
    if let Err(problem) = member.consents(namespace) {
        return MemberSeen::Unusable(problem);
    }
    let unreachable = services.iter().find_map(|service| backend::reach(member.spec(), namespace, &service.name).err());
    match unreachable {
        Some(problem) => {
            MemberSeen::Unusable(Problem::new(problem.reason, format!("MemberCluster {name}: {}", problem.message)))
        }
        None => MemberSeen::Registered { identity: member.identity() },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        http::{AddressRules, Network},
        member::{Declared, Secrets},
    };

    fn member(spec: serde_json::Value) -> Member {
        let spec = serde_json::from_value(spec).unwrap();
        let declared =
            Declared { name: "eu-3".to_owned(), uid: None, generation: None, spec, secrets: Secrets::default() };
        Member::new(declared, Network::new(AddressRules::default()), jiff::Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn behind_a_member_stands_the_service_under_existing_and_else_the_one_that_is_made() {
        let object = json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout", "metadata": {"name": "fleet", "namespace": "shop"},
            "spec": {"services": [], "members": [], "analysis": {"metrics": []}}});
        let registry = Registry::default();
        let rollout: FleetRollout = serde_json::from_value(object).unwrap();
        let mut subject = Subject::new("hub-1", &rollout, &registry, &[]);
        let service = json!({"name": "storefront", "port": 443, "routes": [{"contour": {"name": "public"}}],
            "backend": {"externalName": {"existing": {"eu-3": "gateway"}}}});
        let reached = member(json!({
            "endpoints": [{"host": "{{ service }}.eu-3.example.com", "port": 443}],
            "prometheus": {"url": {"address": "https://prometheus.example.com"}},
            "allowedNamespaces": {"from": "All"}}));
        let reached = Arc::new(reached);
        let members = [("eu-3", reached.clone()), ("eu-4", reached)].into();
        subject.services = vec![Placed::new(&serde_json::from_value(service).unwrap(), 100, "shop", &members)];
        let behind = |member: &str, backend: &str| {
            let behind = Destination { cluster: member.to_owned(), backend: backend.to_owned() };
            (("storefront".to_owned(), member.to_owned()), behind)
        };
        assert_eq!(subject.clusters(), Clusters::from([behind("eu-3", "gateway"), behind("eu-4", "storefront-eu-4")]));
    }

    #[test]
    fn a_member_that_left_is_known_until_every_route_has_confirmed_that() {
        let of = |confirmed: u64| {
            let weights = json!({"eu-1": 100});
            let status = json!({
                "desired": {"split": {"weights": weights}, "sequence": 7, "at": "2026-01-01T00:00:00Z"},
                "routes": [{"service": "shop", "route": "Ingress/public-*", "applied": {"eu-1": 100, "eu-3": 0},
                            "sequence": confirmed, "at": "2026-01-01T00:00:00Z"}]});
            let status: FleetRolloutStatus = serde_json::from_value(status).unwrap();
            left_behind(&status).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of(6), ["eu-1", "eu-3"]);
        assert_eq!(of(7), [""; 0]);
    }

    #[test]
    fn a_member_that_cannot_be_used_is_reported_with_the_remedy() {
        let service = json!({"name": "storefront", "port": 443, "routes": [{"contour": {"name": "public"}}]});
        let services = [serde_json::from_value(service).unwrap()];
        let prometheus = json!({"url": {"address": "https://prometheus.example.com"}});
        let reached = json!([{"host": "{{ service }}.eu-3.example.com", "port": 443}]);
        let elsewhere =
            json!([{"service": {"namespace": "shop", "name": "checkout"}, "host": "eu-3.example.com", "port": 443}]);
        let inside = json!([{"host": "{{ service }}.svc.cluster.local", "port": 443}]);
        let (all, billing) = (json!({"from": "All"}), json!({"from": "Names", "names": ["billing"]}));
        for (object, reason, message) in [
            (
                None,
                Reason::MemberNotFound,
                "spec.members: MemberCluster eu-3 does not exist; register it, or correct the name",
            ),
            (
                Some(json!({"endpoints": reached, "prometheus": prometheus, "allowedNamespaces": billing})),
                Reason::NamespaceNotAllowed,
                "MemberCluster eu-3 does not allow namespace shop; add it to its spec.allowedNamespaces.names",
            ),
            (
                Some(json!({"endpoints": elsewhere, "prometheus": prometheus, "allowedNamespaces": all})),
                Reason::InvalidSpec,
                "MemberCluster eu-3: spec.endpoints: none is for service shop/storefront and none is the default: add one",
            ),
            (
                Some(json!({"endpoints": inside, "prometheus": prometheus, "allowedNamespaces": all})),
                Reason::AddressNotAllowed,
                "MemberCluster eu-3: spec.endpoints[0].host: \"storefront.svc.cluster.local\" leads into the hub \
                 cluster; give the DNS name of the member's gateway",
            ),
        ] {
            let member = object.map(member);
            let expected = MemberSeen::Unusable(Problem::new(reason, message));
            let member = member.as_ref().ok_or("does not exist; register it, or correct the name");
            assert_eq!(seen("eu-3", "shop", member, &services), expected);
        }
        let good = member(json!({"endpoints": reached, "prometheus": prometheus, "allowedNamespaces": all}));
        assert!(matches!(seen("eu-3", "shop", Ok(&good), &services), MemberSeen::Registered { .. }));
    }
}
