//! Weights by member, as the judge compares them.

use super::super::routes::{Weights, plain};

pub fn at(weights: &Weights, member: &str) -> u32 {
    weights.get(member).copied().unwrap_or(0)
}

pub fn nonzero(weights: &Weights) -> Weights {
    weights.iter().filter(|(_, weight)| **weight > 0).map(|(name, weight)| (name.clone(), *weight)).collect()
}

/// The weights by which requests are answered, whatever some of them look like.
pub fn answering(weights: &Weights) -> Weights {
    nonzero(weights).into_iter().filter(|(member, _)| plain(member) == member).collect()
}

pub fn by_member(weights: &Weights, service: &str) -> Weights {
    let prefix = format!("{service}-");
    let member =
        |name: &str| if name == service { "primary" } else { name.strip_prefix(&prefix).unwrap_or(name) }.to_owned();
    // The Service that the primary was made like may stand beside it.
    let mut sums = Weights::new();
    for (name, weight) in weights {
        *sums.entry(member(name)).or_default() += weight;
    }
    sums
}
