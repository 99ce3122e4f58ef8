//! Arithmetic of distributions: whole units, exact sums, and nobody moves against their direction.

use std::collections::BTreeSet;

use crate::api::{Distribution, Progress};

/// Divides `units` among the members in proportion to their weights, by Sainte-Laguë.
///
/// Ties go to the name that orders first. Nobody gets fewer when there are more units to divide (largest remainder
/// does not promise that), and when `units` is the sum of the weights everybody gets exactly their weight.
/// Members without weight get 0; where nobody has weight, nothing is divided.
#[must_use]
pub fn apportion(units: u32, weights: &Distribution) -> Distribution {
    if sum(weights) == 0 {
        return weights.clone();
    }
    let mut shares = head_start(units, weights);
    for _ in sum(&shares)..units {
        let claims = shares.values_mut().zip(weights.values().copied()).filter(|(_, weight)| *weight > 0);
        if let Some((share, _)) = claims.reduce(|best, other| if claims_more(&other, &best) { other } else { best }) {
            *share += 1;
        }
    }
    shares
}

/// The first units of the division all at once: every unit whose claim is above what `units - members` units need on
/// average. They are at most `units`, and fewer by no more than twice the members.
fn head_start(units: u32, weights: &Distribution) -> Distribution {
    let members = u32::try_from(weights.len()).unwrap_or(u32::MAX);
    let (head, all) = (u128::from(units.saturating_sub(members)), u128::from(sum(weights)));
    let rounded = |weight: u32| (2 * u128::from(weight) * head + all - 1) / (2 * all);
    weights.iter().map(|(name, weight)| (name.clone(), u32::try_from(rounded(*weight)).unwrap_or(units))).collect()
}

/// Whether the first one's claim, weight / (2 x share + 1), is larger than the second one's.
fn claims_more((share, weight): &(&mut u32, u32), (best_share, best_weight): &(&mut u32, u32)) -> bool {
    let odd = |share: u32| 2 * u128::from(share) + 1;
    u128::from(*weight) * odd(**best_share) > u128::from(*best_weight) * odd(**share)
}

/// The distribution on the way from `start` to `target` at which the `finished` gaining members hold their new
/// weight, the `moving` ones went `progress` of their way, and all other gaining members hold their old weight.
///
/// Names every member of either end. Guarantee, where both ends have one sum: the result has it too, and as progress
/// and stages go on no gaining member dips and no losing member rises.
#[must_use]
pub fn between(
    start: &Distribution,
    target: &Distribution,
    finished: &BTreeSet<&str>,
    moving: &BTreeSet<&str>,
    progress: Progress,
) -> Distribution {
    let gains = differences(start, target);
    let done = only(&gains, finished);
    let under_way = only(&gains, moving);
    let moved = apportion(part(progress, sum(&under_way)), &under_way);
    let lost = apportion(sum(&done) + sum(&moved), &differences(target, start));
    gains
        .keys()
        .map(|name| {
            let gained = weight(&done, name) + weight(&moved, name);
            (name.clone(), (weight(start, name) + gained).saturating_sub(weight(&lost, name)))
        })
        .collect()
}

/// What each member of either end has more in `to` than in `from`; 0 where it has less.
#[must_use]
pub fn differences(from: &Distribution, to: &Distribution) -> Distribution {
    from.keys()
        .chain(to.keys())
        .map(|name| (name.clone(), weight(to, name).saturating_sub(weight(from, name))))
        .collect()
}

/// The intended distribution with nothing on `dead` members.
///
/// What they had goes to the living members of `primary`, in proportion to their primary weights; if there is none, to
/// the living `proven` members in proportion to their intended weights; if there is none either, the answer is `None`
/// and there is no fit member. The sum stays.
#[must_use]
pub fn project(
    intended: &Distribution,
    dead: &BTreeSet<String>,
    primary: &Distribution,
    proven: &BTreeSet<String>,
) -> Option<Distribution> {
    let living = |name: &str| !dead.contains(name);
    let taken = sum(&filtered(intended, |name| !living(name)));
    let primaries = filtered(primary, living);
    let recipients =
        if sum(&primaries) > 0 { primaries } else { filtered(intended, |name| living(name) && proven.contains(name)) };
    if taken > 0 && sum(&recipients) == 0 {
        return None;
    }
    let mut projected: Distribution =
        intended.iter().map(|(name, weight)| (name.clone(), if living(name) { *weight } else { 0 })).collect();
    for (name, extra) in apportion(taken, &recipients) {
        *projected.entry(name).or_default() += extra;
    }
    Some(projected)
}

