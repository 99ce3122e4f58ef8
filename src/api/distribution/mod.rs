//! Who gets which part of the traffic: the weight of every member.

mod arithmetic;

pub use arithmetic::greatest_common_divisor;

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Weight of each member, by name, in units of the rollout's total. Ordered, so that every answer is reproducible.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
#[schemars(transparent)]
pub struct Distribution(BTreeMap<String, u32>);

impl Distribution {
    /// No member at all.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The weight of a member; 0 where it is not named.
    pub fn weight(&self, member: &str) -> u32 {
        self.0.get(member).copied().unwrap_or(0)
    }

    /// The weight of a member, if it is named.
    pub fn get(&self, member: &str) -> Option<u32> {
        self.0.get(member).copied()
    }

    /// Whether a member is named, be it with weight 0.
    pub fn names(&self, member: &str) -> bool {
        self.0.contains_key(member)
    }

    /// Gives a member this weight.
    pub fn set(&mut self, member: impl Into<String>, weight: u32) {
        self.0.insert(member.into(), weight);
    }

    /// Gives a member so much more.
    pub fn add(&mut self, member: impl Into<String>, weight: u32) {
        let sum = self.0.entry(member.into()).or_default();
        *sum = sum.saturating_add(weight);
    }

    /// Takes a member out, and returns the weight that it had.
    pub fn remove(&mut self, member: &str) -> u32 {
        self.0.remove(member).unwrap_or(0)
    }

    /// Every member that is named, with its weight, by name.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, u32)> + Clone {
        self.0.iter().map(|(member, weight)| (member.as_str(), *weight))
    }

    /// Every member that is named, by name.
    pub fn members(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.keys().map(String::as_str)
    }

    /// Every weight, by the member's name.
    pub fn weights(&self) -> impl Iterator<Item = u32> + Clone {
        self.0.values().copied()
    }

    /// The members that have weight, with it.
    pub fn carrying(&self) -> impl Iterator<Item = (&str, u32)> + Clone {
        self.iter().filter(|(_, weight)| *weight > 0)
    }

    /// The same without the members that have no weight.
    #[must_use]
    pub fn nonzero(&self) -> Self {
        self.carrying().collect()
    }

    /// The same with the members alone that the predicate chooses.
    #[must_use]
    pub fn only(&self, choose: impl Fn(&str) -> bool) -> Self {
        self.iter().filter(|(member, _)| choose(member)).collect()
    }

    /// How many members are named.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no member is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both give every member the same weight: they may differ in members that are named with weight 0.
    pub fn same_as(&self, other: &Self) -> bool {
        self.carrying().eq(other.carrying())
    }

    /// The members whose weight is more than in `base`, by name.
    pub fn above(&self, base: &Self) -> Vec<String> {
        let more = self.iter().filter(|(member, weight)| *weight > base.weight(member));
        more.map(|(member, _)| member.to_owned()).collect()
    }
}

/// The members with weight in one line: `eu-1:75 eu-3:25`; `nothing` where none has any.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total() == 0 {
            return f.write_str("nothing");
        }
        for (place, (member, weight)) in self.carrying().enumerate() {
            let space = if place == 0 { "" } else { " " };
            write!(f, "{space}{member}:{weight}")?;
        }
        Ok(())
    }
}

impl<M: Into<String>> FromIterator<(M, u32)> for Distribution {
    fn from_iter<I: IntoIterator<Item = (M, u32)>>(weights: I) -> Self {
        Self(weights.into_iter().map(|(member, weight)| (member.into(), weight)).collect())
    }
}

impl IntoIterator for Distribution {
    type Item = (String, u32);
    type IntoIter = std::collections::btree_map::IntoIter<String, u32>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<M: Into<String>, const N: usize> From<[(M, u32); N]> for Distribution {
    fn from(weights: [(M, u32); N]) -> Self {
        weights.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Distribution;

    #[test]
    fn a_member_that_is_named_with_nothing_makes_no_difference() {
        let (one, other) = (Distribution::from([("a", 1), ("b", 0)]), Distribution::from([("a", 1)]));
        assert!(one.same_as(&other) && one != other && one.nonzero() == other);
        assert!(!one.same_as(&Distribution::from([("b", 1)])));
        assert_eq!((one.to_string().as_str(), Distribution::new().to_string().as_str()), ("a:1", "nothing"));
    }

    #[test]
    fn who_has_more_is_above() {
        let base = Distribution::from([("a", 50), ("b", 50)]);
        assert_eq!(Distribution::from([("a", 50), ("b", 40), ("c", 10)]).above(&base), ["c"]);
    }
}
