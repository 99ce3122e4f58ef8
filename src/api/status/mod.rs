//! What the hub records of a rollout: the machine's whole state, and what people read.

mod check;
mod history;
mod run;
mod state;

use jiff::Timestamp;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::{Check, MemberValue, MetricCheck, Verdict};
pub use history::{HISTORY, Outcome, RunRecord};
pub use run::{Pinned, PlannedStep, Promoted, Run, Stop};
pub use state::{Bake, Preparing, Promoting, RollingBack, RunState, Soaking, StateKind, Stepping};

use std::collections::BTreeMap;

use super::{Distribution, ServiceCopy, Split, request::RequestState};

/// The status of a fleet rollout.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct FleetRolloutStatus {
    /// The generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// For people's eyes only.
    #[serde(default)]
    pub phase: Phase,
    /// Why.
    #[serde(default)]
    pub reason: super::Reason,
    /// What is waited for, in one sentence.
    #[serde(default)]
    pub message: String,
    /// Since when phase and reason are what they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// What the columns of `kubectl get` show.
    #[serde(default)]
    pub summary: Summary,
    /// The last known good distribution; absent until initialization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<Distribution>,
    /// Service mode: the Services that passed last; absent until initialization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted: Option<Promoted>,
    /// The life of a hub process that acts on this rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Sequence of the last decision that writes routes; it only rises.
    #[serde(default)]
    pub sequence: u64,
    /// What the routes should show; absent until the hub writes a route for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Desired>,
    /// What each route was last seen to show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteStatus>,
    /// The live run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// Service mode, between runs: the Services of the canary, where they are not those that passed last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub canary: BTreeMap<String, ServiceCopy>,
    /// The revision that failed last and is not tried again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_revision: Option<String>,
    /// Runs that ended, newest last; at most ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<RunRecord>,
    /// Answers given to requests, newest last; at most sixteen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// What happened, newest last; at most sixteen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<Transition>,
    /// Number of the last transition that was announced as an event.
    #[serde(default)]
    pub announced: u64,
    /// While the rollout is being deleted: since when routes and backends are given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub releasing_since: Option<Timestamp>,
    /// Accepted, Applied, Progressing, Stalled, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
}

impl FleetRolloutStatus {
    /// The number of the live run, or of the last one; 0 before any.
    #[must_use]
    pub fn last_run(&self) -> u64 {
        let ended = self.history.last().map_or(0, |record| record.number);
        self.run.as_ref().map_or(ended, |run| run.number)
    }
}

/// Where a rollout is, for people.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The primary is not known yet.
    #[default]
    Initializing,
    /// The primary is known; no run yet.
    Initialized,
    /// A run moves forward.
    Progressing,
    /// A step waits for a person.
    WaitingPromotion,
    /// Nothing advances and no person asked for that.
    Held,
    /// Nothing advances because a person asked for that.
    Paused,
    /// All steps are done; rollback stays possible.
    Soaking,
    /// The Services that passed are copied to the primary, and traffic goes back to it.
    Promoting,
    /// The declared distribution is the primary.
    Succeeded,
    /// Rolled back by a verdict.
    Failed,
    /// Rolled back by a person.
    RolledBack,
    /// The rollout is being deleted.
    Terminating,
}

/// What the columns show.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Summary {
    /// `2/4`.
    pub step: String,
    /// `eu-1:75 eu-3:25`.
    pub weights: String,
    /// Pass, Fail or Unknown.
    pub verdict: String,
}

/// What the routes should show, and since when.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Desired {
    /// Weights, steering and affinity, projected on the members that can serve.
    pub split: Split,
    /// The decision that desired it.
    pub sequence: u64,
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// When every route confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub confirmed_at: Option<Timestamp>,
}

/// What one route was last seen to show.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RouteStatus {
    /// The service whose weights it holds.
    pub service: String,
    /// Kind and name, such as `HTTPRoute/public`.
    pub route: String,
    /// The weights that it was confirmed to hold.
    pub applied: Distribution,
    /// Sequence of the confirmed write.
    pub sequence: u64,
    /// When it was confirmed.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

/// The answer to one request, recorded before it is given.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Uid of the request.
    pub uid: String,
    /// The answer.
    pub state: RequestState,
    /// Why, in one sentence.
    pub reason: String,
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

/// Something that happened, announced as an event.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// Counts the transitions of this rollout, from 1.
    pub number: u64,
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Somebody should look.
    pub warning: bool,
    /// What.
    pub reason: super::Reason,
    /// In one sentence.
    pub message: String,
}

/// A condition as Kubernetes knows it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 64))]
    pub type_: String,
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// Why.
    pub reason: super::Reason,
    /// In one sentence.
    pub message: String,
    /// When the status last changed.
    #[schemars(with = "String")]
    pub last_transition_time: Timestamp,
    /// The generation that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// True, False or Unknown.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Not known.
    Unknown,
}
