//! Steps and stages.

use std::collections::BTreeSet;

use super::{
    declared_start,
    problem::{Problem, quoted},
    suggestion::did_you_mean,
    target,
};
use crate::{
    api::{FleetRolloutSpec, Progress, strategy::Stage},
    rollout::plan::{PlanProblem, plan, too_small},
};

/// Steps rise, and the last one is all of the way.
pub(super) fn steps(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let strategy = &spec.strategy;
    let number = |progress: Progress| progress.to_string().trim_end_matches('%').to_owned();
    let pairs = strategy.steps.iter().zip(strategy.steps.iter().skip(1)).enumerate();
    let mut problems: Vec<Problem> = pairs
        .filter(|(_, (before, step))| step.progress <= before.progress)
        .map(|(i, (before, step))| {
            Problem::error(
                format!("spec.strategy.steps[{}].progress", i + 1),
                format!("{} is not more than the step before it ({})", number(step.progress), number(before.progress)),
                "steps rise",
            )
        })
        .collect();
    problems.extend(strategy.steps.last().filter(|step| step.progress != Progress::ALL).map(|step| {
        Problem::error(
            format!("spec.strategy.steps[{}].progress", strategy.steps.len() - 1),
            format!("the last step goes only {} of the way", step.progress),
            "the last step must be 100%",
        )
    }));
    problems
}

/// Stages name members of the rollout, each once; and, where the start is declared, there is a plan.
pub(super) fn stages(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let mut seen = BTreeSet::new();
    let mut problems: Vec<Problem> = named(&spec.strategy.stages)
        .filter_map(|(path, member)| match spec.members.iter().find(|known| known.name == member) {
            _ if !seen.insert(member) => Some(Problem::error(
                path,
                format!("{} is named more than once", quoted(member)),
                "leave it in one stage",
            )),
            None => Some(Problem::error(
                path,
                format!("{} is not in spec.members", quoted(member)),
                did_you_mean(member, spec.members.iter().map(|known| known.name.as_str())),
            )),
            Some(known) if known.weight == 0 => Some(Problem::warning(
                path,
                format!("{} ends at weight 0, so it never gains", quoted(member)),
                "leave it out of the stages",
            )),
            Some(_) => None,
        })
        .collect();
    problems.extend(planned(spec));
    problems
}

fn named(stages: &[Stage]) -> impl Iterator<Item = (String, &str)> {
    stages.iter().enumerate().flat_map(|(i, stage)| {
        let members = stage.members.iter().enumerate();
        members.map(move |(j, member)| (format!("spec.strategy.stages[{i}].members[{j}]"), member.as_str()))
    })
}

/// What stands against a plan from the declared start. Sums and repeated names have rules of their own.
fn planned(spec: &FleetRolloutSpec) -> Option<Problem> {
    match plan(&declared_start(spec)?, &target(spec), &spec.strategy, spec.weight_total).err()? {
        PlanProblem::Sum { .. } | PlanProblem::InTwoStages { .. } => None,
        PlanProblem::MissingFromStages { member } => Some(Problem::error(
            "spec.strategy.stages",
            format!("{} gains weight but is in no stage", quoted(&member)),
            "add it to one",
        )),
        PlanProblem::TooSmall { progress, member, total, needed } => {
            let step = spec.strategy.steps.iter().position(|step| step.progress == progress).unwrap_or_default();
            Some(Problem::error(
                format!("spec.strategy.steps[{step}].progress"),
                format!("{progress} of the way leaves {} at 0 of {total}", quoted(&member)),
                too_small(needed),
            ))
        }
    }
}
