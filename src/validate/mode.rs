//! What belongs to one of the two modes only: members, or the Services themselves.

use super::problem::{Problem, made, quoted};
use crate::{
    api::{Backend, CANARY, FleetRolloutSpec, Mode, Route, ServiceSpec, strategy::Ramp},
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
    ramp.into_iter().chain(spec.skip_analysis.then(|| refuse("spec.skipAnalysis"))).collect()
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
    problems
}

fn of_service(place: usize, service: &ServiceSpec) -> Vec<Problem> {
    let at = |field: &str| format!("spec.services[{place}].{field}");
    let mut problems = Vec::new();
    if !service.backend.named().existing.is_empty() {
        let found = "names the Services of members, but spec.members is empty";
        problems.push(Problem::error(at("backend.existing"), found, NO_MEMBERS));
    }
    if matches!(service.backend, Backend::EndpointSlice(_)) {
        let remedy = "the copies have the type of the Service; write externalName or clusterIP";
        problems.push(Problem::error(at("backend"), "is endpointSlice, in service mode", remedy));
    }
    if service.name.len() > LONGEST_SERVICE {
        let found = format!("{} has {} characters", quoted(&service.name), service.name.len());
        let remedy = format!("its copy is named <service>-primary; at most {LONGEST_SERVICE} are allowed");
        problems.push(Problem::error(at("name"), found, remedy));
    }
    if service.routes.iter().any(|route| matches!(route, Route::Kubernetes(_))) {
        let found = "a kubernetes route would change the very Service that declares the target";
        problems.push(Problem::error(at("routes"), found, "use another kind of route, or declare spec.members"));
    }
    problems
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
