//! The steps of a run with the weight of every member, made once at its start.

use std::{collections::BTreeSet, fmt};

use super::distribution::{apportion, between, differences, sum, weight};
use crate::api::{
    Analysis, Distribution, Duration, Matched, Mirrored, Progress, Steering, Strategy,
    status::PlannedStep,
    strategy::{Step, Wait},
};

/// The largest `weightTotal` that can be declared.
pub const LARGEST_TOTAL: u32 = 10_000;

/// An end of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where it begins.
    Start,
    /// Where it ends.
    Target,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Target => "target",
        })
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanProblem {
    /// One end of the way does not have the rollout's total.
    #[error("the {end} weights sum to {found}, not to weightTotal {total}; make them sum to {total}")]
    Sum {
        /// Which end.
        end: End,
        /// What they sum to.
        found: u32,
        /// What they must sum to.
        total: u32,
    },
    /// A gaining member is in no stage.
    #[error("spec.strategy.stages: {member} gains weight but is in no stage; add it to one")]
    MissingFromStages {
        /// The member.
        member: String,
    },
    /// A member is in two stages, or twice in one.
    #[error("spec.strategy.stages: {member} is named more than once; leave it in one stage")]
    InTwoStages {
        /// The member.
        member: String,
    },
    /// A step is too small for the total.
    #[error("spec.strategy.steps: {progress} of the way leaves {member} at 0 of {total}; {remedy}", remedy = too_small(*needed))]
    TooSmall {
        /// The step.
        progress: Progress,
        /// A gaining member that would get nothing.
        member: String,
        /// The rollout's total.
        total: u32,
        /// The smallest total that would do, if one that can be declared would.
        needed: Option<u32>,
    },
}

impl PlanProblem {
    /// What would help.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Sum { total, .. } => format!("make them sum to {total}"),
            Self::MissingFromStages { .. } => "add it to a stage".to_owned(),
            Self::InTwoStages { .. } => "leave it in one stage".to_owned(),
            Self::TooSmall { needed, .. } => too_small(*needed),
        }
    }
}

/// What helps where a step is too small: the smallest total that would do, if one would.
#[must_use]
pub fn too_small(needed: Option<u32>) -> String {
    match needed {
        Some(total) => format!("scale the weights to weightTotal {total}, or take a larger step"),
        None => format!("no weightTotal up to {LARGEST_TOTAL} would do; take a larger step"),
    }
}

/// Members that gain together.
struct Group<'a> {
    name: &'a str,
    members: BTreeSet<&'a str>,
}

