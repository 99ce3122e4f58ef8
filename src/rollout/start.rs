//! The start of a run: what must be right, the plan, and the dry run of the first write.

use std::collections::BTreeMap;

use super::{
    affinity,
    distribution::weight,
    draft::{Draft, above, in_words},
    input::{Problem, RouteSeen},
    plan::{PlanProblem, plan, planned},
    ramp::ramp,
    revision::same,
    routes, schedule,
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
    draft: &mut Draft<'_>,
    start: Distribution,
    rollback_to: Distribution,
    target: Target,
) -> Result<(), Problem> {
    let spec = draft.input.spec;
    if let Some(problem) = draft.input.seen.refused.clone().or_else(|| routes::unusable_members(draft)) {
        return Err(problem);
    }
    routes_show(draft, &start)?;
    let Target { revision, weights: target, services } = target;
    let plan = whole_plan(draft, &start, &rollback_to, &target)
        .map_err(|problem| Problem::new(Reason::InvalidSpec, problem.to_string()))?;
    schedule::allows(draft, &plan, &start, &rollback_to)?;
    let number = draft.status.run.as_ref().map_or(1, |run| run.number + 1);
    draft.status.leader = Some(draft.input.leader.to_owned());
    let way = match spec.mode() {
        Mode::Member => format!("{} -> {}", in_words(&start), in_words(&target)),
        Mode::Service => format!("revision {revision} of the Services"),
    };
    let message = format!("run {number} begins: {way}");
    draft.status.run = Some(Run {
        number,
        revision,
        generation: draft.input.generation,
        started_at: draft.now(),
        start,
        rollback_to,
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
        rollback: None,
        soaking_since: None,
        deadline_used: Duration::ZERO,
        dead: Vec::new(),
        check: None,
        analysis: None,
        put_back: Vec::new(),
        outcome: None,
    });
    draft.tell(false, Reason::Rehearsing, message);
    Ok(())
}

/// Every step of the run, by the mode of the rollout.
fn whole_plan(
    draft: &Draft<'_>,
    start: &Distribution,
    rollback_to: &Distribution,
    target: &Distribution,
) -> Result<Vec<PlannedStep>, PlanProblem> {
    let spec = draft.input.spec;
    match spec.mode() {
        Mode::Member => {
            let mut steps = steps(draft, start, target)?;
            prove_first(&mut steps, start, rollback_to, spec.strategy.bake);
            Ok(steps)
        }
        Mode::Service => ramp(spec),
    }
}

/// The plan; where the weights stay and only have to be proven, the strategy's last step.
fn steps(draft: &Draft<'_>, start: &Distribution, target: &Distribution) -> Result<Vec<PlannedStep>, PlanProblem> {
    let spec = draft.input.spec;
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
fn prove_first(steps: &mut Vec<PlannedStep>, start: &Distribution, rollback_to: &Distribution, bake: Duration) {
    let Some(first) = steps.first() else { return };
    let raised = |name: &String| weight(&first.weights, name) > weight(start, name);
    if above(start, rollback_to).iter().any(raised) {
        let step = Step { progress: first.progress, ..Step::default() };
        let proof = planned(&first.stage, &step, bake, start.clone());
        steps.insert(0, proof);
    }
}

/// Every live route must show where the run begins.
pub(super) fn routes_show(draft: &Draft<'_>, start: &Distribution) -> Result<(), Problem> {
    for (key, seen) in &draft.input.seen.routes {
        match seen {
            RouteSeen::Unseen => {
                return Err(Problem::new(Reason::Initializing, format!("{key} has not been read yet")));
            }
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
pub(super) fn rehearse(draft: &mut Draft<'_>) -> Option<Problem> {
    let run = draft.run()?;
    let first = run.plan.first()?.clone();
    let affinity = affinity::at_step(run, 1, draft.input.uid);
    let mut problem = None;
    for (key, seen) in &draft.input.seen.routes {
        if matches!(seen, RouteSeen::ToCreate) {
            continue;
        }
        match draft.input.seen.rehearsals.get(key) {
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
        let (weights, steering) = (first.weights.clone(), first.steering.clone());
        let affinity = affinity.clone();
        draft.actions.push(Action::Rehearse { route: key.clone(), weights, steering, affinity });
    }
    problem
}
