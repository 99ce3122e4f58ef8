//! The first half of a pass: what is seen of routes, backends, members and endpoints. A failure to see is a value.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::api::core::v1::Service;
use kube::core::{ApiResource, DynamicObject};
use tokio::time::Instant;

use super::{
    Hub,
    cache::{Availability, Key},
    dependencies, leftovers,
    memory::Memory,
    objects::{Lookup, kind_of},
    observed::{Found, Observed},
    placed::{Placed, Readiness},
    subject::Subject,
    templates,
};
use crate::{
    api::{Distribution, FleetRollout, Mode, PRIMARY, Reason, Route, status::PlannedStep},
    backend,
    object::{Mesh, Target},
    rollout::{
        self, RouteKey,
        input::{BackendSeen, Problem, RouteSeen, SourceSeen},
        plan::{Ends, plan_run},
    },
    route,
};

/// Looks at everything that the subject names. The rollout's metrics are resolved, as far as they can be.
pub(super) fn observe(
    hub: &Hub,
    rollout: &FleetRollout,
    unusable: &BTreeMap<String, Problem>,
    subject: &Subject,
    memory: &mut Memory,
) -> Observed {
    let mut observed = Observed::default();
    for placed in subject.declared.iter().filter(|_| rollout.spec.mode() == Mode::Service) {
        see_source(hub, subject, placed, &mut observed);
    }
    for placed in &subject.services {
        for route in &placed.spec.routes {
            see_route(hub, subject, placed, route, memory, &mut observed);
        }
        for member in placed.endpoints.keys() {
            see_backend(hub, subject, placed, member, memory, &mut observed);
            if placed.readiness(member) == Readiness::NotKnown {
                observed.seen.unprobed.insert((placed.spec.name.clone(), member.clone()));
            }
        }
    }
    for placed in subject.declared.iter().filter(|_| rollout.spec.mode() == Mode::Service) {
        see_serving(hub, subject, placed, &mut observed);
    }
    let deleting = rollout.metadata.deletion_timestamp.is_some();
    observed.left = leftovers::find(hub, subject, rollout.spec.mode(), deleting, &observed);
    observed.seen.left = observed.left.of_members.keys().cloned().collect();
    observed.seen.refused =
        refused(rollout, subject, &observed.seen.routes, memory).or_else(|| templates::refused(unusable));
    observed.seen.members.clone_from(&subject.members);
    observed.seen.endpoints = memory.probes.endpoints(subject);
    observed.seen.rehearsals = memory.rehearsals(subject.status);
    observed.seen.configs = memory.configs.known();
    observed.seen.config_copies = memory.configs.copies(&memory.attempts);
    observed.seen.hooks = memory.hooks.seen();
    observed.seen.measured = memory.measuring.arrived();
    observed.seen.dependencies = dependencies::states(hub, rollout);
    let overloaded_at = hub.turns.since_overload().map(|time| hub.clock.now() - time);
    observed.seen.delayed_at = overloaded_at.max(memory.behind_at);
    observed
}

/// Looks at every object that the subject names, so that their kinds are watched. True unless the whole of one is still
/// being read.
pub(super) fn name_all(hub: &Hub, subject: &Subject) -> bool {
    let (mut whole, mut named) = (true, BTreeSet::new());
    for placed in &subject.services {
        let context = subject.context(placed);
        let routes = placed.spec.routes.iter().flat_map(|route| route::targets(&context, route));
        let backends = placed.endpoints.keys().flat_map(|member| backend::targets(&context, member));
        for target in routes.chain(backends).chain([source(subject, placed)]) {
            named.insert((kind_of(&target.resource), target.name.clone()));
            let key = Key::new(target.namespace, target.name);
            hub.objects.lookup(&target.resource, &key);
            whole &= !hub.objects.is_awaited(&target.resource, &key);
        }
        if placed.endpoints.keys().any(|member| matches!(placed.readiness(member), Readiness::BySlices(_))) {
            hub.objects.availability(&backend::slices());
        }
    }
    hub.wakers.looks_at(&Key::new(&subject.namespace, &subject.name), named);
    whole
}

/// Every object of the kinds of which its routes count all.
pub(super) fn neighbours(hub: &Hub, subject: &Subject) -> Vec<Arc<DynamicObject>> {
    subject.neighbour_kinds().next().map(|kind| hub.objects.all(&kind)).unwrap_or_default()
}

