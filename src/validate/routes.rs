//! Services and their routes: combinations that cannot carry weights, and routes that are named twice.

use std::collections::BTreeMap;

use super::{
    declared_start,
    problem::{Problem, quoted},
    suggestion::did_you_mean,
    target,
};
use crate::{
    api::{
        Affinity, Backend, Distribution, FleetRolloutSpec, Mode, Route, ServiceSpec, Steering,
        service::{Named, SkipperForm},
        status::PlannedStep,
        strategy::{Ramp, Step},
    },
    rollout::{
        affinity,
        plan::{plan, steering},
        ramp::ramp,
    },
    route::{
        self, Wanted,
        capability::{Leads, Split},
    },
};

/// Routes by themselves, with the backends of their service.
pub(super) fn routes(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let mut problems: Vec<Problem> = each(spec)
        .flat_map(|(path, service, route)| {
            let problems =
                [weights_ignored(&path, service, route), name_or_create(&path, route), rules_of_nothing(&path, route)];
            problems.into_iter().flatten()
        })
        .collect();
    problems.extend(named_twice(spec));
    problems
}

/// Backends against the members that they lead to.
pub(super) fn backends(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let services = spec.services.iter().enumerate();
    let existing =
        services.flat_map(|(i, service)| existing(&format!("spec.services[{i}].backend"), &service.backend, spec));
    existing.collect()
}

/// Every route with its path and service.
fn each(spec: &FleetRolloutSpec) -> impl Iterator<Item = (String, &ServiceSpec, &Route)> {
    spec.services.iter().enumerate().flat_map(|(i, service)| {
        let routes = service.routes.iter().enumerate();
        routes.map(move |(j, route)| (format!("spec.services[{i}].routes[{j}]"), service, route))
    })
}

/// A data plane that cannot divide traffic among this kind of backend would send everything to one member, or nothing.
fn weights_ignored(path: &str, service: &ServiceSpec, route: &Route) -> Option<Problem> {
    match route::capability(route).leads(&service.backend) {
        Leads::Yes => None,
        Leads::No { why, remedy } => Some(Problem::error(path, why, remedy)),
    }
}

/// A route is there already, or the hub makes it.
fn name_or_create(path: &str, route: &Route) -> Option<Problem> {
    let (kind, name, creates) = match route {
        Route::GatewayApi(route) => ("gatewayAPI", &route.name, route.create.is_some()),
        Route::Contour(route) => ("contour", &route.name, route.create.is_some()),
        Route::Skipper(route) => ("skipper", &route.name, route.create.is_some()),
        Route::Kubernetes(route) => ("kubernetes", &route.name, route.create.is_some()),
        Route::Nginx(_) | Route::AliyunAlb(_) => return None,
    };
    let found = match (name.is_some(), creates) {
        (true, false) | (false, true) => return None,
        (true, true) => "name and create are both given",
        (false, false) => "neither name nor create is given",
    };
    Some(Problem::error(format!("{path}.{kind}"), found, "name an object to adopt, or use create"))
}

fn rules_of_nothing(path: &str, route: &Route) -> Option<Problem> {
    let (kind, rules, creates) = match route {
        Route::GatewayApi(route) => ("gatewayAPI", &route.rules, route.create.is_some()),
        Route::Contour(route) => ("contour", &route.rules, route.create.is_some()),
        Route::Skipper(_) | Route::Nginx(_) | Route::AliyunAlb(_) | Route::Kubernetes(_) => return None,
    };
    (creates && !rules.is_empty()).then(|| {
        Problem::error(
            format!("{path}.{kind}.rules"),
            "selects rules of an adopted route, but this one is created",
            "leave rules out, or adopt a route by name",
        )
    })
}

/// A plan that needs more than its route can do. Where the way begins is not always declared, but its end is.
pub(super) fn beyond(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let (start, end) = (declared_start(spec), target(spec));
    let steps = start.as_ref().and_then(|start| plan(start, &end, &spec.strategy, spec.weight_total).ok());
    let steps = steps.unwrap_or_default();
    let ramp: Vec<Step> = spec.strategy.ramp.iter().flat_map(Ramp::steps).collect();
    let steered = spec.strategy.steps.iter().chain(&ramp).filter(|step| step.progress.is_none());
    let steering: Vec<Steering> = steered.map(|step| steering(step, &Distribution::new(), spec.weight_total)).collect();
    let kept = kept(spec, &steps);
    let wanted: Vec<Wanted<'_>> = steps
        .iter()
        .map(Wanted::of)
        .chain(start.as_ref().map(Wanted::from))
        .chain([Wanted::from(&end)])
        .chain(steering.iter().map(|steering| Wanted { steering: Some(steering), ..Wanted::from(&end) }))
        .chain(kept.iter().map(|affinity| Wanted { affinity: Some(affinity), ..Wanted::from(&end) }))
        .collect();
    each(spec).filter_map(|(path, _, route)| refused(&path, route, spec, &wanted)).collect()
}

