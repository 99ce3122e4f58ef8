//! What belongs to one of the two modes only: members, or the Services themselves.

use super::{
    problem::{Problem, made, quoted},
    strategy::conditions,
};
use crate::{
    api::{Backend, CANARY, FleetRolloutSpec, Mode, Route, ServiceSpec, hook::HookType, strategy::Ramp},
    rollout::plan::{Ends, plan_run},
};

/// Longest name of a Service that has a copy named `<service>-primary`.
const LONGEST_SERVICE: usize = 63 - "-primary".len();

/// What helps against a field of the other mode.
const NO_MEMBERS: &str = "leave it out, or declare spec.members";

/// Fields of the other mode.
pub(super) fn mode(spec: &FleetRolloutSpec) -> Vec<Problem> {
    match spec.mode() {
        Mode::Member => member_mode(spec),
        Mode::Service => service_mode(spec),
    }
}

fn member_mode(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let belongs = "belongs to service mode, a rollout without members";
    let refuse = |path: &str| Problem::error(path, belongs, "leave it out, or leave spec.members out");
    let ramp = spec.strategy.ramp.as_ref().map(|_| refuse("spec.strategy.ramp"));
    let copies = spec
        .services
        .iter()
        .enumerate()
        .filter(|(_, service)| service.track.as_ref().is_some_and(|track| track.primary_copies));
    let copies = copies.map(|(place, _)| refuse(&format!("spec.services[{place}].track.primaryCopies")));
    let skips = spec.hooks.iter().enumerate().filter(|(_, hook)| hook.kind == HookType::Skip);
    let skips = skips.map(|(place, _)| refuse(&format!("spec.hooks[{place}].type")));
    let skips = spec.skip_analysis.then(|| refuse("spec.skipAnalysis")).into_iter().chain(skips);
    ramp.into_iter().chain(skips).chain(copies).collect()
}

fn service_mode(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let refuse = |given: bool, path: &str, why: &str| given.then(|| Problem::error(path, why, NO_MEMBERS));
    let stages = refuse(
        !spec.strategy.stages.is_empty(),
        "spec.strategy.stages",
        "stages order members, but spec.members is empty",
    );
    let keeps = spec.strategy.keep_previous.is_some();
    let kept = refuse(
        keeps,
        "spec.strategy.keepPrevious",
        "the primary is replaced at the end, so no rollback is possible after it",
    );
    let mut problems: Vec<Problem> = stages.into_iter().chain(kept).collect();
    problems.extend(spec.services.iter().enumerate().flat_map(|(place, service)| of_service(place, service)));
    problems.extend(spec.strategy.ramp.iter().flat_map(shape));
    problems.extend(spec.strategy.ramp.iter().flat_map(|ramp| in_place(spec, ramp)));
    if problems.is_empty()
        && let Err(problem) = plan_run(spec, Ends::of_services(), "")
    {
        let field = if spec.strategy.ramp.is_some() { "spec.strategy.ramp" } else { "spec.strategy.steps" };
        problems.push(Problem::error(
            field,
            format!("a step leaves {CANARY} without a unit of weight"),
            problem.remedy(),
        ));
    }
    problems.extend(spec.strategy.ramp.iter().flat_map(beyond_all));
    problems
}

/// An A/B test changes the primary under its traffic, which only addresses allow.
fn in_place(spec: &FleetRolloutSpec, ramp: &Ramp) -> Vec<Problem> {
    if ramp.matches.is_empty() {
        return Vec::new();
    }
    let path = "spec.strategy.ramp";
    let lone = ramp.iterations.is_some() && !ramp.mirror && ramp.step_weight_promotion.is_none();
    let lone = (!lone).then(|| {
        let found = "matches belongs to iterations, without mirror and stepWeightPromotion";
        Problem::error(path, found, "write iterations and matches only")
    });
    let names =
        spec.services.iter().enumerate().filter(|(_, service)| matches!(service.backend, Backend::ExternalName(_)));
    let names = names.map(|(place, _)| {
        let found = "is externalName, but ramp.matches changes the primary while it has traffic, and real data planes refuse \
                     requests while an external name changes";
        let remedy = "use clusterIP, or steps: [{matches: …, iterations: …}, {progress: 100%}], which send all traffic to the \
                      canary first";
        Problem::error(format!("spec.services[{place}].backend"), found, remedy)
    });
    lone.into_iter().chain(names).chain(conditions(path, &ramp.matches)).collect()
}

