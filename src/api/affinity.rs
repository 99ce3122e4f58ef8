//! Session affinity: users stay with the member that answered them first.

use std::collections::BTreeSet;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, Duration};

/// What a strategy declares of it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SessionAffinity {
    /// Name of the cookie that the data plane gives to users during a run; no application behind the routes may use it.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"))]
    pub cookie_name: String,
    /// How long a browser keeps the cookie; default: 24h.
    #[serde(default = "a_day")]
    pub max_age: Duration,
}

const fn a_day() -> Duration {
    Duration::from_secs(86_400)
}

/// Where users are kept while a step stands.
///
/// Who has no cookie yet is sent to a bin, each as likely as its weight, and gets the bin's cookie; who has one goes to the
/// member that has the bin now.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Affinity {
    /// Name of the cookie.
    pub cookie_name: String,
    /// How long a browser keeps it.
    pub max_age: Duration,
    /// What the values of the run's cookies begin with: those of other runs say nothing.
    pub run: String,
    /// The bins, in one order for the whole run.
    pub bins: Vec<Bin>,
}

/// A part of all users who are always sent to the same member.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Bin {
    /// The member that has it now.
    pub member: String,
    /// Its part of the rollout's total.
    pub weight: u32,
}

impl Affinity {
    /// What each member has in its bins.
    #[must_use]
    pub fn weights(&self) -> Distribution {
        let mut weights = Distribution::new();
        self.bins.iter().for_each(|bin| weights.add(bin.member.as_str(), bin.weight));
        weights
    }

    /// The members that have bins, each once.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        self.bins.iter().map(|bin| bin.member.as_str()).collect::<BTreeSet<_>>().into_iter()
    }

    /// Every bin, with the value of the header `Set-Cookie` that gives its cookie.
    pub fn cookies(&self) -> impl Iterator<Item = (&Bin, String)> {
        let age = self.max_age.as_millis() / 1000;
        let cookie =
            move |number| format!("{}{number}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax", self.beginning());
        self.bins.iter().enumerate().map(move |(number, bin)| (bin, cookie(number)))
    }

    /// How the cookie of every bin begins, with its name.
    #[must_use]
    pub fn beginning(&self) -> String {
        format!("{}={}-", self.cookie_name, self.run)
    }

    /// A regular expression for the values of the member's cookies, without anchors.
    #[must_use]
    pub fn values(&self, member: &str) -> String {
        let numbered = self.bins.iter().enumerate().filter(|(_, bin)| bin.member == member);
        let numbers: Vec<String> = numbered.map(|(number, _)| number.to_string()).collect();
        format!("{}-({})", self.run, numbers.join("|"))
    }
}