/// Where users are kept at each step, as far as the steps are declared.
fn kept(spec: &FleetRolloutSpec, steps: &[PlannedStep]) -> Vec<Affinity> {
    let Some(session) = &spec.strategy.session_affinity else { return Vec::new() };
    let steps = match spec.mode() {
        Mode::Member => steps.to_vec(),
        Mode::Service => ramp(spec).unwrap_or_default(),
    };
    let at = |place| affinity::at(session, "", &steps, place);
    [affinity::without_bins(session)].into_iter().chain((0..steps.len()).filter_map(at)).collect()
}

fn refused(path: &str, route: &Route, spec: &FleetRolloutSpec, wanted: &[Wanted<'_>]) -> Option<Problem> {
    let capability = route::capability(route);
    if let Some((found, remedy)) = wanted.iter().find_map(|wanted| capability.refusal(*wanted)) {
        return Some(Problem::error(path, found, remedy));
    }
    match capability.split {
        Split::Switch if spec.strategy.steps.len() > 1 => Some(Problem::error(
            path,
            format!("{} steps, but {} has no weights", spec.strategy.steps.len(), capability.route),
            "use strategy.steps: [{progress: 100%}], or a route with weights",
        )),
        // Two members are a pair of one that leaves and one that comes; many more are members that wait for their turn.
        Split::Weights { members: Some(most), .. } if most > 2 && spec.members.len() > most => Some(Problem::warning(
            path,
            format!("{} members may carry traffic at once", spec.members.len()),
            format!("{} supports {most}; move fewer members at once, or use contour or skipper", capability.route),
        )),
        Split::Switch | Split::Weights { .. } => None,
    }
}

/// Existing Services are named for members of the rollout, and no two members by one Service.
fn existing(path: &str, backend: &Backend, spec: &FleetRolloutSpec) -> Vec<Problem> {
    let (kind, Named { existing }) = match backend {
        Backend::ExternalName(named) => ("externalName", named),
        Backend::ClusterIp(named) => ("clusterIP", named),
        Backend::EndpointSlice(named) => ("endpointSlice", named),
    };
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    existing
        .iter()
        .filter(|_| spec.mode() == Mode::Member)
        .filter_map(|(member, service)| {
            let path = format!("{path}.{kind}.existing.{member}");
            if !spec.members.iter().any(|known| known.name == *member) {
                let known = spec.members.iter().map(|known| known.name.as_str());
                return Some(Problem::error(
                    path,
                    format!("{} is not in spec.members", quoted(member)),
                    did_you_mean(member, known),
                ));
            }
            owners.insert(service, member).map(|other| {
                let found = format!(
                    "{} is already the Service of {}; weights would have no effect",
                    quoted(service),
                    quoted(other)
                );
                Problem::error(path, found, "give each member a Service of its own")
            })
        })
        .collect()
}

/// An object that holds weights, and the rules of it that are meant; no rules mean all.
struct Holder<'a> {
    path: String,
    object: (&'static str, &'a str),
    rules: &'a [String],
}

fn holder<'a>((path, service, route): (String, &'a ServiceSpec, &'a Route)) -> Holder<'a> {
    let (kind, name, rules): (_, _, &[String]) = match route {
        Route::GatewayApi(route) => ("HTTPRoute", route.name.as_ref(), &route.rules),
        Route::Contour(route) => ("HTTPProxy", route.name.as_ref(), &route.rules),
        Route::Skipper(route) => match route.form {
            SkipperForm::RouteGroup => ("RouteGroup", route.name.as_ref(), &[]),
            SkipperForm::Ingress | SkipperForm::IngressPerMember => ("Ingress", route.name.as_ref(), &[]),
        },
        Route::Nginx(route) | Route::AliyunAlb(route) => ("Ingress", Some(&route.name), &[]),
        Route::Kubernetes(route) => ("Service", route.name.as_ref(), &[]),
    };
    Holder { path, object: (kind, name.unwrap_or(&service.name)), rules }
}

fn named_twice(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let holders: Vec<Holder<'_>> = each(spec).map(holder).collect();
    let meet = |a: &Holder<'_>, b: &Holder<'_>| {
        let common = a.rules.is_empty() || b.rules.is_empty() || a.rules.iter().any(|rule| b.rules.contains(rule));
        a.object == b.object && common
    };
    let first = |i: usize| holders[..i].iter().find(|earlier| meet(earlier, &holders[i]));
    (0..holders.len())
        .filter_map(|i| {
            let (kind, name) = holders[i].object;
            first(i).map(|first| {
                let found = format!("{kind} {} already holds the weights of {}", quoted(name), first.path);
                Problem::error(holders[i].path.clone(), found, "name other rules, or another route")
            })
        })
        .collect()
}
