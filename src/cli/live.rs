//! The live routes of a rollout, read with the credentials of the user.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt, core::DynamicObject};

use super::{
    CliError,
    cluster::{Cluster, DEADLINE, words},
    routes::RouteShown,
    view::View,
};
use crate::{
    api::{Mode, Route, ServiceCopy, ServiceSpec},
    backend,
    object::{AllowedHosts, Context, Mesh, Reach, Target},
    rollout::{
        self, RouteKey,
        input::{LiveRoute, RouteSeen},
    },
    route,
};

/// Whose routes they are.
pub(super) struct Owner {
    namespace: String,
    name: String,
    pub(super) uid: String,
    pub(super) hub: String,
    total: u32,
}

/// One service, with the addresses of its members.
pub(super) struct Place {
    pub(super) service: ServiceSpec,
    endpoints: BTreeMap<String, Reach>,
    copies: BTreeMap<String, ServiceCopy>,
}

impl Place {
    /// The members of the distribution, each with the name of the `MemberCluster` to which it leads and where that is reached.
    pub(super) fn clusters(&self) -> impl Iterator<Item = (&str, &str, &Reach)> {
        self.endpoints.iter().filter_map(|(member, reach)| match self.copies.get(member) {
            Some(copy) => Some((member.as_str(), copy.leads_to()?, reach)),
            None => Some((member.as_str(), member.as_str(), reach)),
        })
    }
}

impl Owner {
    /// The rollout, and which hub cluster this is.
    pub(super) async fn of(cluster: &Cluster, view: &View) -> Result<Self, CliError> {
        let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
        let system = cluster.call(&[], namespaces.get("kube-system")).await?;
        Ok(Self { hub: system.uid().unwrap_or_default(), ..Self::reading(view) })
    }

    /// Enough to read routes, which needs no name of the hub.
    pub(super) fn reading(view: &View) -> Self {
        Self {
            namespace: view.namespace(),
            name: view.name(),
            uid: view.rollout.uid().unwrap_or_default(),
            hub: String::new(),
            total: view.total(),
        }
    }

    /// The context for the functions of [`route`].
    pub(super) fn context<'a>(&'a self, place: &'a Place) -> Context<'a> {
        Context {
            namespace: &self.namespace,
            rollout: &self.name,
            uid: &self.uid,
            hub: &self.hub,
            service: &place.service,
            total: self.total,
            endpoints: &place.endpoints,
            copies: &place.copies,
            // Nor does it make Services.
            allowed_hosts: AllowedHosts::none(),
            // Only the hub assigns numbers and looks at backends, so neither neighbours nor the mesh matter here.
            neighbours: &[],
            mesh: &Mesh::NotKnown,
        }
    }
}

/// Every route as it is now; of one that cannot be read, why.
pub(super) async fn shown(cluster: &Cluster, view: &View) -> Vec<RouteShown> {
    let (owner, services) = (Owner::reading(view), rollout::services(&view.rollout.spec, &view.status));
    let keys = |service: &ServiceSpec| {
        let service = service.in_mode(view.rollout.spec.mode());
        service.routes.iter().map(|route| route::key(&service, route)).collect::<Vec<RouteKey>>()
    };
    let places = match places(view) {
        Ok(places) => places,
        Err(why) => {
            let keys = services.iter().flat_map(keys);
            return keys.map(|key| RouteShown { key, live: Err(why.to_string()) }).collect();
        }
    };
    let routes = places.iter().flat_map(|place| place.service.routes.iter().map(move |route| (place, route)));
    let reads = routes.map(async |(place, route)| {
        let live = one(cluster, &owner.context(place), route).await;
        RouteShown { key: route::key(&place.service, route), live }
    });
    futures::future::join_all(reads).await
}

async fn one(cluster: &Cluster, context: &Context<'_>, route: &Route) -> Result<LiveRoute, String> {
    let mut objects = Vec::new();
    for target in route::targets(context, route) {
        let read = tokio::time::timeout(DEADLINE, api(&cluster.client, &target).get_opt(&target.name)).await;
        let found = read.map_err(|_| "the API server did not answer".to_owned())?;
        objects.push(found.map_err(|error| words(&error))?.map(Arc::new));
    }
    match route::read(context, route, &objects) {
        RouteSeen::Live(live) => Ok(*live),
        RouteSeen::ToCreate => Err("it does not exist".to_owned()),
        RouteSeen::Unusable(problem) => Err(problem.message),
        RouteSeen::Unseen => Err("it could not be read".to_owned()),
    }
}

/// The services: those of the live run, else the declared ones; with the endpoints of every member that is named.
pub(super) fn places(view: &View) -> Result<Vec<Place>, CliError> {
    let services = rollout::services(&view.rollout.spec, &view.status);
    if view.rollout.spec.mode() == Mode::Service {
        return Ok(services.iter().map(|service| copied(view, service)).collect());
    }
    let declared = view.rollout.spec.members.iter().map(|member| member.name.as_str());
    let names: BTreeSet<&str> = declared.chain(view.shown_members()).collect();
    let place = |service: &ServiceSpec| {
        let reach = |name: &str| {
            let missing = || format!("membercluster {name} does not exist, or this version of cutover cannot read it");
            let member = view.member(name).ok_or_else(|| CliError::Said(missing()))?;
            let reach = backend::reach(&member.spec, &view.namespace(), &service.name);
            reach.map_err(|problem| CliError::Said(format!("membercluster {name}: {}", problem.message)))
        };
        let endpoints = names.iter().map(|name| Ok(((*name).to_owned(), reach(name)?)));
        let endpoints = endpoints.collect::<Result<_, CliError>>()?;
        Ok(Place { service: service.in_mode(Mode::Member), endpoints, copies: BTreeMap::new() })
    };
    services.iter().map(place).collect()
}

/// In service mode, primary and canary take the place of members.
fn copied(view: &View, service: &ServiceSpec) -> Place {
    let copies = rollout::copies(&service.name, &view.status);
    let reach = |copy: &ServiceCopy| {
        let member = copy.leads_to().and_then(|name| view.member(name));
        backend::reach_of(copy, service, &view.namespace(), member.map(|member| &member.spec))
    };
    let endpoints = copies.iter().map(|(slot, copy)| (slot.clone(), reach(copy))).collect();
    Place { service: service.in_mode(Mode::Service), endpoints, copies }
}

/// The objects of one route, in the order of its targets; `None` for a missing one.
pub(super) async fn objects(
    cluster: &Cluster,
    context: &Context<'_>,
    route: &Route,
) -> Result<Vec<Option<Arc<DynamicObject>>>, CliError> {
    let mut objects = Vec::new();
    for target in route::targets(context, route) {
        let found = cluster.call(&[], api(&cluster.client, &target).get_opt(&target.name)).await?;
        objects.push(found.map(Arc::new));
    }
    Ok(objects)
}

/// The API for objects of the target's kind.
pub(super) fn api(client: &Client, target: &Target) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), &target.namespace, &target.resource)
}
