//! All that a route shall show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Affinity, Distribution, Matched, Steering};

/// All that a route shall show: it travels whole, from the plan to the route.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Split {
    /// The weight of every member.
    pub weights: Distribution,
    /// What reaches canaries beside their weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<Steering>,
    /// Where users are kept; the sum of a member's bins is its weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
}

impl Split {
    /// The requests that are chosen by what they carry, where some are.
    pub fn matched(&self) -> Option<&Matched> {
        self.steering.as_ref().and_then(Steering::matched)
    }

    /// The members to which requests are steered beside their weights.
    pub fn steered(&self) -> impl Iterator<Item = &str> {
        self.steering.iter().flat_map(Steering::members)
    }

    /// Whether requests reach this member, by weight or beside it.
    pub fn reaches(&self, member: &str) -> bool {
        self.weights.weight(member) > 0 || self.steered().any(|steered| steered == member)
    }

    /// Every member that requests reach, with its weight.
    pub fn reached(&self) -> Distribution {
        let steered = self.steered().map(|member| (member, 0));
        steered.chain(self.weights.carrying()).collect()
    }

    /// Whether both show the same: weights are compared without members that have none.
    pub fn same_as(&self, other: &Self) -> bool {
        self.weights.same_as(&other.weights) && self.steering == other.steering && self.affinity == other.affinity
    }
}

/// Weights alone.
impl From<Distribution> for Split {
    fn from(weights: Distribution) -> Self {
        Self { weights, ..Self::default() }
    }
}

/// Weights alone.
impl From<&Distribution> for Split {
    fn from(weights: &Distribution) -> Self {
        weights.clone().into()
    }
}
