//! What a step tries its canaries with beside their weights.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::matches::{Matched, in_words};

/// The percentage that means every request.
pub const ALL_REQUESTS: u32 = 100;

/// Requests that reach canaries whatever the weights; exactly one key.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Steering {
    /// Those that match go to the canaries, and are answered by them.
    Matched(Matched),
    /// Copies go to the canaries, and nobody waits for what they answer.
    Mirrored(Mirrored),
}

/// Copies of users' requests.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Mirrored {
    /// The members that get them; each gets its own copy.
    pub members: Vec<String>,
    /// Part of all requests that is copied.
    pub percent: u32,
}

/// What a step declares of its copies.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Mirror {
    /// Part of all requests that is copied; default: 100, which is every request.
    #[serde(default = "all_requests")]
    #[schemars(range(min = 1, max = 100))]
    pub percent: u32,
}

const fn all_requests() -> u32 {
    ALL_REQUESTS
}

impl Steering {
    /// The requests that go to canaries, where it is those that match.
    #[must_use]
    pub const fn matched(&self) -> Option<&Matched> {
        match self {
            Self::Matched(matched) => Some(matched),
            Self::Mirrored(_) => None,
        }
    }

    /// The copies, where it is copies.
    #[must_use]
    pub const fn mirrored(&self) -> Option<&Mirrored> {
        match self {
            Self::Mirrored(mirrored) => Some(mirrored),
            Self::Matched(_) => None,
        }
    }

    /// The members that get such requests.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        let matched = self.matched().into_iter().flat_map(|matched| matched.weights.carrying());
        let mirrored = self.mirrored().into_iter().flat_map(|mirrored| &mirrored.members);
        matched.map(|(member, _)| member).chain(mirrored.map(String::as_str))
    }
}

/// Which requests, without who gets them: `header user-agent: pc`, `copies of all requests`.
impl fmt::Display for Steering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matched(matched) => f.write_str(&in_words(&matched.matches)),
            Self::Mirrored(Mirrored { percent: ALL_REQUESTS, .. }) => f.write_str("copies of all requests"),
            Self::Mirrored(Mirrored { percent, .. }) => write!(f, "copies of {percent}% of all requests"),
        }
    }
}