/// What the mesh knows beside Services, as far as that is listed.
pub(super) fn mesh(hub: &Hub, subject: &Subject) -> Mesh {
    let Some(kinds) = subject.mesh_kinds() else { return Mesh::NotKnown };
    let [entries, rules] = &kinds;
    match (hub.objects.availability(entries), hub.objects.availability(rules)) {
        (Availability::Pending, _) | (_, Availability::Pending) => Mesh::NotKnown,
        (Availability::Forbidden, _) | (_, Availability::Forbidden) => Mesh::Forbidden,
        (Availability::Synced | Availability::NotInstalled, Availability::Synced | Availability::NotInstalled) => {
            let objects = kinds.iter().flat_map(|kind| hub.objects.all(kind)).collect::<Vec<_>>();
            Mesh::of(objects.iter().map(AsRef::as_ref))
        }
    }
}

/// What makes the declaration unfit to start a run: the first problem.
fn refused(
    rollout: &FleetRollout,
    subject: &Subject,
    routes: &BTreeMap<RouteKey, RouteSeen>,
    memory: &mut Memory,
) -> Option<Problem> {
    memory.refused(rollout).or_else(|| combinations(subject)).or_else(|| beyond(rollout, subject, routes, memory))
}

/// A step from where the routes stand now that one of them cannot hold. Before the primary is recorded it is what the routes
/// show: it is recorded and left in one pass.
fn beyond(
    rollout: &FleetRollout,
    subject: &Subject,
    routes: &BTreeMap<RouteKey, RouteSeen>,
    memory: &mut Memory,
) -> Option<Problem> {
    let status = subject.status;
    let shown = || routes.values().find_map(RouteSeen::live).map(|live| &live.split.weights);
    let recorded = status.desired.as_ref().map(|desired| &desired.split.weights).or(status.primary.as_ref());
    let start = recorded.or_else(shown)?;
    let rollback_to = status.run.as_ref().map_or(start, |run| &run.rollback_to);
    memory.planned(rollout.metadata.generation, (start, rollback_to), || too_much(rollout, subject, start, rollback_to))
}

/// The first step of the plan that a route cannot hold.
fn too_much(
    rollout: &FleetRollout,
    subject: &Subject,
    start: &Distribution,
    rollback_to: &Distribution,
) -> Option<Problem> {
    let ends = Ends { start, rollback_to, target: &rollout::declared(&rollout.spec) };
    let steps = plan_run(&rollout.spec, ends, "").ok()?;
    subject.declared.iter().flat_map(|placed| placed.spec.routes.iter().map(move |route| (placed, route))).find_map(
        |(placed, route)| {
            let refusal = |step: &PlannedStep| route::capability(route).refusal(&step.split);
            let (found, remedy) = steps.iter().find_map(refusal)?;
            let key = route::key(&placed.spec, route);
            Some(Problem::new(Reason::CannotCarryWeights, format!("{key}: {found}: {remedy}")))
        },
    )
}

fn combinations(subject: &Subject) -> Option<Problem> {
    subject.declared.iter().find_map(|placed| {
        let context = subject.context(placed);
        placed.spec.routes.iter().find_map(|route| route::problems(&context, route).into_iter().next())
    })
}

/// The user's own Service, which declares the canary.
fn see_source(hub: &Hub, subject: &Subject, placed: &Placed, observed: &mut Observed) {
    let name = placed.spec.name.clone();
    let seen = match find(hub, vec![source(subject, placed)]) {
        Err(Missing::Pending(_)) => return,
        Err(missing) => SourceSeen::Unusable(match missing.into_backend() {
            BackendSeen::NotReady(problem) | BackendSeen::Missing(problem) => problem,
            BackendSeen::Ready | BackendSeen::Outdated(_) => return,
        }),
        Ok(found) => backend::source(&subject.context(placed), found.first().and_then(Option::as_deref)),
    };
    observed.seen.sources.insert(name, seen);
}

/// The primary's Service, if a route names it: it may have traffic. One that leads where none may cannot be taken up, and
/// cannot be changed under that traffic either.
fn see_serving(hub: &Hub, subject: &Subject, placed: &Placed, observed: &mut Observed) {
    let name = backend::name(&placed.spec, PRIMARY);
    let is_named = observed.routes.values().any(|route| route::names(route, &name));
    if let Some(object) = hub.objects.known(&service(subject, name)).filter(|_| is_named) {
        let service = placed.spec.name.clone();
        match backend::serving(&subject.context(placed), &object) {
            Ok(copy) => drop(observed.seen.serving.insert(service, copy)),
            Err(problem) => drop(observed.seen.sources.insert(service, SourceSeen::Unusable(problem))),
        }
    }
}

