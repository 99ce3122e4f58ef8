//! `FleetRollout`: the distribution of traffic that a fleet should have, and how to get there.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Analysis, ServiceSpec, Strategy,
    alert::{self, Alert},
    hook::{self, Hook},
    name,
    status::FleetRolloutStatus,
};

/// Moves the traffic of one or several services, in lockstep, from the present members to the declared distribution.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "cutover.dev",
    version = "v1alpha1",
    kind = "FleetRollout",
    doc = "Moves one or many services, in lockstep, from the members that carry them now to the declared distribution.",
    plural = "fleetrollouts",
    namespaced,
    shortname = "fr",
    category = "cutover",
    status = "FleetRolloutStatus",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Step", type_ = "string", json_path = ".status.summary.step"),
    printcolumn(name = "Weights", type_ = "string", json_path = ".status.summary.weights"),
    printcolumn(name = "Verdict", type_ = "string", json_path = ".status.summary.verdict"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("size(self.metadata.name) <= 63").message("metadata.name: at most 63 characters")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.members) == has(oldSelf.members)")
        .message("spec.members: the mode of a rollout cannot change; delete it and create another one"),
    validation = Rule::new("!has(self.members) || self.members.map(m, m.weight).sum() == self.weightTotal")
        .message("spec.members: the weights must sum to weightTotal"),
    validation = Rule::new("!has(self.members) || !self.members.exists(m, has(m.initialWeight)) || self.members.map(m, has(m.initialWeight) ? m.initialWeight : 0).sum() == self.weightTotal")
        .message("spec.members: the initial weights must sum to weightTotal"),
    validation = Rule::new("self.services.all(s, has(self.members) ? self.members.all(m, size(s.name) + size(m.name) <= 62) : size(s.name) <= 55)")
        .message("spec.services: service and member name together at most 62 characters"),
    validation = Rule::new("!has(self.strategy.ramp) || !has(self.strategy.ramp.matches) || self.services.all(s, !has(s.backend.externalName))")
        .message("spec.strategy.ramp: matches changes the primary while it has traffic; use backends of kind clusterIP"),
    validation = Rule::new("has(self.members) || self.strategy.steps.all(s, !has(s.approval) || !has(s.approval.notAuthor) || !s.approval.notAuthor)")
        .message("spec.strategy.steps: approval.notAuthor belongs to a rollout with members"),
    validation = Rule::new("!has(self.members) || self.services.all(s, !has(s.track) || !has(s.track.primaryCopies) || !s.track.primaryCopies)")
        .message("spec.services: track.primaryCopies belongs to service mode, a rollout without members"),
    validation = Rule::new("!has(self.members) || !has(self.strategy.stages) || self.strategy.stages.all(s, s.members.all(n, self.members.exists(m, m.name == n)))")
        .message("spec.strategy.stages: every member must be listed in spec.members")
)]
pub struct FleetRolloutSpec {
    /// The services that clients call. All of them move together, with one plan and one verdict.
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub services: Vec<ServiceSpec>,
    /// The sum of all weights; 1000 or 10000 allow finer shares.
    #[serde(default = "default_total")]
    #[schemars(range(min = 1, max = 10000))]
    pub weight_total: u32,
    /// The desired distribution. A member that now carries traffic and is to lose all of it has weight 0. Omit it for
    /// service mode, in which a change of a Service itself begins a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub members: Vec<MemberWeight>,
    /// How traffic moves: stages, steps and windows.
    #[serde(default)]
    pub strategy: Strategy,
    /// Metrics and limits that every step must pass.
    pub analysis: Analysis,
    /// Service mode: promote a changed Service at once, without steps and checks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_analysis: bool,
    /// Where transitions are announced, beside Kubernetes events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = alert::MOST))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub alerts: Vec<Alert>,
    /// Other rollouts of this namespace. A run begins, and a step raises a canary, only while each of them is Ready
    /// with its present declaration. A rollback does not wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub depends_on: Vec<Dependency>,
    /// HTTP requests at certain moments of a run, whose answers open gates, fail checks or roll back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = hook::MOST))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub hooks: Vec<Hook>,
    /// If true, the rollout does not advance; checks and rollback stay active.
    #[serde(default)]
    pub paused: bool,
    /// If true, the hub writes nothing at all, not even a rollback.
    #[serde(default)]
    pub suspend: bool,
    /// What happens to the routes when this object is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

/// What a rollout moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Traffic between members.
    Member,
    /// Traffic from the last promoted Services to the changed ones.
    Service,
}

impl FleetRolloutSpec {
    /// Whether it declares members.
    pub fn mode(&self) -> Mode {
        if self.members.is_empty() { Mode::Service } else { Mode::Member }
    }
}

/// Another rollout that must be complete.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// Name of a `FleetRollout` of the same namespace.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::SUBDOMAIN))]
    pub name: String,
}

/// The weight of one member in the distribution.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct MemberWeight {
    /// Name of a `MemberCluster`.
    #[schemars(length(min = 1, max = 61), regex(pattern = name::LABEL))]
    pub name: String,
    /// The desired weight.
    #[schemars(range(min = 0, max = 10000))]
    pub weight: u32,
    /// The weight before the first run; needed only if no live route shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub initial_weight: Option<u32>,
}

/// What happens to the routes when the rollout is deleted.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// Routes keep the last known good distribution and their backends.
    #[default]
    Retain,
    /// Adopted routes are restored; what the hub created is removed, routes first.
    Revert,
}

const fn default_total() -> u32 {
    100
}
