//! The steps of a run in service mode: the canary's shares, and then traffic goes back to a primary that became what passed.

use super::{LARGEST_TOTAL, PlanProblem, planned, steering};
use crate::api::{
    CANARY, Distribution, Duration, FleetRolloutSpec, PRIMARY, Progress, Split,
    status::PlannedStep,
    strategy::{Ramp, Step},
};

/// The distribution in which the canary has so many of the units.
#[must_use]
pub fn primary_and_canary(canary: u32, total: u32) -> Distribution {
    [(PRIMARY, total.saturating_sub(canary)), (CANARY, canary.min(total))].into()
}

/// The canary's steps, and those in which traffic goes back to the primary once it was promoted. Without analysis the
/// primary is promoted at once.
pub(super) fn steps(spec: &FleetRolloutSpec) -> Result<Vec<PlannedStep>, PlanProblem> {
    let mut steps = if spec.skip_analysis { Vec::new() } else { forward(spec)? };
    let reached = steps.last().map_or(0, |step| step.split.weights.weight(CANARY));
    steps.extend(back(spec, reached));
    Ok(steps)
}

fn forward(spec: &FleetRolloutSpec) -> Result<Vec<PlannedStep>, PlanProblem> {
    let (strategy, total) = (&spec.strategy, spec.weight_total);
    let ramp: Vec<Step> = strategy.ramp.iter().flat_map(Ramp::steps).collect();
    let given = if ramp.is_empty() { &strategy.steps } else { &ramp };
    let mut steps = Vec::new();
    let mut canary = 0;
    for step in given {
        if let Some(progress) = step.progress {
            canary = units(progress, total)?;
        }
        let ends = [(CANARY, total)].into();
        let steering = step.progress.is_none().then(|| steering(step, &ends, total));
        let split = Split { steering, ..primary_and_canary(canary, total).into() };
        steps.push(planned("", step, strategy.bake, split));
    }
    Ok(steps)
}

fn units(progress: Progress, total: u32) -> Result<u32, PlanProblem> {
    let (canary, member) = (progress.of(total), CANARY.to_owned());
    let needed = Some(progress.least_total()).filter(|needed| *needed <= LARGEST_TOTAL);
    if canary == 0 { Err(PlanProblem::TooSmall { progress, member, total, needed }) } else { Ok(canary) }
}

/// Nothing is left to prove during a rollback: it waits for the routes alone. A primary that has traffic gives it away
/// first, to what it is about to become: a data plane may refuse requests while a Service changes under them. Where the canary
/// never had a share, the primary is changed under its traffic, as its user chose: without analysis, or after an A/B test.
fn back(spec: &FleetRolloutSpec, reached: u32) -> Vec<PlannedStep> {
    let (ramp, total) = (spec.strategy.ramp.as_ref(), spec.weight_total);
    let at_a_time =
        ramp.and_then(|ramp| ramp.step_weight_promotion).map_or(total, |share| (total * share / 100).max(1));
    let step = |canary| {
        let step = Step { progress: Some(Progress::ALL), ..Step::default() };
        PlannedStep { promotes: true, ..planned("", &step, Duration::ZERO, primary_and_canary(canary, total).into()) }
    };
    let mut left = reached;
    let mut steps = Vec::new();
    if (1..total).contains(&reached) {
        left = total;
        steps.push(step(total));
    }
    loop {
        left = left.saturating_sub(at_a_time);
        steps.push(step(left));
        if left == 0 {
            return steps;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn shares(strategy: &Value, total: u32) -> Vec<u32> {
        let spec = json!({"services": [], "weightTotal": total, "strategy": strategy, "analysis": {"metrics": []}});
        let steps = super::steps(&serde_json::from_value(spec).unwrap()).unwrap();
        steps.iter().map(|step| step.split.weights.weight(CANARY)).collect()
    }

    #[test]
    fn a_step_weight_goes_up_until_it_is_at_or_past_the_most() {
        assert_eq!(shares(&json!({"ramp": {"stepWeight": 20, "maxWeight": 50}}), 100), [20, 40, 60, 100, 0]);
        assert_eq!(shares(&json!({"ramp": {"stepWeight": 60}}), 100), [60, 100, 0]);
        assert_eq!(shares(&json!({"ramp": {"stepWeights": [1, 2, 10, 80]}}), 1000), [10, 20, 100, 800, 1000, 0]);
        assert_eq!(shares(&json!({"ramp": {"stepWeights": [20, 60, 120]}}), 100), [20, 60, 100, 0]);
        assert_eq!(shares(&json!({"ramp": {"stepWeights": [20, 110, 120]}}), 100), [20, 100, 0]);
        assert_eq!(shares(&json!({"steps": [{"progress": "5%"}, {"progress": "100%"}]}), 100), [5, 100, 0]);
    }

    #[test]
    fn the_promoted_primary_gets_its_traffic_at_once_or_step_by_step() {
        let ramp = json!({"ramp": {"stepWeights": [100], "stepWeightPromotion": 50}});
        assert_eq!(shares(&ramp, 100), [100, 50, 0]);
        let ramp = json!({"ramp": {"stepWeights": [30], "stepWeightPromotion": 50}});
        assert_eq!(shares(&ramp, 100), [30, 100, 50, 0], "the primary has nothing while it is changed");
    }

    #[test]
    fn an_a_b_test_gives_the_canary_no_share() {
        let ramp = json!({"ramp": {"iterations": 3, "matches": [{"headers": [{"name": "x-test", "exact": "a"}]}]}});
        assert_eq!(shares(&ramp, 100), [0, 0]);
    }

    #[test]
    fn without_analysis_only_the_promotion_is_left() {
        let spec = json!({"services": [], "skipAnalysis": true, "analysis": {"metrics": []}});
        let steps = super::steps(&serde_json::from_value(spec).unwrap()).unwrap();
        assert!(steps.len() == 1 && steps[0].promotes && steps[0].split.weights.weight(PRIMARY) == 100);
    }

    #[test]
    fn a_share_of_no_unit_is_refused_with_the_total_that_would_do() {
        let spec = json!({"services": [], "weightTotal": 10, "analysis": {"metrics": []},
                          "strategy": {"ramp": {"stepWeights": [4]}}});
        let refused = steps(&serde_json::from_value(spec).unwrap()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "spec.strategy.steps: 4% of the way leaves canary at 0 of 10; scale the weights to weightTotal 25, or take a larger step"
        );
    }

    proptest! {
        #[test]
        fn every_step_sums_to_the_total_and_the_canary_ends_with_nothing(
            total in 100..10_000_u32, step in 1..=100_u32, most in 1..=100_u32, back in prop::option::of(1..=100_u32)
        ) {
            let mut ramp_ = json!({"stepWeight": step, "maxWeight": most});
            if let Some(back) = back { ramp_["stepWeightPromotion"] = back.into(); }
            let spec = json!({"services": [], "weightTotal": total, "strategy": {"ramp": ramp_}, "analysis": {"metrics": []}});
            let steps = super::steps(&serde_json::from_value(spec).unwrap()).unwrap();
            prop_assert!(steps.iter().all(|step| step.split.weights.total() == total));
            let rising = steps.iter().filter(|step| !step.promotes).map(|step| step.split.weights.weight(CANARY)).collect::<Vec<_>>();
            prop_assert!(rising.is_sorted_by(|one, other| one < other));
            let falling = steps.iter().filter(|step| step.promotes).map(|step| step.split.weights.weight(CANARY)).collect::<Vec<_>>();
            prop_assert!(falling.is_sorted_by(|one, other| one > other) && falling.last() == Some(&0));
        }
    }
}
