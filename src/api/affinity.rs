//! Session affinity: users stay with the member that answered them first.

use std::collections::BTreeSet;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, Duration};

/// Session affinity as a strategy declares it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SessionAffinity {
    /// Name of the cookie that the data plane sets during a run; no application behind the routes may use it.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"))]
    pub cookie_name: String,
    /// Lifetime of the cookie. Default: 24h.
    #[serde(default = "a_day")]
    pub max_age: Duration,
}

const fn a_day() -> Duration {
    Duration::from_secs(86_400)
}

/// Session affinity during a step.
///
/// A user without a cookie is assigned to a bin at random, in proportion to its weight, and gets its cookie. A user
/// with a cookie goes to the member that now has the bin.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    /// Name of the cookie.
    pub cookie_name: String,
    /// Lifetime of the cookie.
    pub max_age: Duration,
    /// Prefix of the values of this run's cookies; cookies with another prefix have no effect.
    pub run: String,
    /// The bins, in an order that does not change during a run.
    pub bins: Vec<Bin>,
}

/// A part of all users who always share a member.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Bin {
    /// The member that now has the bin.
    pub member: String,
    /// The weight of the bin, in units of the rollout's total.
    pub weight: u32,
}

impl Affinity {
    /// The sum of its bins, for each member.
    pub fn weights(&self) -> Distribution {
        let mut weights = Distribution::new();
        self.bins.iter().for_each(|bin| weights.add(bin.member.as_str(), bin.weight));
        weights
    }

    /// The members that have bins, each once.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        self.bins.iter().map(|bin| bin.member.as_str()).collect::<BTreeSet<_>>().into_iter()
    }

    /// Every bin with the header `Set-Cookie` that assigns a user to it.
    pub fn cookies(&self) -> impl Iterator<Item = (&Bin, String)> {
        let age = self.max_age.as_millis() / 1000;
        let cookie =
            move |number| format!("{}{number}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax", self.beginning());
        self.bins.iter().enumerate().map(move |(number, bin)| (bin, cookie(number)))
    }

    /// The name of the cookie and the prefix of its value.
    pub fn beginning(&self) -> String {
        format!("{}={}-", self.cookie_name, self.run)
    }

    /// A regular expression for the values of the member's cookies, without anchors.
    pub fn values(&self, member: &str) -> String {
        let numbered = self.bins.iter().enumerate().filter(|(_, bin)| bin.member == member);
        let numbers: Vec<String> = numbered.map(|(number, _)| number.to_string()).collect();
        format!("{}-({})", self.run, numbers.join("|"))
    }
}
