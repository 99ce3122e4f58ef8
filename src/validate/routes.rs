//! Services and their routes: combinations that cannot carry weights, and routes that are named twice.

use std::collections::BTreeMap;

use super::{
    problem::{Problem, quoted},
    suggestion::did_you_mean,
};
use crate::{
    api::{
        Backend, Distribution, FleetRolloutSpec, Mode, Route, ServiceSpec, Split,
        service::{SkipperForm, SkipperRoute},
        strategy::Ramp,
    },
    rollout::{
        declared, initial,
        plan::{Ends, affinity::without_bins, plan_run, primary_and_canary, steering},
    },
    route::{
        self,
        capability::{BackendSupport, Weighting},
    },
};

/// Routes by themselves, with the backends of their service.
pub(super) fn routes(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let spec = &decided(spec);
    let mut problems: Vec<Problem> = each(spec)
        .flat_map(|(path, service, route)| {
            let problems = [
                weights_ignored(&path, spec.mode(), service, route),
                name_or_create(&path, route),
                beside_nothing(&path, route),
                rules_of_nothing(&path, route),
            ];
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

/// The same with the form of its routes decided.
fn decided(spec: &FleetRolloutSpec) -> FleetRolloutSpec {
    let services = spec.services.iter().map(|service| service.in_mode(spec.mode())).collect();
    FleetRolloutSpec { services, ..spec.clone() }
}

/// Every route with its path and service.
fn each(spec: &FleetRolloutSpec) -> impl Iterator<Item = (String, &ServiceSpec, &Route)> {
    spec.services.iter().enumerate().flat_map(|(i, service)| {
        let routes = service.routes.iter().enumerate();
        routes.map(move |(j, route)| (format!("spec.services[{i}].routes[{j}]"), service, route))
    })
}

/// A data plane that cannot divide traffic among this kind of backend would send everything to one member, or nothing.
fn weights_ignored(path: &str, mode: Mode, service: &ServiceSpec, route: &Route) -> Option<Problem> {
    match route::capability(route).supports(&service.backend) {
        BackendSupport::Yes => None,
        BackendSupport::InServiceMode { .. } if mode == Mode::Service => None,
        BackendSupport::No { why, remedy } | BackendSupport::InServiceMode { why, remedy } => {
            Some(Problem::error(path, why, remedy))
        }
    }
}

/// A route is there already, or the hub makes it.
fn name_or_create(path: &str, route: &Route) -> Option<Problem> {
    let (kind, name, creates) = match route {
        Route::GatewayApi(route) => ("gatewayAPI", &route.name, route.create.is_some()),
        Route::Contour(route) => ("contour", &route.name, route.create.is_some()),
        Route::Istio(route) => ("istio", &route.name, route.create.is_some()),
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

fn beside_nothing(path: &str, route: &Route) -> Option<Problem> {
    let Route::Skipper(SkipperRoute { form: Some(SkipperForm::CanaryIngress), create: Some(_), .. }) = route else {
        return None;
    };
    Some(Problem::error(
        format!("{path}.skipper.create"),
        "form CanaryIngress goes beside an Ingress that is there, and this one is created",
        "name the Ingress, or use another form",
    ))
}

fn rules_of_nothing(path: &str, route: &Route) -> Option<Problem> {
    let (field, rules, creates) = match route {
        Route::GatewayApi(route) => ("gatewayAPI.rules", &route.rules, route.create.is_some()),
        Route::Contour(route) => ("contour.rules", &route.rules, route.create.is_some()),
        Route::Istio(route) => ("istio.routes", &route.routes, route.create.is_some()),
        Route::Skipper(_) | Route::Nginx(_) | Route::AliyunAlb(_) | Route::Kubernetes(_) => return None,
    };
    (creates && !rules.is_empty()).then(|| {
        Problem::error(
            format!("{path}.{field}"),
            "selects rules of an adopted route, but this one is created",
            "leave it out, or adopt a route by name",
        )
    })
}

/// A plan that needs more than its route can do.
pub(super) fn beyond(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let spec = &decided(spec);
    let splits = splits(spec);
    each(spec).filter_map(|(path, _, route)| refused(&path, route, spec, &splits)).collect()
}

/// All that routes will show: every step of the plan. Where a run begins is not always declared; then its end and what its
/// steps steer are known.
fn splits(spec: &FleetRolloutSpec) -> Vec<Split> {
    let (start, target, total) = (start(spec), declared(spec), spec.weight_total);
    let ends = start.as_ref().map(|start| Ends { start, rollback_to: start, target: &target });
    let steps = ends.and_then(|ends| plan_run(spec, ends, "").ok());
    let planned = steps.into_iter().flatten().map(|step| step.split);
    let steps = spec.strategy.steps.iter().cloned().chain(spec.strategy.ramp.iter().flat_map(Ramp::steps));
    let steered = steps
        .filter(|step| step.progress.is_none())
        .map(|step| Split { steering: Some(steering(&step, &Distribution::new(), total)), ..Split::from(&target) });
    let session = spec.strategy.session_affinity.as_ref();
    let kept = session.map(|session| Split { affinity: Some(without_bins(session)), ..Split::from(&target) });
    planned.chain(start.map(Split::from)).chain([Split::from(&target)]).chain(steered).chain(kept).collect()
}

/// Where a run begins, as far as that is declared.
fn start(spec: &FleetRolloutSpec) -> Option<Distribution> {
    match spec.mode() {
        Mode::Member => initial(spec),
        Mode::Service => Some(primary_and_canary(0, spec.weight_total)),
    }
}

fn refused(path: &str, route: &Route, spec: &FleetRolloutSpec, splits: &[Split]) -> Option<Problem> {
    let capability = route::capability(route);
    if let Some((found, remedy)) = splits.iter().find_map(|split| capability.refusal(split)) {
        return Some(Problem::error(path, found, remedy));
    }
    match capability.weighting {
        Weighting::Switch if spec.strategy.ramp.is_none() && !spec.skip_analysis && spec.strategy.steps.len() > 1 => {
            Some(Problem::error(
                path,
                format!("{} steps, but {} has no weights", spec.strategy.steps.len(), capability.route),
                "use strategy.steps: [{progress: 100%}], or a route with weights",
            ))
        }
        // Two members are a pair of one that leaves and one that comes; many more are members that wait for their turn.
        Weighting::Weights { members: Some(most), .. } if most > 2 && spec.members.len() > most => {
            Some(Problem::warning(
                path,
                format!("{} members may carry traffic at once", spec.members.len()),
                format!("{} supports {most}; move fewer members at once, or use contour or skipper", capability.route),
            ))
        }
        Weighting::Switch | Weighting::Weights { .. } => None,
    }
}

/// Existing Services are named for members of the rollout, and no two members by one Service.
fn existing(path: &str, backend: &Backend, spec: &FleetRolloutSpec) -> Vec<Problem> {
    let kind = match backend {
        Backend::ExternalName(_) => "externalName",
        Backend::ClusterIp(_) => "clusterIP",
        Backend::EndpointSlice(_) => "endpointSlice",
        Backend::ServiceEntry(_) => "serviceEntry",
        Backend::Subset(_) => "subset",
    };
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let existing = backend.existing();
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
        Route::Istio(route) => ("VirtualService", route.name.as_ref(), &route.routes),
        Route::Skipper(route) => match route.form.unwrap_or_default() {
            SkipperForm::RouteGroup => ("RouteGroup", route.name.as_ref(), &[]),
            SkipperForm::Ingress | SkipperForm::IngressPerMember | SkipperForm::CanaryIngress => {
                ("Ingress", route.name.as_ref(), &[])
            }
        },
        Route::Nginx(route) | Route::AliyunAlb(route) => ("Ingress", Some(&route.name), &[]),
        Route::Kubernetes(route) => {
            return Holder { path, object: ("Service", route.switched(&service.name)), rules: &[] };
        }
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
