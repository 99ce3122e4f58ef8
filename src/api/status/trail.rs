//! What happened in a run: how its weights moved, and what people requested.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::api::{Distribution, Verb};

/// Moves that a run keeps, the newest ones.
pub const MOVES: usize = 16;
/// Requests that a run keeps, the newest ones.
pub const REQUESTS: usize = 8;

/// Weights that a run desired, until the next move.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// When that was decided.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The step that it belongs to, or from which the run goes back.
    pub step: u32,
    /// The weights.
    pub weights: Distribution,
    /// The last verdict on them; absent where no whole check was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// A request of a person that took effect.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Requested {
    /// When it took effect.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// What was requested.
    pub verb: Verb,
    /// Who did.
    pub by: String,
    /// The reason that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