/// The weight of a member; 0 where it is not named.
#[must_use]
pub fn weight(distribution: &Distribution, name: &str) -> u32 {
    distribution.get(name).copied().unwrap_or(0)
}

/// Sum of all weights; it stops at the largest number, which no valid distribution reaches.
#[must_use]
pub fn sum(distribution: &Distribution) -> u32 {
    distribution.values().fold(0, |sum, weight| sum.saturating_add(*weight))
}

fn part(progress: Progress, units: u32) -> u32 {
    u32::try_from(u64::from(units) * progress.basis_points() / Progress::ALL.basis_points()).unwrap_or(units)
}

fn only(distribution: &Distribution, names: &BTreeSet<&str>) -> Distribution {
    filtered(distribution, |name| names.contains(name))
}

fn filtered(distribution: &Distribution, keep: impl Fn(&str) -> bool) -> Distribution {
    distribution.iter().filter(|(name, _)| keep(name)).map(|(name, weight)| (name.clone(), *weight)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{apportion, between, project, sum, weight};
    use crate::api::{Distribution, Progress};

    fn of(weights: &[(&str, u32)]) -> Distribution {
        weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
    }

    fn names<'a>(names: &[&'a str]) -> BTreeSet<&'a str> {
        names.iter().copied().collect()
    }

    #[test]
    fn ties_go_to_the_first_name() {
        assert_eq!(apportion(1, &of(&[("b", 5), ("a", 5)])), of(&[("a", 1), ("b", 0)]));
        assert_eq!(apportion(2, &of(&[("b", 5), ("a", 5)])), of(&[("a", 1), ("b", 1)]));
    }

    #[test]
    fn nothing_is_divided_among_nobody() {
        assert_eq!(apportion(7, &of(&[("a", 0)])), of(&[("a", 0)]));
        assert_eq!(apportion(7, &of(&[])), of(&[]));
    }

    #[test]
    fn a_new_member_takes_over_step_by_step() {
        let (start, target) = (of(&[("eu-1", 50), ("eu-2", 50)]), of(&[("eu-1", 0), ("eu-2", 50), ("eu-3", 50)]));
        let at = |progress: &str| between(&start, &target, &names(&[]), &names(&["eu-3"]), progress.parse().unwrap());
        assert_eq!(at("5%"), of(&[("eu-1", 48), ("eu-2", 50), ("eu-3", 2)]));
        assert_eq!(at("25%"), of(&[("eu-1", 38), ("eu-2", 50), ("eu-3", 12)]));
        assert_eq!(at("100%"), of(&[("eu-1", 0), ("eu-2", 50), ("eu-3", 50)]));
    }

    #[test]
    fn later_stages_hold_their_old_weight_and_finished_ones_their_new() {
        let (start, target) = (of(&[("a", 100)]), of(&[("b", 20), ("c", 80)]));
        let at = |finished: &[&str], moving: &[&str]| {
            between(&start, &target, &names(finished), &names(moving), "50%".parse().unwrap())
        };
        assert_eq!(at(&[], &["b"]), of(&[("a", 90), ("b", 10), ("c", 0)]));
        assert_eq!(at(&["b"], &["c"]), of(&[("a", 40), ("b", 20), ("c", 40)]));
    }

    #[test]
    fn the_weight_of_unavailable_members_goes_to_the_primary_then_to_the_proven_then_to_nobody() {
        let intended = of(&[("a", 30), ("b", 50), ("c", 20)]);
        let dead = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let primary = of(&[("a", 75), ("b", 25)]);
        let project = |gone: &[&str], proven: &[&str]| project(&intended, &dead(gone), &primary, &dead(proven));
        assert_eq!(project(&["c"], &[]), Some(of(&[("a", 45), ("b", 55), ("c", 0)])));
        assert_eq!(project(&["b"], &[]), Some(of(&[("a", 80), ("b", 0), ("c", 20)])));
        assert_eq!(project(&["a", "b"], &["c"]), Some(of(&[("a", 0), ("b", 0), ("c", 100)])));
        assert_eq!(project(&["a", "b"], &[]), None);
        assert_eq!(project(&["d"], &[]), Some(intended.clone()));
    }

    /// The division as it is defined, one unit at a time.
    fn one_by_one(units: u32, weights: &Distribution) -> Distribution {
        let mut shares: Distribution = weights.keys().map(|name| (name.clone(), 0)).collect();
        for _ in 0..units {
            let claim = |name: &str| {
                (f64::from(weights[name]) / f64::from(2 * shares[name] + 1), std::cmp::Reverse(name.to_owned()))
            };
            let next = weights.keys().max_by(|a, b| claim(a).partial_cmp(&claim(b)).unwrap()).unwrap().clone();
            *shares.get_mut(&next).unwrap() += 1;
        }
        shares
    }

    /// A distribution of `total` over up to 64 members, by random claims.
    fn distribution(total: u32) -> impl Strategy<Value = Distribution> {
        prop::collection::btree_map("m([0-9]|[1-5][0-9]|6[0-3])", 1..1000_u32, 1..=64)
            .prop_map(move |claims| apportion(total, &claims))
    }

    fn journeys() -> impl Strategy<Value = (Distribution, Distribution, Vec<u8>, Vec<Progress>)> {
        let ends = (1..=10_000_u32).prop_flat_map(|total| (distribution(total), distribution(total)));
        let steps = prop::collection::btree_set(1..10_000_u32, 0..6).prop_map(|points| {
            points
                .into_iter()
                .map(|p| format!("{}.{:02}%", p / 100, p % 100).parse().unwrap())
                .chain([Progress::ALL])
                .collect()
        });
        (ends, prop::collection::vec(0..4_u8, 64), steps)
            .prop_map(|((start, target), stages, steps)| (start, target, stages, steps))
    }

    /// Every distribution on the way, through four stages to which the members were dealt.
    fn travel(start: &Distribution, target: &Distribution, stages: &[u8], steps: &[Progress]) -> Vec<Distribution> {
        let union: BTreeSet<&str> = start.keys().chain(target.keys()).map(String::as_str).collect();
        let in_stages = |wanted: &dyn Fn(u8) -> bool| {
            union
                .iter()
                .zip(stages)
                .filter(|(_, stage)| wanted(**stage))
                .map(|(name, _)| *name)
                .collect::<BTreeSet<_>>()
        };
        (0..4)
            .flat_map(|now| {
                let (finished, moving) = (in_stages(&|stage| stage < now), in_stages(&|stage| stage == now));
                steps
                    .iter()
                    .map(move |progress| between(start, target, &finished, &moving, *progress))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn the_division_is_sainte_lague(
            units in 0..600_u32, weights in prop::collection::btree_map("m[0-9]", 1..1000_u32, 1..10)
        ) {
            prop_assert_eq!(apportion(units, &weights), one_by_one(units, &weights));
        }

        #[test]
        fn on_the_way_sums_hold_and_nobody_moves_against_their_direction((start, target, stages, steps) in journeys()) {
            let mut before = start.clone();
            for now in travel(&start, &target, &stages, &steps) {
                prop_assert_eq!(sum(&now), sum(&start));
                for name in now.keys() {
                    let (from, to) = (weight(&before, name), weight(&now, name));
                    prop_assert!(if weight(&target, name) > weight(&start, name) { to >= from } else { to <= from }, "{name}");
                }
                before = now;
            }
            prop_assert!(before.keys().all(|name| weight(&before, name) == weight(&target, name)));
        }

        #[test]
        fn a_projection_keeps_the_sum_and_leaves_the_dead_nothing(
            (intended, primary, dead, proven) in (1..=10_000_u32).prop_flat_map(|total| {
                let members = || prop::collection::btree_set("m([0-9]|[1-5][0-9]|6[0-3])", 0..64);
                (distribution(total), distribution(total), members(), members())
            })
        ) {
            let living = |members: &Distribution| members.iter().any(|(name, weight)| *weight > 0 && !dead.contains(name));
            match project(&intended, &dead, &primary, &proven) {
                Some(projected) => {
                    prop_assert_eq!(sum(&projected), sum(&intended));
                    prop_assert!(dead.iter().all(|name| weight(&projected, name) == 0));
                    let kept = intended.iter().filter(|(name, _)| !dead.contains(*name));
                    prop_assert!(kept.into_iter().all(|(name, had)| weight(&projected, name) >= *had));
                }
                None => prop_assert!(!living(&primary)),
            }
        }
    }
}
