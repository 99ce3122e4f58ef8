//! Alerts: which transitions of a rollout are announced where.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Phase, Reason, Verb, name};

/// The most alerts of one rollout.
pub const MOST: usize = 16;

/// Sends transitions of a rollout, from a severity on, to an `AlertProvider`. docs/alerts.md says what is sent, and when.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Alert {
    /// Its name in status and log.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: String,
    /// The least severity that is sent.
    #[serde(default)]
    pub severity: Severity,
    /// Where it is sent.
    pub provider_ref: ProviderRef,
}

/// An `AlertProvider` of the rollout's namespace.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ProviderRef {
    /// Name of an `AlertProvider` of the rollout's namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub name: String,
}

/// How much attention a transition needs.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// All goes as declared: a run begins, a step is reached, a run has succeeded.
    #[default]
    Info,
    /// Somebody should look: the rollout is held, or waits for a promotion.
    Warn,
    /// A run failed: checks roll it back.
    Error,
}

impl Severity {
    /// The word in a status.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "Info",
            Self::Warn => "Warn",
            Self::Error => "Error",
        }
    }
}

/// The alerts of a rollout: what is still to be sent, recorded together with what it announces.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct AlertsStatus {
    /// Number of the last alert; it only rises.
    #[serde(default)]
    pub last: u64,
    /// Alerts that are still to be sent, oldest first; at most sixteen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingAlert>,
    /// How many were dropped because sixteen newer ones waited.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// While the rollout is held: since when, and how often that was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<AlertedHold>,
    /// The last step for whose promotion somebody was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<AlertedWait>,
    /// Alerts whose last delivery failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<FailingAlert>,
}

/// One alert that is still to be sent. Whatever happens, it is sent with the same idempotency key.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PendingAlert {
    /// Its number.
    pub number: u64,
    /// When it happened.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// How much attention it needs.
    pub severity: Severity,
    /// What it is about.
    pub about: About,
    /// The phase of the rollout then.
    pub phase: Phase,
    /// The reason.
    pub reason: Reason,
    /// What happened, in one sentence.
    pub message: String,
    /// The run; 0 before any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub run: u64,
    /// Step and steps: `2/4`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
    /// The desired weights: `eu-1:75 eu-3:25`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub weights: String,
    /// The verbs that a person can use then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verbs: Vec<Verb>,
    /// Of a hold: since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// Of a hold that goes on: when it is repeated at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
    /// Names of the alerts of the spec that still have to send it.
    pub to: Vec<String>,
}

/// What an alert is about.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Something happened.
    Transition,
    /// The rollout is held since then.
    Hold,
    /// It is still held.
    Reminder,
    /// It is not held any more.
    HoldEnd,
}

/// A hold that was announced.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct AlertedHold {
    /// Since when.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// Why.
    pub reason: Reason,
    /// How much attention it needs.
    pub severity: Severity,
    /// It is not announced yet, for metrics may be back in a moment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    /// How often it was repeated: after 15 minutes, 1 hour, 4 hours, and then every day.
    #[serde(default)]
    pub repeated: u32,
}

/// A step whose wait for a promotion was announced.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct AlertedWait {
    /// The run.
    pub run: u64,
    /// The step, from 1.
    pub step: u32,
}

/// An alert whose last delivery failed; it is tried again.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct FailingAlert {
    /// Name of the alert.
    pub name: String,
    /// Since when.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// How the first delivery failed, without a word of the answer.
    pub message: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