/// The user's own Service.
pub(super) fn source(subject: &Subject, placed: &Placed) -> Target {
    service(subject, placed.spec.name.clone())
}

fn service(subject: &Subject, name: String) -> Target {
    Target { resource: ApiResource::erase::<Service>(&()), namespace: subject.namespace.clone(), name }
}

fn see_route(
    hub: &Hub,
    subject: &Subject,
    placed: &Placed,
    route: &Route,
    memory: &mut Memory,
    observed: &mut Observed,
) {
    let (context, key) = (subject.context(placed), route::key(&placed.spec, route));
    let seen = match find(hub, route::targets(&context, route)) {
        Err(missing) => missing.into_route(),
        Ok(found) => {
            let seen = memory.attempts.with_failure(
                &key,
                claimed(subject, &key, route::read(&context, route, &found), |uid| hub.rollout_of(uid)),
            );
            observed.routes.insert(key.clone(), found);
            let within = route::obeyed_within(&placed.spec, route);
            memory.propagation.awaited(subject, &key, within, seen, Instant::now())
        }
    };
    observed.seen.routes.insert(key, seen);
}

/// A route that carries the mark of another rollout that exists belongs to that one.
fn claimed(subject: &Subject, key: &RouteKey, seen: RouteSeen, rollout_of: impl Fn(&str) -> Option<Key>) -> RouteSeen {
    let RouteSeen::Live(live) = &seen else { return seen };
    let mark = rollout::credible(subject.status, &subject.hub, &subject.uid, key, live);
    let other = mark.filter(|mark| mark.hub == subject.hub && mark.rollout != subject.uid);
    let Some(owner) = other.and_then(|mark| rollout_of(&mark.rollout)) else { return seen };
    let message = format!("{key} belongs to FleetRollout {owner}; leave it to that one, or delete that one first");
    RouteSeen::Unusable(Problem::new(Reason::Conflict, message))
}

fn see_backend(
    hub: &Hub,
    subject: &Subject,
    placed: &Placed,
    member: &str,
    memory: &mut Memory,
    observed: &mut Observed,
) {
    let (context, key) = (subject.context(placed), (placed.spec.name.clone(), member.to_owned()));
    let seen = match find(hub, backend::targets(&context, member)) {
        Err(missing) => missing.into_backend(),
        Ok(found) => {
            let addresses = memory.addresses.of(placed, member);
            let seen = memory.attempts.with_backend_failure(&key, backend::assess(&context, member, &found, addresses));
            observed.addresses.insert(key.clone(), addresses.to_vec());
            observed.backends.insert(key.clone(), found);
            seen
        }
    };
    observed.seen.backends.insert(key, seen);
}

/// Why objects cannot be looked at.
enum Missing {
    /// They have not been listed yet.
    Pending(String),
    /// Their kind is not installed.
    NotInstalled(String),
    /// The hub's role does not allow to look.
    Forbidden(String),
}

fn find(hub: &Hub, targets: Vec<Target>) -> Result<Found, Missing> {
    let one = |target: Target| {
        let kind = format!("{}.{}", target.resource.plural, target.resource.group);
        match hub.objects.lookup(&target.resource, &Key::new(target.namespace, target.name)) {
            Lookup::Pending => Err(Missing::Pending(kind)),
            Lookup::NotInstalled => Err(Missing::NotInstalled(kind)),
            Lookup::Forbidden => Err(Missing::Forbidden(kind)),
            Lookup::Absent => Ok(None),
            Lookup::Found(object) => Ok(Some(object)),
        }
    };
    targets.into_iter().map(one).collect()
}

impl Missing {
    fn into_route(self) -> RouteSeen {
        match self {
            Self::Pending(_) => RouteSeen::Unseen,
            Self::NotInstalled(kind) => RouteSeen::Unusable(Problem::new(
                Reason::ProviderNotInstalled,
                format!("{kind} is not installed in the hub cluster; install its CRD"),
            )),
            Self::Forbidden(kind) => RouteSeen::Unusable(Problem::new(Reason::RouteUnreadable, forbidden(&kind))),
        }
    }

