//! Session affinity: each user draws one bin for the whole run, and it is bins that move from member to member.
//!
//! So a weight is the part of all users that a member has, from the first request after a step on, and nobody moves who need
//! not. Every unit of weight has a path of its own through the plan; the units with the same path are one bin.

use crate::api::{Affinity, Distribution, SessionAffinity, affinity::Bin, status::PlannedStep};

/// Units that are with the same member at every step.
struct Way<'p> {
    units: u32,
    members: Vec<&'p str>,
}

/// Where users are kept at a step of a plan, by its place. Nobody is, where one member has everybody, and while traffic goes
/// back to a primary that became what passed: it is the same everywhere.
#[must_use]
pub fn at(session: &SessionAffinity, run: &str, plan: &[PlannedStep], place: usize) -> Option<Affinity> {
    let plan = plan.split(|step| step.promotes).next()?;
    plan.get(place).filter(|step| step.split.weights.carrying().count() > 1)?;
    let bin = |way: Way<'_>| Some(Bin { member: (*way.members.get(place)?).to_owned(), weight: way.units });
    let bins = ways(plan).into_iter().filter_map(bin).collect();
    Some(Affinity { run: run.to_owned(), bins, ..without_bins(session) })
}

/// What every step of every run asks, with no bins.
#[must_use]
pub fn without_bins(session: &SessionAffinity) -> Affinity {
    let (cookie_name, max_age) = (session.cookie_name.clone(), session.max_age);
    Affinity { cookie_name, max_age, run: String::new(), bins: Vec::new() }
}

fn ways(plan: &[PlannedStep]) -> Vec<Way<'_>> {
    let Some(first) = plan.first() else { return Vec::new() };
    let carrying = first.split.weights.carrying();
    let mut ways: Vec<Way<'_>> = carrying.map(|(member, units)| Way { units, members: vec![member] }).collect();
    for (before, after) in plan.iter().zip(plan.iter().skip(1)) {
        ways = moved(ways, &before.split.weights, &after.split.weights);
    }
    ways
}

/// The ways one step farther: members that lose give up no more units than they lose, and those that gain take them.
fn moved<'p>(ways: Vec<Way<'p>>, before: &Distribution, after: &'p Distribution) -> Vec<Way<'p>> {
    let mut lost = after.gains(before);
    let gains = after.iter().map(|(member, weight)| (member, weight.saturating_sub(before.weight(member))));
    let mut gained: Vec<(&str, u32)> = gains.filter(|(_, gain)| *gain > 0).collect();
    let mut next = Vec::new();
    for way in ways {
        let Some(member) = way.members.last().copied() else { continue };
        let mut leaving = lost.weight(member).min(way.units);
        lost.set(member, lost.weight(member) - leaving);
        next.extend(way.on(way.units - leaving, member));
        for (recipient, gain) in &mut gained {
            let taken = leaving.min(*gain);
            (leaving, *gain) = (leaving - taken, *gain - taken);
            next.extend(way.on(taken, recipient));
        }
    }
    next
}

impl<'p> Way<'p> {
    /// Some of the units one step farther.
    fn on(&self, units: u32, member: &'p str) -> Option<Self> {
        let members = self.members.iter().copied().chain([member]).collect();
        (units > 0).then_some(Self { units, members })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::rollout::plan::{members::steps as plan, ramp::steps as ramp};

    fn session() -> SessionAffinity {
        serde_json::from_value(json!({"cookieName": "shop"})).unwrap()
    }

    fn bins(plan: &[PlannedStep], place: usize) -> Vec<(String, u32)> {
        let at = at(&session(), "1", plan, place);
        at.into_iter().flat_map(|affinity| affinity.bins).map(|bin| (bin.member, bin.weight)).collect()
    }

    fn of(weights: &[(&str, u32)]) -> Distribution {
        weights.iter().copied().collect()
    }

    #[test]
    fn a_step_takes_the_next_bin_of_the_loser_and_leaves_all_others_where_they_are() {
        let steps = plan(
            &of(&[("a", 100)]),
            &of(&[("a", 25), ("b", 75)]),
            &serde_json::from_value(json!({
            "steps": [{"progress": "20%"}, {"mirror": {}}, {"progress": "50%"}, {"progress": "100%"}]}))
            .unwrap(),
            100,
        )
        .unwrap();
        let named = |members: [&str; 4]| {
            let bins = members.into_iter().zip([25, 38, 22, 15]);
            bins.map(|(member, weight)| (member.to_owned(), weight)).collect::<Vec<_>>()
        };
        assert_eq!(bins(&steps, 0), named(["a", "a", "a", "b"]));
        assert_eq!(bins(&steps, 1), bins(&steps, 0));
        assert_eq!(bins(&steps, 2), named(["a", "a", "b", "b"]));
        assert_eq!(bins(&steps, 3), named(["a", "b", "b", "b"]));
    }

    #[test]
    fn nobody_is_kept_where_one_has_everybody_or_the_primary_gets_its_traffic_back() {
        let spec = json!({"services": [], "analysis": {"metrics": []},
                          "strategy": {"ramp": {"stepWeights": [30, 100], "stepWeightPromotion": 50}}});
        let steps = ramp(&serde_json::from_value(spec).unwrap()).unwrap();
        let kept: Vec<bool> = (0..=steps.len()).map(|place| !bins(&steps, place).is_empty()).collect();
        assert_eq!(kept, [true, false, false, false, false]);
    }

    proptest! {
        /// The weights of the bins are the step's weights, and between two steps no more users move than must.
        #[test]
        fn a_weight_is_the_users_that_a_member_keeps(
            start in prop::collection::vec(0..50_u32, 4), target in prop::collection::vec(0..50_u32, 4),
            progress in prop::collection::btree_set(20..100_u32, 0..5), total in 100..1000_u32
        ) {
            let shares = |weights: Vec<u32>| ["a", "b", "c", "d"].into_iter().zip(weights).collect::<Distribution>().apportion(total);
            let (start, target) = (shares(start), shares(target));
            let steps: Vec<_> = progress.iter().map(|progress| format!("{progress}%")).chain(["100%".to_owned()])
                .map(|progress| json!({"progress": progress})).collect();
            let Ok(steps) = plan(&start, &target, &serde_json::from_value(json!({"steps": steps})).unwrap(), total) else { return Ok(()) };
            let kept: Vec<Affinity> = (0..steps.len()).filter_map(|place| at(&session(), "1", &steps, place)).collect();
            for (place, step) in steps.iter().enumerate() {
                let Some(affinity) = at(&session(), "1", &steps, place) else { continue };
                prop_assert_eq!(affinity.weights(), step.split.weights.nonzero());
            }
            for (one, other) in kept.iter().zip(kept.iter().skip(1)) {
                let moved: u32 = one.bins.iter().zip(&other.bins).filter(|(one, other)| one.member != other.member)
                    .map(|(bin, _)| bin.weight).sum();
                prop_assert_eq!(moved, one.weights().gains(&other.weights()).total());
                prop_assert!(one.bins.iter().map(|bin| bin.weight).eq(other.bins.iter().map(|bin| bin.weight)));
            }
        }
    }
}