/// The steps from `start` to `target`: one for each stage and step, with a weight for every member of either end.
///
/// Stages in which nobody gains are left out; where nobody gains at all there are no steps.
pub fn plan(
    start: &Distribution,
    target: &Distribution,
    strategy: &Strategy,
    total: u32,
) -> Result<Vec<PlannedStep>, PlanProblem> {
    for (end, weights) in [(End::Start, start), (End::Target, target)] {
        let found = sum(weights);
        if found != total {
            return Err(PlanProblem::Sum { end, found, total });
        }
    }
    let gains = differences(start, target);
    let gaining = gains.iter().filter(|(_, gain)| **gain > 0).map(|(name, _)| name.as_str()).collect();
    let groups = groups(&gaining, strategy)?;
    let mut finished = BTreeSet::new();
    let mut steps = Vec::new();
    for group in &groups {
        for step in &strategy.steps {
            let Some(progress) = step.progress else {
                let mut before = steps.last().map_or(start, |step: &PlannedStep| &step.weights).clone();
                let others = target.keys().filter(|name| !before.contains_key(*name)).cloned().collect::<Vec<_>>();
                before.extend(others.into_iter().map(|name| (name, 0)));
                let ends = group.members.iter().map(|name| ((*name).to_owned(), weight(target, name)));
                let steering = Some(steering(step, &ends.collect(), total));
                steps.push(PlannedStep { steering, ..planned(group.name, step, strategy.bake, before) });
                continue;
            };
            let weights = between(start, target, &finished, &group.members, progress);
            if let Some(member) = group.members.iter().find(|name| weight(&weights, name) == 0) {
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
            steps.push(planned(group.name, step, strategy.bake, weights));
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
    let mut gains = differences(start, target);
    gains.retain(|name, _| group.members.contains(name.as_str()));
    let newcomers: Vec<&str> = group.members.iter().copied().filter(|name| weight(start, name) == 0).collect();
    let stage_gain = sum(&gains);
    let serves_all = |units: u32| {
        let shares = apportion(units, &gains);
        newcomers.iter().all(|name| weight(&shares, name) > 0)
    };
    // More units never take one away from anybody, so the first number that serves all can be searched by halving.
    let units = (0..=stage_gain).collect::<Vec<_>>().partition_point(|units| !serves_all(*units)) as u64;
    let progress = strategy.steps.iter().find_map(|step| step.progress).unwrap_or(Progress::ALL);
    let least = (units * Progress::ALL.basis_points() * u64::from(total))
        .div_ceil(progress.basis_points() * u64::from(stage_gain).max(1));
    let common = start.values().chain(target.values()).fold(total, |common, weight| gcd(common, *weight));
    least.next_multiple_of(u64::from(total / common.max(1)).max(1))
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The time that a step's weights must hold with passing checks: never shorter than what the longest metric window
/// takes to be full and evaluated, nor than its checks take.
#[must_use]
pub fn bake(step: &PlannedStep, analysis: &Analysis) -> Duration {
    let checks = u64::from(step.iterations.unwrap_or(0));
    let checked = Duration::from_millis(analysis.interval.as_millis().saturating_mul(checks));
    step.bake.max(checked).max(longest_window(analysis).saturating_add(analysis.lag))
}

/// The longest time that any metric covers.
#[must_use]
pub fn longest_window(analysis: &Analysis) -> Duration {
    let windows = analysis.metrics.iter().map(|metric| metric.window.unwrap_or(analysis.interval));
    windows.max().unwrap_or(Duration::ZERO)
}

/// The least time that a plan takes: each step's settle, bake and timed wait. People's promotions count as immediate;
/// the soak after the last step, and the promotion of a primary, are not in it.
#[must_use]
pub fn least_time(steps: &[PlannedStep], analysis: &Analysis) -> Duration {
    steps.iter().filter(|step| !step.promotes).fold(Duration::ZERO, |time, step| {
        let wait = match step.wait {
            Some(Wait::For(time)) => time,
            Some(Wait::Promotion) | None => Duration::ZERO,
        };
        time.saturating_add(analysis.settle).saturating_add(bake(step, analysis)).saturating_add(wait)
    })
}

/// A step with these weights and no steering.
pub(super) fn planned(stage: &str, step: &Step, bake: Duration, weights: Distribution) -> PlannedStep {
    PlannedStep {
        stage: stage.to_owned(),
        progress: step.progress,
        weights,
        steering: None,
        iterations: step.iterations,
        bake: step.bake.unwrap_or(if step.iterations.is_some() { Duration::ZERO } else { bake }),
        wait: step.wait,
        promotes: false,
    }
}

/// What a step tries the members with that end at these weights. Matching requests are divided among them as all requests
/// will be in the end; of copies each has its own.
#[must_use]
pub fn steering(step: &Step, ends: &Distribution, total: u32) -> Steering {
    match step.mirror {
        Some(mirror) => {
            Steering::Mirrored(Mirrored { members: ends.keys().cloned().collect(), percent: mirror.percent })
        }
        None => Steering::Matched(Matched { matches: step.matches.clone(), weights: apportion(total, ends) }),
    }
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

    use super::{PlanProblem, least_time, plan};
    use crate::{
        api::{Analysis, Distribution, Strategy},
        rollout::distribution::apportion,
    };

    fn of(weights: &[(&str, u32)]) -> Distribution {
        weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
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
        let told: Vec<String> = planned
            .iter()
            .map(|step| {
                let progress = step.progress.unwrap();
                format!("{} {progress} {:?} {} {:?}", step.stage, step.weights.values(), step.bake, step.wait)
            })
            .collect();
        assert_eq!(
            told,
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

    #[test]
    fn the_least_time_counts_settle_bake_window_and_timed_waits() {
        let strategy = strategy(serde_json::json!({
            "steps": [{"progress": "50%", "bake": "30s", "wait": "10m"}, {"progress": "100%", "wait": "Promotion"}], "bake": "5m"
        }));
        let analysis: Analysis = serde_json::from_value(serde_json::json!({
            "settle": "30s", "metrics": [{"name": "m", "query": "1", "window": "2m", "perMember": {"max": 1.0}}]
        }))
        .unwrap();
        let planned = plan(&of(&[("a", 100)]), &of(&[("b", 100)]), &strategy, 100).unwrap();
        // (30s + 2m window and 15s lag + 10m) + (30s + 5m)
        assert_eq!(least_time(&planned, &analysis).to_string(), "18m15s");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_total_it_names_does_and_no_smaller_one(
            claims in prop::collection::btree_map("[b-z]", 1..100_u32, 1..6), total in 1..300_u32, first in 1..60_u32
        ) {
            let strategy = strategy(serde_json::json!({"steps": steps(&[&format!("{first}%"), "100%"])}));
            let (start, target) = (of(&[("a", total)]), apportion(total, &claims));
            let scaled = |by: &Distribution, to: u32| -> Option<Distribution> {
                by.iter()
                    .map(|(name, weight)| (weight * to).is_multiple_of(total).then(|| (name.clone(), weight * to / total)))
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
