//! Arithmetic of distributions: whole units, exact sums, and nobody moves against their direction.

use std::collections::BTreeSet;

use super::Distribution;
use crate::api::Progress;

impl Distribution {
    /// Sum of all weights; it stops at the largest number, which no valid distribution reaches.
    pub fn total(&self) -> u32 {
        self.weights().fold(0, u32::saturating_add)
    }

    /// Divides `units` among the members in proportion to their weights, by Sainte-Laguë.
    ///
    /// Ties go to the name that orders first. Nobody gets fewer when there are more units to divide (largest remainder
    /// does not promise that), and when `units` is the sum of the weights everybody gets exactly their weight.
    /// Members without weight get 0; where nobody has weight, nothing is divided.
    #[must_use]
    pub fn apportion(&self, units: u32) -> Self {
        if self.total() == 0 {
            return self.clone();
        }
        let mut shares = self.head_start(units);
        for _ in shares.total()..units {
            let claims = shares.0.values_mut().zip(self.weights()).filter(|(_, weight)| *weight > 0);
            if let Some((share, _)) = claims.reduce(|best, other| if claims_more(&other, &best) { other } else { best })
            {
                *share += 1;
            }
        }
        shares
    }

    /// The first units of the division all at once: every unit whose claim is above what `units - members` units need on
    /// average. They are at most `units`, and fewer by no more than twice the members.
    fn head_start(&self, units: u32) -> Self {
        let members = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let (head, all) = (u128::from(units.saturating_sub(members)), u128::from(self.total()));
        let rounded = |weight: u32| (2 * u128::from(weight) * head + all - 1) / (2 * all);
        self.iter().map(|(name, weight)| (name, u32::try_from(rounded(weight)).unwrap_or(units))).collect()
    }

    /// The distribution on the way from this one to `target` at which the `finished` gaining members hold their new
    /// weight, the `moving` ones went `progress` of their way, and all other gaining members hold their old weight.
    ///
    /// Names every member of either end. Guarantee, where both ends have one sum: the result has it too, and as progress
    /// and stages go on no gaining member dips and no losing member rises.
    #[must_use]
    pub fn toward(
        &self,
        target: &Self,
        finished: &BTreeSet<&str>,
        moving: &BTreeSet<&str>,
        progress: Progress,
    ) -> Self {
        let gains = self.gains(target);
        let done = gains.only(|member| finished.contains(member));
        let under_way = gains.only(|member| moving.contains(member));
        let moved = under_way.apportion(part(progress, under_way.total()));
        let lost = target.gains(self).apportion(done.total() + moved.total());
        let weight = |member: &str| {
            let gained = done.weight(member) + moved.weight(member);
            (self.weight(member) + gained).saturating_sub(lost.weight(member))
        };
        gains.members().map(|member| (member, weight(member))).collect()
    }

    /// What each member of either end has more in `to` than here; 0 where it has less.
    #[must_use]
    pub fn gains(&self, to: &Self) -> Self {
        let members = self.members().chain(to.members());
        members.map(|member| (member, to.weight(member).saturating_sub(self.weight(member)))).collect()
    }

    /// This distribution with nothing on `unavailable` members.
    ///
    /// What they had goes to the available members of `primary`, in proportion to their primary weights; if there is
    /// none, to the available `proven` members in proportion to their weights here; if there is none either, the answer
    /// is `None`: no member can serve. The sum stays.
    pub fn project(&self, unavailable: &BTreeSet<String>, primary: &Self, proven: &BTreeSet<String>) -> Option<Self> {
        let available = |member: &str| !unavailable.contains(member);
        let taken = self.only(|member| !available(member)).total();
        let primaries = primary.only(available);
        let recipients = if primaries.total() > 0 {
            primaries
        } else {
            self.only(|member| available(member) && proven.contains(member))
        };
        if taken > 0 && recipients.total() == 0 {
            return None;
        }
        let kept = |member: &str, weight| if available(member) { weight } else { 0 };
        let mut projected: Self = self.iter().map(|(member, weight)| (member, kept(member, weight))).collect();
        for (member, extra) in recipients.apportion(taken).iter() {
            projected.add(member, extra);
        }
        Some(projected)
    }

    /// The largest number that divides every weight and `total`.
    pub fn common_divisor(&self, total: u32) -> u32 {
        self.weights().fold(total, greatest_common_divisor)
    }
}

/// Whether the first one's claim, weight / (2 x share + 1), is larger than the second one's.
fn claims_more((share, weight): &(&mut u32, u32), (best_share, best_weight): &(&mut u32, u32)) -> bool {
    let odd = |share: u32| 2 * u128::from(share) + 1;
    u128::from(*weight) * odd(**best_share) > u128::from(*best_weight) * odd(**share)
}

fn part(progress: Progress, units: u32) -> u32 {
    u32::try_from(u64::from(units) * progress.basis_points() / Progress::ALL.basis_points()).unwrap_or(units)
}

