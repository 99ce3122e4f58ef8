//! What the checks of a run said.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::Reason;

/// The last round of analysis, and a summary of the rounds before it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Time of the check.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The worst verdict of all services and metrics.
    pub verdict: Verdict,
    /// The reason of the verdict.
    pub reason: Reason,
    /// One sentence, with numbers.
    pub message: String,
    /// Number of Unknown checks in a row.
    #[serde(default)]
    pub unknown_in_a_row: u32,
    /// Time since which the verdict is the same.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// Time at which every metric of every service last passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub passed_at: Option<Timestamp>,
    /// Sequence of the write whose weights this check judged.
    pub sequence: u64,
    /// The verdict on each service and metric.
    pub metrics: Vec<MetricCheck>,
    /// The observed share of each member in the window, in percent, by service; absent while requests are mirrored.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub observed: BTreeMap<String, BTreeMap<String, f64>>,
}

/// The verdict on one metric of one service.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MetricCheck {
    /// The service.
    pub service: String,
    /// The metric.
    pub metric: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason.
    pub reason: Reason,
    /// One sentence, with numbers.
    pub message: String,
    /// The value over all canary members together, in the unit of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The number of requests behind the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<f64>,
    /// The last Pass (P) and Fail (F) verdicts, newest last.
    #[serde(default)]
    pub recent: String,
    /// The value of each measured member.
    pub members: Vec<MemberValue>,
}

/// The value of a metric at one member.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MemberValue {
    /// The member.
    pub member: String,
    /// Whether it is a canary, and judged; otherwise it is a primary member, measured for comparison.
    pub canary: bool,
    /// The value, in the unit of the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The number of requests behind the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<f64>,
    /// The reason why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The verdict of a check, ordered from best to worst.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// All values are within their limits, on enough requests.
    Pass,
    /// Not known: neither success nor failure.
    Unknown,
    /// A value is beyond a limit.
    Fail,
}
