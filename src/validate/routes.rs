//! Services and their routes: combinations that cannot carry weights, and routes that are named twice.

use std::collections::BTreeMap;

use super::{
    problem::{Problem, quoted},
    suggestion::did_you_mean,
};
use crate::api::{
    Backend, FleetRolloutSpec, Route, ServiceSpec,
    service::{Named, SkipperForm},
};

/// How many backends a rule of an HTTPRoute may have; the bound of Gateway API's own schema.
const HTTP_ROUTE_BACKENDS: usize = 16;

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
    existing.chain(each(spec).filter_map(|(path, _, route)| too_many_backends(&path, route, spec))).collect()
}

/// Every route with its path and service.
fn each(spec: &FleetRolloutSpec) -> impl Iterator<Item = (String, &ServiceSpec, &Route)> {
    spec.services.iter().enumerate().flat_map(|(i, service)| {
        let routes = service.routes.iter().enumerate();
        routes.map(move |(j, route)| (format!("spec.services[{i}].routes[{j}]"), service, route))
    })
}

/// A data plane that ignores the weights of this kind of backend would send everything to one member.
fn weights_ignored(path: &str, service: &ServiceSpec, route: &Route) -> Option<Problem> {
    match (route, &service.backend) {
        (Route::Skipper(skipper), Backend::ExternalName(_)) => match skipper.form {
            SkipperForm::Ingress => Some(Problem::error(
                path,
                "skipper Ingress weights are ignored for ExternalName members (all traffic would go to one of them)",
                "use the RouteGroup form or backend kind EndpointSlice",
            )),
            SkipperForm::RouteGroup | SkipperForm::IngressPerMember => None,
        },
        (Route::GatewayApi(_) | Route::Contour(_) | Route::Skipper(_), _) => None,
    }
}

/// A route is there already, or the hub makes it.
fn name_or_create(path: &str, route: &Route) -> Option<Problem> {
    let (kind, name, creates) = match route {
        Route::GatewayApi(route) => ("gatewayAPI", &route.name, route.create.is_some()),
        Route::Contour(route) => ("contour", &route.name, route.create.is_some()),
        Route::Skipper(route) => ("skipper", &route.name, route.create.is_some()),
    };
    let found = match (name.is_some(), creates) {
        (true, false) | (false, true) => return None,
        (true, true) => "name and create are both given",
        (false, false) => "neither name nor create is given",
    };
    Some(Problem::error(format!("{path}.{kind}"), found, "name an object to adopt, or say create"))
}

fn rules_of_nothing(path: &str, route: &Route) -> Option<Problem> {
    let (kind, rules, creates) = match route {
        Route::GatewayApi(route) => ("gatewayAPI", &route.rules, route.create.is_some()),
        Route::Contour(route) => ("contour", &route.rules, route.create.is_some()),
        Route::Skipper(_) => return None,
    };
    (creates && !rules.is_empty()).then(|| {
        Problem::error(
            format!("{path}.{kind}.rules"),
            "chooses among the rules of an adopted route, but this one is created",
            "leave rules out, or adopt a route by name",
        )
    })
}

fn too_many_backends(path: &str, route: &Route, spec: &FleetRolloutSpec) -> Option<Problem> {
    if !matches!(route, Route::GatewayApi(_)) || spec.members.len() <= HTTP_ROUTE_BACKENDS {
        return None;
    }
    let active = spec
        .members
        .iter()
        .filter(|member| member.weight > 0 || member.initial_weight.is_some_and(|weight| weight > 0));
    let remedy =
        format!("an HTTPRoute rule takes {HTTP_ROUTE_BACKENDS} backends; use contour or skipper, or split the rollout");
    Some(match active.count() {
        active if active > HTTP_ROUTE_BACKENDS => {
            Problem::error(path, format!("{active} members carry traffic"), remedy)
        }
        _ => Problem::warning(path, format!("{} members may carry traffic at once", spec.members.len()), remedy),
    })
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
                let found =
                    format!("{} already leads to {}; weights would have no effect", quoted(service), quoted(other));
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
        Route::GatewayApi(route) => ("HTTPRoute", &route.name, &route.rules),
        Route::Contour(route) => ("HTTPProxy", &route.name, &route.rules),
        Route::Skipper(route) => match route.form {
            SkipperForm::RouteGroup => ("RouteGroup", &route.name, &[]),
            SkipperForm::Ingress | SkipperForm::IngressPerMember => ("Ingress", &route.name, &[]),
        },
    };
    Holder { path, object: (kind, name.as_ref().unwrap_or(&service.name)), rules }
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
