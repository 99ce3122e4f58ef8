//! The start of a run: what must be right, the plan, and the dry run of the first write.

use std::collections::BTreeMap;

use super::{
    affinity,
    distribution::weight,
    input::{Problem, RouteSeen},
    pass::{Pass, above, in_words},
    plan::{PlanProblem, plan, planned},
    ramp::ramp,
    revision::same,
    schedule, sight,
    target::Target,
};
use crate::{
    api::{
        Distribution, Duration, Mode, Progress, Reason,
        status::{Pinned, PlannedStep, Run},
        strategy::Step,
    },
    rollout::decision::Action,
};

/// Begins a run, unless something that is declared or seen forbids it.
pub(super) fn begin(
    pass: &mut Pass<'_>,
    start: Distribution,
    way_back: Distribution,
    target: Target,
) -> Result<(), Problem> {
    let spec = pass.input.spec;
    if let Some(problem) = pass.input.seen.refused.clone().or_else(|| sight::unusable_members(pass)) {
        return Err(problem);
    }
    routes_show(pass, &start)?;
    let Target { revision, weights: target, services } = target;
    let plan = whole_plan(pass, &start, &way_back, &target)
        .map_err(|problem| Problem::new(Reason::InvalidSpec, problem.to_string()))?;
    schedule::allows(pass, &plan, &start, &way_back)?;
    let number = pass.status.run.as_ref().map_or(1, |run| run.number + 1);
    pass.status.leader = Some(pass.input.leader.to_owned());
    let way = match spec.mode() {
        Mode::Member => format!("{} -> {}", in_words(&start), in_words(&target)),
        Mode::Service => format!("revision {revision} of the Services"),
    };
    let message = format!("run {number} begins: {way}");
    pass.status.run = Some(Run {
        number,
        revision,
        generation: pass.input.generation,
        started_at: pass.now(),
        start,
        way_back,
        target,
        pinned: Pinned {
            services: spec.services.clone(),
            strategy: spec.strategy.clone(),
            weight_total: spec.weight_total,
        },
        plan,
        services,
        promoting_since: None,
        identities: BTreeMap::new(),
        step: 0,
        baked: Duration::ZERO,
        passes: 0,
        baked_until: None,
        waiting_since: None,
        promoted: Vec::new(),
        pause: None,
        hold: None,
        retreat: None,
        soaking_since: None,
        deadline_used: Duration::ZERO,
        dead: Vec::new(),
        check: None,
        analysis: None,
        put_back: Vec::new(),
        outcome: None,
    });
    pass.tell(false, Reason::Rehearsing, message);
    Ok(())
}

/// Every step of the run, by the mode of the rollout.
fn whole_plan(
    pass: &Pass<'_>,
    start: &Distribution,
    way_back: &Distribution,
    target: &Distribution,
) -> Result<Vec<PlannedStep>, PlanProblem> {
    let spec = pass.input.spec;
    match spec.mode() {
        Mode::Member => {
            let mut steps = steps(pass, start, target)?;
            prove_first(&mut steps, start, way_back, spec.strategy.bake);
            Ok(steps)
        }
        Mode::Service => ramp(spec),
    }
}

/// The plan; where the weights stay and only have to be proven, the strategy's last step.
fn steps(pass: &Pass<'_>, start: &Distribution, target: &Distribution) -> Result<Vec<PlannedStep>, PlanProblem> {
    let spec = pass.input.spec;
    let steps = plan(start, target, &spec.strategy, spec.weight_total)?;
    if !steps.is_empty() {
        return Ok(steps);
    }
    let last = spec.strategy.steps.last();
    let (bake, wait) = (last.and_then(|step| step.bake), last.and_then(|step| step.wait));
    let step = Step { progress: Some(Progress::ALL), bake, wait, ..Step::default() };
    Ok(vec![planned("", &step, spec.strategy.bake, target.clone())])
}

/// A canary that carries weight already, for an earlier target, is proven where it stands before it gets more.
fn prove_first(steps: &mut Vec<PlannedStep>, start: &Distribution, way_back: &Distribution, bake: Duration) {
    let Some(first) = steps.first() else { return };
    let raised = |name: &String| weight(&first.weights, name) > weight(start, name);
    if above(start, way_back).iter().any(raised) {
        let step = Step { progress: first.progress, ..Step::default() };
        let proof = planned(&first.stage, &step, bake, start.clone());
        steps.insert(0, proof);
    }
}

/// Every live route must show where the run begins.
pub(super) fn routes_show(pass: &Pass<'_>, start: &Distribution) -> Result<(), Problem> {
    for (key, seen) in &pass.input.seen.routes {
        match seen {
            RouteSeen::Unseen => return Err(Problem::new(Reason::FirstSight, format!("{key} has not been read yet"))),
            RouteSeen::Unusable(problem) => return Err(problem.clone()),
            RouteSeen::ToCreate => {}
            RouteSeen::Live(live) if same(&live.weights, start) => {}
            RouteSeen::Live(live) => {
                let message = format!(
                    "{key} shows {} but the primary is {}; put it back, or take it as the primary: cutover adopt",
                    in_words(&live.weights),
                    in_words(start)
                );
                return Err(Problem::new(Reason::PrimaryDiffers, message));
            }
        }
    }
    Ok(())
}

/// Tries the first write of every route, as long as one has no good answer.
pub(super) fn rehearse(pass: &mut Pass<'_>) -> Option<Problem> {
    let run = pass.run()?;
    let first = run.plan.first()?.clone();
    let affinity = affinity::at_step(run, 1, pass.input.uid);
    let mut problem = None;
    for (key, seen) in &pass.input.seen.routes {
        if matches!(seen, RouteSeen::ToCreate) {
            continue;
        }
        match pass.input.seen.rehearsals.get(key) {
            Some(Ok(())) => continue,
            Some(Err(why)) => {
                problem = Some(Problem::new(
                    Reason::RouteRejected,
                    format!("a dry run of the first write to {key} was refused: {why}"),
                ));
            }
            None => {
                problem = problem.or_else(|| {
                    Some(Problem::new(Reason::Rehearsing, format!("the first write to {key} is tried as a dry run")))
                });
            }
        }
        let (weights, trial) = (first.weights.clone(), first.trial.clone());
        let affinity = affinity.clone();
        pass.actions.push(Action::Rehearse { route: key.clone(), weights, trial, affinity });
    }
    problem
}
