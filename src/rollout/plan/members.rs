//! Member mode: the steps from one distribution to another, with a weight for every member.

use std::collections::BTreeSet;

use super::{End, LARGEST_TOTAL, PlanProblem, planned, steering};
use crate::api::{Distribution, Duration, Progress, Split, Strategy, status::PlannedStep, strategy::Step};

/// Members that gain together.
struct Group<'a> {
    name: &'a str,
    members: BTreeSet<&'a str>,
}

/// The steps from `start` to `target`: one for each stage and step, with a weight for every member of either end.
///
/// Stages in which nobody gains are left out; where nobody gains at all there are no steps.
pub(super) fn steps(
    start: &Distribution,
    target: &Distribution,
    strategy: &Strategy,
    total: u32,
) -> Result<Vec<PlannedStep>, PlanProblem> {
    for (end, weights) in [(End::Start, start), (End::Target, target)] {
        let found = weights.total();
        if found != total {
            return Err(PlanProblem::Sum { end, found, total });
        }
    }
    let gains = start.gains(target);
    let gaining = gains.carrying().map(|(name, _)| name).collect();
    let groups = groups(&gaining, strategy)?;
    let mut finished = BTreeSet::new();
    let mut steps = Vec::new();
    for group in &groups {
        for step in &strategy.steps {
            let Some(progress) = step.progress else {
                let before = steps.last().map_or(start, |step: &PlannedStep| &step.split.weights);
                steps.push(steered(group, step, strategy.bake, before, target));
                continue;
            };
            let weights = start.toward(target, &finished, &group.members, progress);
            if let Some(member) = group.members.iter().find(|name| weights.weight(name) == 0) {
                let needed = groups.iter().map(|group| smallest_total(start, target, group, strategy, total)).max();
                return Err(PlanProblem::TooSmall {
                    progress,
                    member: (*member).to_owned(),
                    total,
                    needed: needed
                        .and_then(|needed| u32::try_from(needed).ok())
                        .filter(|needed| *needed <= LARGEST_TOTAL),
                });
            }
            steps.push(planned(group.name, step, strategy.bake, weights.into()));
        }
        finished.extend(group.members.iter().copied());
    }
    Ok(steps)
}

/// The smallest total to which the weights can be scaled so that the stage's first step leaves no gaining member at 0.
fn smallest_total(
    start: &Distribution,
    target: &Distribution,
    group: &Group<'_>,
    strategy: &Strategy,
    total: u32,
) -> u64 {
    let gains = start.gains(target).only(|name| group.members.contains(name));
    let newcomers: Vec<&str> = group.members.iter().copied().filter(|name| start.weight(name) == 0).collect();
    let stage_gain = gains.total();
    let serves_all = |units: u32| {
        let shares = gains.apportion(units);
        newcomers.iter().all(|name| shares.weight(name) > 0)
    };
    // More units never take one away from anybody, so the first number that serves all can be searched by halving.
    let units = (0..=stage_gain).collect::<Vec<_>>().partition_point(|units| !serves_all(*units)) as u64;
    let progress = strategy.steps.iter().find_map(|step| step.progress).unwrap_or(Progress::ALL);
    let least = (units * Progress::ALL.basis_points() * u64::from(total))
        .div_ceil(progress.basis_points() * u64::from(stage_gain).max(1));
    let common = target.common_divisor(start.common_divisor(total));
    least.next_multiple_of(u64::from(total / common.max(1)).max(1))
}

/// A step that leaves the weights as they are and steers requests to the members of a stage.
fn steered(
    group: &Group<'_>,
    step: &Step,
    bake: Duration,
    before: &Distribution,
    target: &Distribution,
) -> PlannedStep {
    let others = target.members().filter(|name| !before.names(name)).map(|name| (name, 0));
    let weights: Distribution = before.iter().chain(others).collect();
    let ends: Distribution = group.members.iter().map(|name| (*name, target.weight(name))).collect();
    let split = Split { steering: Some(steering(step, &ends, weights.total())), ..weights.into() };
    planned(group.name, step, bake, split)
}

/// The gaining members of each stage, in order; all of them in one where no stages are declared.
fn groups<'a>(gaining: &BTreeSet<&'a str>, strategy: &'a Strategy) -> Result<Vec<Group<'a>>, PlanProblem> {
    let declared: Vec<Group<'a>> = if strategy.stages.is_empty() {
        vec![Group { name: "", members: gaining.clone() }]
    } else {
        named_once(strategy)?;
        strategy
            .stages
            .iter()
            .map(|stage| Group {
                name: &stage.name,
                members: gaining
                    .iter()
                    .copied()
                    .filter(|name| stage.members.iter().any(|member| member == name))
                    .collect(),
            })
            .collect()
    };
    match gaining.iter().find(|name| !declared.iter().any(|group| group.members.contains(**name))) {
        Some(member) => Err(PlanProblem::MissingFromStages { member: (*member).to_owned() }),
        None => Ok(declared.into_iter().filter(|group| !group.members.is_empty()).collect()),
    }
}

