//! The plan of a run: every step with all that the routes show at it, made once at the start.

pub mod affinity;
mod members;
mod problem;
mod ramp;
mod time;

pub use problem::{End, LARGEST_TOTAL, PlanProblem, too_small};
pub use ramp::primary_and_canary;
pub use time::{bake, least_time, longest_window};

use crate::api::{
    Distribution, Duration, FleetRolloutSpec, Matched, Mirrored, Mode, Progress, Split, Steering, status::PlannedStep,
    strategy::Step,
};

/// The distributions between which a run moves. In service mode they are those of primary and canary.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// Where it begins.
    pub start: &'a Distribution,
    /// Where a rollback goes.
    pub rollback_to: &'a Distribution,
    /// Where it ends.
    pub target: &'a Distribution,
}

impl Ends<'_> {
    /// Service mode: the strategy alone says how far the canary goes.
    #[must_use]
    pub fn of_services() -> Self {
        static NOBODY: Distribution = Distribution::new();
        Self { start: &NOBODY, rollback_to: &NOBODY, target: &NOBODY }
    }
}

/// Every step of a run, by the mode of the rollout, with all that its routes show at each. `run` begins the cookies that
/// keep users where they were sent; it differs from run to run.
///
/// # Errors
/// When the declaration fits no plan.
pub fn plan_run(spec: &FleetRolloutSpec, ends: Ends<'_>, run: &str) -> Result<Vec<PlannedStep>, PlanProblem> {
    let mut steps = match spec.mode() {
        Mode::Member => member_steps(spec, ends)?,
        Mode::Service => ramp::steps(spec)?,
    };
    if let Some(session) = &spec.strategy.session_affinity {
        let kept: Vec<_> = (0..steps.len()).map(|place| affinity::at(session, run, &steps, place)).collect();
        for (step, affinity) in steps.iter_mut().zip(kept) {
            step.split.affinity = affinity;
        }
    }
    Ok(steps)
}

/// The steps; where the weights stay and only have to be proven, the strategy's last step.
fn member_steps(spec: &FleetRolloutSpec, ends: Ends<'_>) -> Result<Vec<PlannedStep>, PlanProblem> {
    let strategy = &spec.strategy;
    let mut steps = members::steps(ends.start, ends.target, strategy, spec.weight_total)?;
    if steps.is_empty() {
        let last = strategy.steps.last();
        let (bake, wait) = (last.and_then(|step| step.bake), last.and_then(|step| step.wait));
        let step = Step { progress: Some(Progress::ALL), bake, wait, ..Step::default() };
        steps.push(planned("", &step, strategy.bake, ends.target.clone().into()));
    }
    prove_first(&mut steps, ends, strategy.bake);
    Ok(steps)
}

/// A canary that carries weight already, for an earlier target, is proven where it stands before it gets more, be it weight
/// or requests that are steered to it.
fn prove_first(steps: &mut Vec<PlannedStep>, ends: Ends<'_>, bake: Duration) {
    let Some(first) = steps.first() else { return };
    let gains = |name: &String| {
        let is_steered_to = first.split.steered().any(|member| member == name);
        is_steered_to || first.split.weights.weight(name) > ends.start.weight(name)
    };
    if ends.start.above(ends.rollback_to).iter().any(gains) {
        let step = Step { progress: first.progress, ..Step::default() };
        let proof = planned(&first.stage, &step, bake, ends.start.clone().into());
        steps.insert(0, proof);
    }
}

/// A step that shows this.
fn planned(stage: &str, step: &Step, bake: Duration, split: Split) -> PlannedStep {
    PlannedStep {
        stage: stage.to_owned(),
        progress: step.progress,
        split,
        iterations: step.iterations,
        bake: step.bake.unwrap_or(if step.iterations.is_some() { Duration::ZERO } else { bake }),
        wait: step.wait,
        approval: step.approval,
        promotes: false,
    }
}

/// What a step steers to the members that end at these weights. Matching requests are divided among them as all requests
/// will be in the end; of copies each has its own.
#[must_use]
pub fn steering(step: &Step, ends: &Distribution, total: u32) -> Steering {
    match step.mirror {
        Some(mirror) => {
            let members = ends.members().map(str::to_owned).collect();
            Steering::Mirrored(Mirrored { members, percent: mirror.percent })
        }
        None => Steering::Matched(Matched { matches: step.matches.clone(), weights: ends.apportion(total) }),
    }
}
