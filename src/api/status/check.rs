//! What the checks of a run said.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::Reason;

/// One round of analysis and what is remembered of the rounds before it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The worst verdict of all services and metrics.
    pub verdict: Verdict,
    /// Why that verdict.
    pub reason: Reason,
    /// In one sentence, with numbers.
    pub message: String,
    /// How many checks in a row were Unknown.
    #[serde(default)]
    pub unknown_in_a_row: u32,
    /// Since when the verdict is what it is.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// When every metric of every service last passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub passed_at: Option<Timestamp>,
    /// The sequence of the weights that this check judged.
    pub sequence: u64,
    /// Each service and metric.
    pub metrics: Vec<MetricCheck>,
    /// Share that each member received in the window, in percent, by service; not known while requests are mirrored.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub observed: BTreeMap<String, BTreeMap<String, f64>>,
}

/// The judgement of one metric of one service.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MetricCheck {
    /// The service.
    pub service: String,
    /// The metric.
    pub metric: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// In one sentence, with numbers.
    pub message: String,
    /// All canary members together, in the unit of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Requests behind the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<f64>,
    /// The last Pass (P) and Fail (F) verdicts, newest last.
    #[serde(default)]
    pub recent: String,
    /// Each measured member by itself.
    pub members: Vec<MemberValue>,
}

/// What one member's metric showed.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MemberValue {
    /// The member.
    pub member: String,
    /// It is judged; else it is a primary member, measured beside it.
    pub canary: bool,
    /// The value, in the unit of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Requests behind the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<f64>,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// What a check says; worse ones order after better ones.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Within every limit, on enough requests.
    Pass,
    /// Not known; neither success nor failure.
    Unknown,
    /// Beyond a limit.
    Fail,
}