/// What Flagger takes, and we too: nobody gets more than all traffic.
fn beyond_all(ramp: &Ramp) -> Vec<Problem> {
    let reached = ramp.weights_until_all();
    let weights = ramp.step_weights.iter().enumerate();
    let words = |(place, share): (usize, &u32)| {
        let path = format!("spec.strategy.ramp.stepWeights[{place}]");
        let never =
            || Problem::warning(&path, "is never reached: the canary has all traffic before it", "leave it out");
        let clamped =
            || Problem::warning(&path, format!("{share} is more than all traffic"), "it counts as 100; write 100");
        let is_reached = place < reached;
        if is_reached { (*share > 100).then(clamped) } else { Some(never()) }
    };
    weights.filter_map(words).collect()
}

fn of_service(place: usize, service: &ServiceSpec) -> Vec<Problem> {
    let at = |field: &str| format!("spec.services[{place}].{field}");
    let mut problems = Vec::new();
    if !service.backend.existing().is_empty() {
        let found = "names the Services of members, but spec.members is empty";
        problems.push(Problem::error(at("backend.existing"), found, NO_MEMBERS));
    }
    let other = match service.backend {
        Backend::ExternalName(_) | Backend::ClusterIp(_) => None,
        Backend::EndpointSlice(_) => Some("is endpointSlice, in service mode"),
        Backend::ServiceEntry(_) => Some("is serviceEntry, in service mode"),
        Backend::Subset(_) => Some("is subset, in service mode"),
    };
    problems.extend(other.map(|found| {
        let remedy = "the copies have the type of the Service; write externalName or clusterIP";
        Problem::error(at("backend"), found, remedy)
    }));
    if service.name.len() > LONGEST_SERVICE {
        let found = format!("{} has {} characters", quoted(&service.name), service.name.len());
        let remedy = format!("its copy is named <service>-primary; at most {LONGEST_SERVICE} are allowed");
        problems.push(Problem::error(at("name"), found, remedy));
    }
    let routes = service.routes.iter().enumerate();
    problems.extend(routes.filter_map(|(route, one)| own_service(&at(&format!("routes[{route}]")), service, one)));
    problems
}

/// The Service that is switched is none of those from which it is switched, nor the one that declares the target.
fn own_service(path: &str, service: &ServiceSpec, route: &Route) -> Option<Problem> {
    let Route::Kubernetes(route) = route else { return None };
    let switched = route.switched(&service.name);
    let is_copy = switched.strip_prefix(&service.name).is_some_and(|rest| ["-primary", "-canary"].contains(&rest));
    let found = match (switched == service.name, is_copy) {
        (true, _) => format!("would switch {}, the very Service that declares the target", quoted(switched)),
        (false, true) => format!("would switch {}, which the hub makes", quoted(switched)),
        (false, false) => return None,
    };
    let remedy =
        format!("name another Service, or write create: {{name: {}-live}}; clients call that one", service.name);
    Some(Problem::error(format!("{path}.kubernetes"), found, remedy))
}

fn shape(ramp: &Ramp) -> Vec<Problem> {
    let error = |found: &str, remedy: &str| Some(Problem::error("spec.strategy.ramp", found, remedy));
    let forms = made([
        ("stepWeight", ramp.step_weight.is_some()),
        ("stepWeights", !ramp.step_weights.is_empty()),
        ("iterations", ramp.iterations.is_some()),
    ]);
    let forms = match forms[..] {
        [] => error("has none of stepWeight, stepWeights and iterations", "give one of them"),
        [_] => None,
        [..] => error(&format!("has {}", forms.join(" and ")), "keep one of them"),
    };
    let most = ramp.max_weight.filter(|_| ramp.step_weight.is_none());
    let most = most.and_then(|_| error("maxWeight belongs to stepWeight", "leave it out"));
    let part = ramp.mirror_weight.filter(|_| !ramp.mirror);
    let part =
        part.and_then(|_| error("mirrorWeight belongs to mirror: true", "set mirror: true, or leave mirrorWeight out"));
    let falls = ramp.step_weights.windows(2).any(|pair| pair.first() >= pair.last());
    let falls = if falls { error("stepWeights do not rise", "each must be more than the one before it") } else { None };
    forms.into_iter().chain(most).chain(part).chain(falls).collect()
}
