//! What the hub records of a rollout: the machine's whole state, and what people read.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Distribution, Duration, Progress, ServiceCopy, ServiceSpec, Strategy, Trial, request::RequestState, strategy::Wait,
};

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
    /// The last known good distribution; absent until first sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<Distribution>,
    /// Service mode: the Services that passed last; absent until first sight.
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
    pub asked: Option<Asked>,
    /// What each route was last seen to show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteStatus>,
    /// The present run, or the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
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
    /// Accepted, Applied, Progressing, Stalled, Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
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
    /// All steps are done; the way back stays open.
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
pub struct Asked {
    /// The weights, projected on the members that can serve.
    pub weights: Distribution,
    /// The requests that reach canaries whatever the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// The decision that asked for it.
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

/// One attempt to reach a distribution.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Counts the runs of this rollout, from 1.
    pub number: u64,
    /// What this run is about: the declared weights and services.
    pub revision: String,
    /// The generation that declared it.
    pub generation: i64,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// Where it began.
    pub start: Distribution,
    /// Where a rollback goes.
    pub way_back: Distribution,
    /// Where it ends.
    pub target: Distribution,
    /// What was declared when it began.
    pub pinned: Pinned,
    /// Every step with its weights.
    pub plan: Vec<PlannedStep>,
    /// Service mode: the Services that are being proven.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub services: BTreeMap<String, ServiceCopy>,
    /// Service mode: since when the primary gets the Services that passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub promoting_since: Option<Timestamp>,
    /// Which cluster and endpoint each member was when the run began.
    #[serde(default)]
    pub identities: BTreeMap<String, String>,
    /// The present step, from 1; 0 before the first.
    #[serde(default)]
    pub step: u32,
    /// Time that the present weights held with passing checks.
    #[serde(default)]
    pub baked: Duration,
    /// Checks in a row that passed at the present weights, an Unknown aside.
    #[serde(default)]
    pub passes: u32,
    /// Up to when `baked` is accounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub baked_until: Option<Timestamp>,
    /// Since when only the present step's wait, or the soak, stood in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub waiting_since: Option<Timestamp>,
    /// The steps whose wait a person opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promoted: Vec<u32>,
    /// A pause that a person asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Stop>,
    /// A hold that only retry, abort or rollback end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Stop>,
    /// The rollback, once it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retreat: Option<Retreat>,
    /// All steps are done and the way back stays open, since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub soaking_since: Option<Timestamp>,
    /// Time in which nothing but checks stood in the way, against `progressDeadline`.
    #[serde(default)]
    pub deadline_used: Duration,
    /// Members that cannot serve: `EndpointDown`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dead: Vec<String>,
    /// The last check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// Names the analysis of the last check, with what its templates said then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<String>,
    /// Times at which a raised canary was put back; the last hour's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub put_back: Vec<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

impl Run {
    /// A step of the plan by its number, from 1.
    #[must_use]
    pub fn step_at(&self, number: u32) -> Option<&PlannedStep> {
        self.plan.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// What was proven at the present weights counts no more.
    pub fn forget_evidence(&mut self) {
        (self.baked, self.passes) = (Duration::ZERO, 0);
    }

    /// The present step; none before the first.
    #[must_use]
    pub fn present(&self) -> Option<&PlannedStep> {
        self.step_at(self.step)
    }

    /// The step after the present one; none after the last.
    #[must_use]
    pub fn next(&self) -> Option<&PlannedStep> {
        self.step_at(self.step.saturating_add(1))
    }
}

/// The Services that passed last, by name: what the primary is.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Promoted {
    /// Their revision.
    pub revision: String,
    /// Each of them.
    pub services: BTreeMap<String, ServiceCopy>,
}

/// What was declared when a run began; later edits start another run.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Pinned {
    /// The services.
    pub services: Vec<ServiceSpec>,
    /// The strategy.
    pub strategy: Strategy,
    /// What all weights sum to.
    pub weight_total: u32,
}

/// One step of a plan.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PlannedStep {
    /// Name of its stage; empty where stages are not declared.
    pub stage: String,
    /// How far the stage has moved; nothing where the step leaves the weights as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// Weight of every member.
    pub weights: Distribution,
    /// The requests that reach the stage's gaining members whatever the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// Checks that must pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Time that the weights must hold with passing checks.
    pub bake: Duration,
    /// What is waited for after the bake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Service mode: traffic goes back to the primary, which has become what passed. Nothing is left to prove.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub promotes: bool,
}

/// Something that stops advances: a pause or a hold.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// Why.
    pub reason: super::Reason,
    /// In one sentence, with who and what.
    pub message: String,
    /// Since when.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

impl Stop {
    /// Whether it is the pause after somebody lowered a canary by hand: it holds the weights where they are.
    #[must_use]
    pub fn is_by_foreign_edit(&self) -> bool {
        self.reason == super::Reason::PausedByForeignEdit
    }
}

/// A rollback that was decided.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Retreat {
    /// Why.
    pub reason: super::Reason,
    /// In one sentence, with numbers or names.
    pub message: String,
    /// When it was decided.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// A person decided it, not a verdict.
    pub by_person: bool,
}

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
    pub reason: super::Reason,
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
    pub received: BTreeMap<String, BTreeMap<String, f64>>,
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
    pub reason: super::Reason,
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
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    /// Its number.
    pub number: u64,
    /// Its revision.
    pub revision: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: super::Reason,
    /// In one sentence.
    pub message: String,
    /// When it began.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// When it ended.
    #[schemars(with = "String")]
    pub ended_at: Timestamp,
    /// The distribution that it left behind.
    pub weights: Distribution,
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
