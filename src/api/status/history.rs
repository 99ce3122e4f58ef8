//! Runs that ended.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Check, MetricCheck, Move, Requested};
use crate::api::{Distribution, Reason};

/// Runs of which a status keeps the record.
pub const HISTORY: usize = 10;

/// How a run ended.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The target is the primary.
    Succeeded,
    /// Rolled back by a verdict.
    Failed,
    /// Rolled back by a person.
    RolledBack,
    /// Another run took its place.
    Superseded,
}

/// A run that ended.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// Its number.
    pub number: u64,
    /// Its revision.
    pub revision: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// In one sentence.
    pub message: String,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// Who began it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_by: Option<String>,
    /// When it ended.
    #[schemars(with = "String")]
    pub ended_at: Timestamp,
    /// Who ended it; absent where checks did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// The step that it had reached; 0 before the first.
    #[serde(default)]
    pub step: u32,
    /// The steps of its plan.
    #[serde(default)]
    pub steps: u32,
    /// The distribution that it left behind.
    pub weights: Distribution,
    /// Its last check: whole in the newest record, with the metric that decided alone in older ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// How its weights moved, newest last; at most sixteen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<Move>,
    /// What people requested of it, newest last; at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Requested>,
}

impl RunRecord {
    /// The metric that decided the last check: member, value and limit stand in its message and values.
    pub fn decisive(&self) -> Option<&MetricCheck> {
        let check = self.check.as_ref()?;
        check.metrics.iter().find(|metric| metric.verdict == check.verdict && metric.reason == check.reason)
    }

    /// Leaves of the last check what decided it.
    pub fn shorten(&mut self) {
        let decisive = self.decisive().cloned();
        if let Some(check) = &mut self.check {
            check.metrics = decisive.into_iter().collect();
            check.observed.clear();
        }
    }
}