    fn into_backend(self) -> BackendSeen {
        let message = match self {
            Self::Pending(kind) => format!("{kind} have not been listed yet"),
            Self::NotInstalled(kind) => format!("{kind} is not installed in the hub cluster"),
            Self::Forbidden(kind) => forbidden(&kind),
        };
        BackendSeen::NotReady(Problem::new(Reason::BackendNotReady, message))
    }
}

fn forbidden(kind: &str) -> String {
    format!("the hub may not list {kind}; give it its role in config/rbac")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hub::fixtures::objects::live_route, member::Registry, rollout::input::Mark};

    #[test]
    fn a_route_that_carries_the_mark_of_a_living_rollout_is_that_ones() {
        let object = serde_json::json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
            "metadata": {"name": "second", "namespace": "shop", "uid": "uid-2"},
            "spec": {"services": [], "members": [], "analysis": {"metrics": []}}});
        let rollout: FleetRollout = serde_json::from_value(object).unwrap();
        let subject = Subject::new("hub-1", &rollout, &Registry::default(), &[]);
        let key = RouteKey { service: "shop".to_owned(), route: "HTTPRoute/public".to_owned() };
        let seen = |hub: &str, rollout: &str| {
            let mark = Mark { hub: hub.to_owned(), rollout: rollout.to_owned(), run: 1, sequence: 1 };
            RouteSeen::Live(Box::new(live_route(Some(mark))))
        };
        let shown = |seen| claimed(&subject, &key, seen, |uid| (uid == "uid-1").then(|| Key::new("shop", "first")));
        let message = "HTTPRoute/public (shop) belongs to FleetRollout shop/first; leave it to that one, or delete \
                       that one first";
        assert_eq!(shown(seen("hub-1", "uid-1")), RouteSeen::Unusable(Problem::new(Reason::Conflict, message)));
        for (hub, rollout) in [("hub-1", "uid-2"), ("hub-1", "uid-of-one-that-is-gone"), ("hub-2", "uid-1")] {
            assert_eq!(shown(seen(hub, rollout)), seen(hub, rollout), "{hub} {rollout}");
        }
    }

    #[test]
    fn a_plan_that_a_route_cannot_hold_is_refused_before_the_primary_is_recorded() {
        let object = serde_json::json!({
            "apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
            "metadata": {"name": "shop", "namespace": "shop", "uid": "uid-1"},
            "spec": {
                "services": [{"name": "shop", "port": 80, "routes": [{"contour": {"name": "public"}}]}],
                "members": [{"name": "eu-1", "weight": 0}, {"name": "eu-3", "weight": 60}, {"name": "eu-4", "weight": 40}],
                "strategy": {"steps": [{"progress": "20%"}, {"mirror": {}, "iterations": 3}, {"progress": "100%"}]},
                "analysis": {"metrics": []}}});
        let rollout: FleetRollout = serde_json::from_value(object).unwrap();
        let subject = Subject::new("hub-1", &rollout, &Registry::default(), &[]);
        let key = RouteKey { service: "shop".to_owned(), route: "HTTPProxy/public".to_owned() };
        let shows = |seen: RouteSeen| {
            beyond(&rollout, &subject, &BTreeMap::from([(key.clone(), seen)]), &mut Memory::default())
        };
        let problem = shows(RouteSeen::Live(Box::new(live_route(None)))).unwrap();
        assert_eq!(problem.reason, Reason::CannotCarryWeights);
        assert!(problem.message.contains("mirrors requests to 2 members"), "{}", problem.message);
        assert_eq!(shows(RouteSeen::Unseen), None);
    }

    #[test]
    fn a_kind_that_cannot_be_read_is_reported_with_the_remedy() {
        let kind = || "httproutes.gateway.networking.k8s.io".to_owned();
        let route = |missing: Missing| match missing.into_route() {
            RouteSeen::Unusable(problem) => problem,
            seen @ (RouteSeen::Unseen | RouteSeen::ToCreate | RouteSeen::Live(_)) => panic!("{seen:?}"),
        };
        assert_eq!(Missing::Pending(kind()).into_route(), RouteSeen::Unseen);
        assert_eq!(
            route(Missing::NotInstalled(kind())),
            Problem::new(
                Reason::ProviderNotInstalled,
                "httproutes.gateway.networking.k8s.io is not installed in the hub cluster; install its CRD"
            )
        );
        assert_eq!(
            route(Missing::Forbidden(kind())),
            Problem::new(
                Reason::RouteUnreadable,
                "the hub may not list httproutes.gateway.networking.k8s.io; give it its role in config/rbac"
            )
        );
    }
}