/// By Euclid's algorithm; 0 divides nothing and is passed over.
pub fn greatest_common_divisor<N: Copy + Default + PartialEq + std::ops::Rem<Output = N>>(a: N, b: N) -> N {
    if b == N::default() { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use crate::api::{Distribution, Progress};

    fn of(weights: &[(&str, u32)]) -> Distribution {
        weights.iter().copied().collect()
    }

    fn names<'a>(names: &[&'a str]) -> BTreeSet<&'a str> {
        names.iter().copied().collect()
    }

    #[test]
    fn ties_go_to_the_first_name() {
        assert_eq!(of(&[("b", 5), ("a", 5)]).apportion(1), of(&[("a", 1), ("b", 0)]));
        assert_eq!(of(&[("b", 5), ("a", 5)]).apportion(2), of(&[("a", 1), ("b", 1)]));
    }

    #[test]
    fn nothing_is_divided_among_nobody() {
        assert_eq!(of(&[("a", 0)]).apportion(7), of(&[("a", 0)]));
        assert_eq!(of(&[]).apportion(7), of(&[]));
    }

    #[test]
    fn a_new_member_takes_over_step_by_step() {
        let (start, target) = (of(&[("eu-1", 50), ("eu-2", 50)]), of(&[("eu-1", 0), ("eu-2", 50), ("eu-3", 50)]));
        let at = |progress: &str| start.toward(&target, &names(&[]), &names(&["eu-3"]), progress.parse().unwrap());
        assert_eq!(at("5%"), of(&[("eu-1", 48), ("eu-2", 50), ("eu-3", 2)]));
        assert_eq!(at("25%"), of(&[("eu-1", 38), ("eu-2", 50), ("eu-3", 12)]));
        assert_eq!(at("100%"), of(&[("eu-1", 0), ("eu-2", 50), ("eu-3", 50)]));
    }

    #[test]
    fn later_stages_hold_their_old_weight_and_finished_ones_their_new() {
        let (start, target) = (of(&[("a", 100)]), of(&[("b", 20), ("c", 80)]));
        let at = |finished: &[&str], moving: &[&str]| {
            start.toward(&target, &names(finished), &names(moving), "50%".parse().unwrap())
        };
        assert_eq!(at(&[], &["b"]), of(&[("a", 90), ("b", 10), ("c", 0)]));
        assert_eq!(at(&["b"], &["c"]), of(&[("a", 40), ("b", 20), ("c", 40)]));
    }

    #[test]
    fn the_weight_of_unavailable_members_goes_to_the_primary_then_to_the_proven_then_to_nobody() {
        let intended = of(&[("a", 30), ("b", 50), ("c", 20)]);
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let primary = of(&[("a", 75), ("b", 25)]);
        let project = |gone: &[&str], proven: &[&str]| intended.project(&set(gone), &primary, &set(proven));
        assert_eq!(project(&["c"], &[]), Some(of(&[("a", 45), ("b", 55), ("c", 0)])));
        assert_eq!(project(&["b"], &[]), Some(of(&[("a", 80), ("b", 0), ("c", 20)])));
        assert_eq!(project(&["a", "b"], &["c"]), Some(of(&[("a", 0), ("b", 0), ("c", 100)])));
        assert_eq!(project(&["a", "b"], &[]), None);
        assert_eq!(project(&["d"], &[]), Some(intended.clone()));
    }

    /// The division as it is defined, one unit at a time.
    fn one_by_one(units: u32, weights: &Distribution) -> Distribution {
        let mut shares: Distribution = weights.members().map(|name| (name, 0)).collect();
        for _ in 0..units {
            let claim = |name: &str| {
                (
                    f64::from(weights.weight(name)) / f64::from(2 * shares.weight(name) + 1),
                    std::cmp::Reverse(name.to_owned()),
                )
            };
            let next = weights.members().max_by(|a, b| claim(a).partial_cmp(&claim(b)).unwrap()).unwrap();
            shares.add(next, 1);
        }
        shares
    }

    /// A distribution of `total` over up to 64 members, by random claims.
    fn distribution(total: u32) -> impl Strategy<Value = Distribution> {
        prop::collection::btree_map("m([0-9]|[1-5][0-9]|6[0-3])", 1..1000_u32, 1..=64)
            .prop_map(move |claims| Distribution::from_iter(claims).apportion(total))
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
        let union: BTreeSet<&str> = start.members().chain(target.members()).collect();
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
                    .map(move |progress| start.toward(target, &finished, &moving, *progress))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn the_division_is_sainte_lague(
            units in 0..600_u32, claims in prop::collection::btree_map("m[0-9]", 1..1000_u32, 1..10)
        ) {
            let weights = Distribution::from_iter(claims);
            prop_assert_eq!(weights.apportion(units), one_by_one(units, &weights));
        }

        #[test]
        fn on_the_way_sums_hold_and_nobody_moves_against_their_direction((start, target, stages, steps) in journeys()) {
            let mut before = start.clone();
            for now in travel(&start, &target, &stages, &steps) {
                prop_assert_eq!(now.total(), start.total());
                for name in now.members() {
                    let (from, to) = (before.weight(name), now.weight(name));
                    prop_assert!(if target.weight(name) > start.weight(name) { to >= from } else { to <= from }, "{name}");
                }
                before = now;
            }
            prop_assert!(before.members().all(|name| before.weight(name) == target.weight(name)));
        }

        #[test]
        fn a_projection_keeps_the_sum_and_leaves_unavailable_members_nothing(
            (intended, primary, gone, proven) in (1..=10_000_u32).prop_flat_map(|total| {
                let members = || prop::collection::btree_set("m([0-9]|[1-5][0-9]|6[0-3])", 0..64);
                (distribution(total), distribution(total), members(), members())
            })
        ) {
            let living = |members: &Distribution| members.iter().any(|(name, weight)| weight > 0 && !gone.contains(name));
            match intended.project(&gone, &primary, &proven) {
                Some(projected) => {
                    prop_assert_eq!(projected.total(), intended.total());
                    prop_assert!(gone.iter().all(|name| projected.weight(name) == 0));
                    let kept = intended.iter().filter(|(name, _)| !gone.contains(*name));
                    prop_assert!(kept.into_iter().all(|(name, had)| projected.weight(name) >= had));
                }
                None => prop_assert!(!living(&primary)),
            }
        }
    }
}
