//! Steps and stages.

use std::collections::BTreeSet;

use super::{
    problem::{Problem, made, not_one, quoted},
    suggestion::did_you_mean,
};
use crate::{
    api::{
        Duration, FleetRolloutSpec, Mode, Progress, RequestMatch, Strategy,
        strategy::{Stage, Step, Wait},
    },
    rollout::{
        declared, initial,
        plan::{Ends, PlanProblem, plan_run, too_small},
    },
};

/// Steps rise, and the last one is all of the way.
pub(super) fn steps(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let strategy = &spec.strategy;
    let number = |progress: Progress| progress.to_string().trim_end_matches('%').to_owned();
    let weighted: Vec<(usize, Progress)> =
        strategy.steps.iter().enumerate().filter_map(|(i, step)| Some((i, step.progress?))).collect();
    let pairs = weighted.iter().zip(weighted.iter().skip(1));
    let mut problems: Vec<Problem> = pairs
        .filter(|((_, before), (_, progress))| progress <= before)
        .map(|((_, before), (i, progress))| {
            Problem::error(
                format!("spec.strategy.steps[{i}].progress"),
                format!("{} is not more than the step before it ({})", number(*progress), number(*before)),
                "steps must rise",
            )
        })
        .collect();
    problems.extend(strategy.steps.last().filter(|step| step.progress != Some(Progress::ALL)).map(|step| {
        let found = match step.progress {
            Some(progress) => format!("the last step has only progress {progress}"),
            None => "the last step moves no weight".to_owned(),
        };
        Problem::error(
            format!("spec.strategy.steps[{}].progress", strategy.steps.len() - 1),
            found,
            "the last step must be 100%",
        )
    }));
    problems.extend(strategy.steps.iter().enumerate().flat_map(|(i, step)| choices(i, step)));
    problems.extend(strategy.steps.iter().enumerate().flat_map(|(i, step)| approval(spec, i, step)));
    problems.extend(session_affinity(strategy));
    problems
}

/// Who is kept somewhere cannot be sent elsewhere, and a cookie must live.
fn session_affinity(strategy: &Strategy) -> Vec<Problem> {
    let Some(session) = &strategy.session_affinity else { return Vec::new() };
    let path = "spec.strategy.sessionAffinity";
    let short = session.max_age < Duration::from_secs(1);
    let short = short.then(|| {
        let (path, found) = (format!("{path}.maxAge"), format!("{} is not allowed", session.max_age));
        Problem::error(path, found, "write a time of 1s or more, such as 24h")
    });
    let of_ramp = strategy.ramp.as_ref().is_some_and(|ramp| !ramp.matches.is_empty());
    let chosen = of_ramp || strategy.steps.iter().any(|step| !step.matches.is_empty());
    let chosen = chosen.then(|| {
        Problem::error(
            path,
            "keeps users on one member, but a step with matches sends their requests to another",
            "leave one of them out",
        )
    });
    short.into_iter().chain(chosen).collect()
}

/// A step moves weight, chooses requests or mirrors them, and each condition looks at a value in one way.
fn choices(i: usize, step: &Step) -> Vec<Problem> {
    let path = format!("spec.strategy.steps[{i}]");
    let kinds = made([
        ("progress", step.progress.is_some()),
        ("matches", !step.matches.is_empty()),
        ("mirror", step.mirror.is_some()),
    ]);
    let none = "none of progress, matches and mirror is given";
    let kind = not_one(&path, &kinds, none, "are given", "give exactly one of them");
    kind.into_iter().chain(conditions(&path, &step.matches)).collect()
}

/// Only who waits for people can need several of them, and a Service does not say who changed it.
fn approval(spec: &FleetRolloutSpec, i: usize, step: &Step) -> Vec<Problem> {
    let Some(approval) = step.approval else { return Vec::new() };
    let path = format!("spec.strategy.steps[{i}].approval");
    let waits = step.wait == Some(Wait::Promotion);
    let waits = (!waits).then(|| {
        Problem::error(&path, "belongs to a step that waits for people", "add wait: Promotion, or leave it out")
    });
    let author = approval.not_author && spec.mode() == Mode::Service;
    let author = author.then(|| {
        let found = "needs the author of the change, and nobody knows who changed a Service";
        Problem::error(format!("{path}.notAuthor"), found, "leave it out, or declare spec.members")
    });
    waits.into_iter().chain(author).collect()
}

/// Each match has conditions, and each condition looks at a value in one way.
pub(super) fn conditions(path: &str, matches: &[RequestMatch]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (j, sort) in matches.iter().enumerate() {
        let path = format!("{path}.matches[{j}]");
        let fields = [("headers", &sort.headers), ("cookies", &sort.cookies), ("query", &sort.query)];
        if fields.iter().all(|(_, fields)| fields.is_empty()) {
            problems.push(Problem::error(path.clone(), "no condition is given", "give headers, cookies or query"));
        }
        for (name, k, field) in
            fields.iter().flat_map(|(name, fields)| fields.iter().enumerate().map(move |(k, field)| (name, k, field)))
        {
            if field.value().is_none() {
                let path = format!("{path}.{name}[{k}]");
                let remedy = "give exactly one of exact, prefix and regex";
                problems.push(Problem::error(path, "has none or several of exact, prefix and regex", remedy));
            }
        }
    }
    problems
}

/// Stages name members of the rollout, each once; and, where the start is declared, there is a plan.
pub(super) fn stages(spec: &FleetRolloutSpec) -> Vec<Problem> {
    let mut seen = BTreeSet::new();
    let mut problems: Vec<Problem> = named(&spec.strategy.stages)
        .filter(|_| spec.mode() == Mode::Member)
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
                format!("{} has weight 0 at the end, so it never gains", quoted(member)),
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
    let start = initial(spec)?;
    match plan_run(spec, Ends { start: &start, rollback_to: &start, target: &declared(spec) }, "").err()? {
        PlanProblem::Sum { .. } | PlanProblem::InTwoStages { .. } => None,
        PlanProblem::MissingFromStages { member } => Some(Problem::error(
            "spec.strategy.stages",
            format!("{} gains weight, but is in no stage", quoted(&member)),
            "add it to a stage",
        )),
        PlanProblem::TooSmall { progress, member, total, needed } => {
            let step = spec.strategy.steps.iter().position(|step| step.progress == Some(progress)).unwrap_or_default();
            Some(Problem::error(
                format!("spec.strategy.steps[{step}].progress"),
                format!("progress {progress} leaves {} at 0 of {total}", quoted(&member)),
                too_small(needed),
            ))
        }
    }
}
