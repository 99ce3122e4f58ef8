//! What a step tries its canaries with beside their weights.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::matches::{Matched, in_words};

/// The percentage that means every request.
pub const ALL_REQUESTS: u32 = 100;

/// What reaches canaries beside their weight; exactly one key.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Steering {
    /// Requests that match go to the canaries, which answer them.
    Matched(Matched),
    /// Copies of requests go to the canaries; their answers are dropped.
    Mirrored(Mirrored),
}

/// Mirrored requests.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Mirrored {
    /// The members that get a copy each.
    pub members: Vec<String>,
    /// Percentage of all requests that is copied.
    pub percent: u32,
}

/// Mirroring as a step declares it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Mirror {
    /// Percentage of requests to copy. Default: 100.
    #[serde(default = "all_requests")]
    #[schemars(range(min = 1, max = 100))]
    pub percent: u32,
}

const fn all_requests() -> u32 {
    ALL_REQUESTS
}

impl Steering {
    /// The matched requests, if any.
    pub const fn matched(&self) -> Option<&Matched> {
        match self {
            Self::Matched(matched) => Some(matched),
            Self::Mirrored(_) => None,
        }
    }

    /// The mirrored requests, if any.
    pub const fn mirrored(&self) -> Option<&Mirrored> {
        match self {
            Self::Mirrored(mirrored) => Some(mirrored),
            Self::Matched(_) => None,
        }
    }

    /// The members that get matched or mirrored requests.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        let matched = self.matched().into_iter().flat_map(|matched| matched.weights.carrying());
        let mirrored = self.mirrored().into_iter().flat_map(|mirrored| &mirrored.members);
        matched.map(|(member, _)| member).chain(mirrored.map(String::as_str))
    }
}

/// The requests, without their members: `header user-agent: pc`, `copies of all requests`.
impl fmt::Display for Steering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matched(matched) => f.write_str(&in_words(&matched.matches)),
            Self::Mirrored(Mirrored { percent: ALL_REQUESTS, .. }) => f.write_str("copies of all requests"),
            Self::Mirrored(Mirrored { percent, .. }) => write!(f, "copies of {percent}% of all requests"),
        }
    }
}