fn named_once(strategy: &Strategy) -> Result<(), PlanProblem> {
    let mut seen = BTreeSet::new();
    match strategy.stages.iter().flat_map(|stage| &stage.members).find(|member| !seen.insert(member.as_str())) {
        Some(member) => Err(PlanProblem::InTwoStages { member: member.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PlanProblem, steps as plan};
    use crate::api::{Distribution, Strategy};

    fn of(weights: &[(&str, u32)]) -> Distribution {
        weights.iter().copied().collect()
    }

    fn strategy(json: serde_json::Value) -> Strategy {
        serde_json::from_value(json).unwrap()
    }

    fn steps(percents: &[&str]) -> serde_json::Value {
        percents.iter().map(|progress| serde_json::json!({"progress": progress})).collect()
    }

    #[test]
    fn one_entry_for_each_stage_and_step_with_the_bake_and_wait_of_the_step() {
        let strategy = strategy(serde_json::json!({
            "stages": [{"name": "first", "members": ["c"]}, {"name": "rest", "members": ["b"]}],
            "steps": [{"progress": "50%", "wait": "Promotion", "bake": "1m"}, {"progress": "100%"}], "bake": "5m"
        }));
        let planned = plan(&of(&[("a", 100)]), &of(&[("b", 80), ("c", 20)]), &strategy, 100).unwrap();
        let described: Vec<String> = planned
            .iter()
            .map(|step| {
                let progress = step.progress.unwrap();
                format!(
                    "{} {progress} {:?} {} {:?}",
                    step.stage,
                    step.split.weights.weights().collect::<Vec<_>>(),
                    step.bake,
                    step.wait
                )
            })
            .collect();
        assert_eq!(
            described,
            [
                "first 50% [90, 0, 10] 1m Some(Promotion)",
                "first 100% [80, 0, 20] 5m None",
                "rest 50% [40, 40, 20] 1m Some(Promotion)",
                "rest 100% [0, 80, 20] 5m None"
            ]
        );
    }

    #[test]
    fn without_a_gain_there_is_nothing_to_do_and_stages_without_one_are_left_out() {
        let stages =
            strategy(serde_json::json!({"stages": [{"name": "x", "members": ["a"]}, {"name": "y", "members": ["b"]}]}));
        assert_eq!(plan(&of(&[("a", 100)]), &of(&[("a", 100), ("b", 0)]), &stages, 100), Ok(vec![]));
        let moved = plan(&of(&[("a", 100)]), &of(&[("b", 100)]), &stages, 100).unwrap();
        assert!(moved.iter().all(|step| step.stage == "y") && moved.len() == 4);
    }

    #[test]
    fn refuses_other_sums_and_members_in_no_stage_or_two() {
        let plan = |start: &[(&str, u32)], target: &[(&str, u32)], stages: &[&[&str]]| {
            let stages: Vec<_> =
                stages.iter().map(|members| serde_json::json!({"name": "s", "members": members})).collect();
            let strategy = strategy(serde_json::json!({ "stages": stages }));
            plan(&of(start), &of(target), &strategy, 100).unwrap_err().to_string()
        };
        assert_eq!(
            plan(&[("a", 99)], &[("b", 100)], &[]),
            "the start weights sum to 99, not to weightTotal 100; make them sum to 100"
        );
        assert_eq!(
            plan(&[("a", 100)], &[("b", 50), ("c", 50)], &[&["b"]]),
            "spec.strategy.stages: c gains weight but is in no stage; add it to one"
        );
        assert_eq!(
            plan(&[("a", 100)], &[("b", 100)], &[&["b"], &["b"]]),
            "spec.strategy.stages: b is named more than once; leave it in one stage"
        );
    }

    #[test]
    fn a_step_that_leaves_a_gaining_member_at_0_is_refused_with_the_total_that_would_do() {
        let refused = |steps_: &[&str], target: &[(&str, u32)]| {
            let strategy = strategy(serde_json::json!({"steps": steps(steps_)}));
            plan(&of(&[("a", 100)]), &of(target), &strategy, 100).unwrap_err().to_string()
        };
        assert_eq!(
            refused(&["1%", "100%"], &[("a", 50), ("b", 50)]),
            "spec.strategy.steps: 1% of the way leaves b at 0 of 100; scale the weights to weightTotal 200, or take a larger step"
        );
        assert_eq!(
            refused(&["0.01%", "100%"], &[("a", 99), ("b", 1)]),
            "spec.strategy.steps: 0.01% of the way leaves b at 0 of 100; no weightTotal up to 10000 would do; take a larger step"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_total_it_names_does_and_no_smaller_one(
            claims in prop::collection::btree_map("[b-z]", 1..100_u32, 1..6), total in 1..300_u32, first in 1..60_u32
        ) {
            let strategy = strategy(serde_json::json!({"steps": steps(&[&format!("{first}%"), "100%"])}));
            let (start, target) = (of(&[("a", total)]), Distribution::from_iter(claims).apportion(total));
            let scaled = |by: &Distribution, to: u32| -> Option<Distribution> {
                by.iter()
                    .map(|(name, weight)| (weight * to).is_multiple_of(total).then(|| (name.to_owned(), weight * to / total)))
                    .collect()
            };
            let fits = |to: u32| {
                scaled(&target, to).is_some_and(|target| plan(&scaled(&start, to).unwrap(), &target, &strategy, to).is_ok())
            };
            if let Err(PlanProblem::TooSmall { needed: Some(needed), .. }) = plan(&start, &target, &strategy, total) {
                prop_assert!(fits(needed));
                prop_assert!((1..needed).all(|smaller| !fits(smaller)), "a smaller one than {needed} does");
            }
        }
    }
}
