//! What the hub records of a rollout: the machine's whole state, and what people read.

mod check;
mod history;
mod run;
mod state;
mod trail;

use jiff::Timestamp;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::{Check, MemberValue, MetricCheck, Verdict};
pub use history::{HISTORY, Outcome, RunRecord};
pub use run::{Pinned, PlannedStep, Promoted, Run, Stop};
pub use state::{Bake, Preparing, Promoting, RollingBack, RunState, Soaking, Stepping};
pub use trail::{MOVES, Move, REQUESTS, Requested};

use std::collections::BTreeMap;

use super::{
    Distribution, ServiceCopy, Split,
    alert::AlertsStatus,
    hook::{Delivered, PostRollout},
    request::RequestState,
};

/// The observed state of a rollout.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct FleetRolloutStatus {
    /// The generation that this status refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The phase, for people; no decision reads it.
    #[serde(default)]
    pub phase: Phase,
    /// The reason.
    #[serde(default)]
    pub reason: super::Reason,
    /// One sentence that says what the rollout waits for.
    #[serde(default)]
    pub message: String,
    /// Time since which phase and reason are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// The columns of `kubectl get`.
    #[serde(default)]
    pub summary: Summary,
    /// The last known good distribution; absent until initialization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<Distribution>,
    /// Service mode: the last promoted Services; absent until initialization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted: Option<Promoted>,
    /// The instance of the hub that acts on this rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Sequence number of the last decision to write routes; it only rises.
    #[serde(default)]
    pub sequence: u64,
    /// The desired weights of the routes; absent until the hub first writes a route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Desired>,
    /// The weights that each route was last observed to show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteStatus>,
    /// The marks of other hubs and rollouts that `cutover adopt` took over: their writers are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adopted: Vec<AdoptedMark>,
    /// The live run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// Service mode, between runs: the Services of the canary, where they are not those that passed last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub canary: BTreeMap<String, ServiceCopy>,
    /// The revision that failed last, which is not tried again automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_revision: Option<String>,
    /// Runs that ended, newest last; at most ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<RunRecord>,
    /// The answers to requests, newest last; at most sixteen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answer>,
    /// Past transitions, newest last; at most sixteen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<Transition>,
    /// Number of the last transition that was published as an event.
    #[serde(default)]
    pub announced: u64,
    /// Hooks of type `PostRollout` that are still to be called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub post_rollout: Vec<PostRollout>,
    /// How far hooks of type `Event` have come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delivered: Vec<Delivered>,
    /// Alerts that are still to be sent; absent where none was ever declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alerts: Option<AlertsStatus>,
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
    /// What is recorded of a route of a service.
    pub fn route(&self, service: &str, route: &str) -> Option<&RouteStatus> {
        self.routes.iter().find(|known| known.service == service && known.route == route)
    }

    /// The number of the live run, or of the last one; 0 before any.
    pub fn last_run(&self) -> u64 {
        let ended = self.history.last().map_or(0, |record| record.number);
        self.run.as_ref().map_or(ended, |run| run.number)
    }
}

/// The phase of a rollout, for people.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The primary is not known yet.
    #[default]
    Initializing,
    /// The primary is known; no run yet.
    Initialized,
    /// A run advances.
    Progressing,
    /// A step waits for `cutover promote`.
    WaitingPromotion,
    /// Nothing advances, and no person requested that.
    Held,
    /// Nothing advances, because a person requested that.
    Paused,
    /// All steps are done; a rollback is still possible.
    Soaking,
    /// The Services that passed are being copied to the primary, and traffic goes back to it.
    Promoting,
    /// Service mode: the primary is what passed and gets all traffic back; every route is still to confirm it.
    Finalizing,
    /// The declared distribution is the primary.
    Succeeded,
    /// Rolled back by a verdict.
    Failed,
    /// Rolled back by a person.
    RolledBack,
    /// The rollout is being deleted.
    Terminating,
}

/// The columns of `kubectl get`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Summary {
    /// `2/4`.
    pub step: String,
    /// `eu-1:75 eu-3:25`.
    pub weights: String,
    /// Pass, Fail, Unknown, or NotMeasured where no metric is declared.
    pub verdict: String,
}

/// The desired weights, and since when.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Desired {
    /// Weights, steering and affinity, projected on the members that can serve.
    pub split: Split,
    /// Sequence number of the decision.
    pub sequence: u64,
    /// Time of the decision.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Time at which every route had confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub confirmed_at: Option<Timestamp>,
}

/// The weights that one route was last observed to show.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RouteStatus {
    /// The service whose weights it holds.
    pub service: String,
    /// Kind and name, such as `HTTPRoute/public`.
    pub route: String,
    /// The applied weights, which the route has confirmed.
    pub applied: Distribution,
    /// Sequence number of the confirmed write.
    pub sequence: u64,
    /// Time of the confirmation.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

/// The last write of another hub or rollout to a route.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct AdoptedMark {
    /// UID of the hub cluster's namespace kube-system.
    pub hub: String,
    /// UID of the rollout.
    pub rollout: String,
    /// Sequence number of the write. A later one means that its writer is alive.
    pub sequence: u64,
}

/// The answer to one request, recorded here before it is written to the request.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// UID of the request.
    pub uid: String,
    /// The answer.
    pub state: RequestState,
    /// The reason, in one sentence.
    pub reason: String,
    /// Time of the answer.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

/// A transition of the rollout, published as an event.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// Number of the transition, from 1.
    pub number: u64,
    /// Time of the transition.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Whether it needs attention.
    pub warning: bool,
    /// The reason.
    pub reason: super::Reason,
    /// One sentence.
    pub message: String,
}

/// A condition of the Kubernetes API.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 64))]
    pub type_: String,
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// The reason.
    pub reason: super::Reason,
    /// One sentence.
    pub message: String,
    /// Time of the last change of the status.
    #[schemars(with = "String")]
    pub last_transition_time: Timestamp,
    /// The generation that the condition refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// True, False or Unknown.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// Not known.
    Unknown,
}
