//! `FleetRollout`: the distribution of traffic that a fleet should have, and how to get there.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Analysis, ServiceSpec, Strategy, status::FleetRolloutStatus};

/// Moves one or many services, in lockstep, from the members that carry them now to the declared distribution.
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
        .message("spec.members: a rollout keeps its mode; delete it and make another one"),
    validation = Rule::new("!has(self.members) || self.members.map(m, m.weight).sum() == self.weightTotal")
        .message("spec.members: the weights must sum to weightTotal"),
    validation = Rule::new("!has(self.members) || !self.members.exists(m, has(m.initialWeight)) || self.members.map(m, has(m.initialWeight) ? m.initialWeight : 0).sum() == self.weightTotal")
        .message("spec.members: the initial weights must sum to weightTotal"),
    validation = Rule::new("self.services.all(s, has(self.members) ? self.members.all(m, size(s.name) + size(m.name) <= 62) : size(s.name) <= 55)")
        .message("spec.services: service and member name together at most 62 characters"),
    validation = Rule::new("!has(self.members) || !has(self.strategy.stages) || self.strategy.stages.all(s, s.members.all(n, self.members.exists(m, m.name == n)))")
        .message("spec.strategy.stages: every member must be listed in spec.members")
)]
pub struct FleetRolloutSpec {
    /// What clients call. All services move together: one plan, one verdict.
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub services: Vec<ServiceSpec>,
    /// What all weights sum to; 1000 or 10000 allow finer shares.
    #[serde(default = "default_total")]
    #[schemars(range(min = 1, max = 10000))]
    pub weight_total: u32,
    /// The distribution to reach. A member that carries traffic now and shall leave is listed with weight 0. Left out:
    /// service mode, in which a change of the Services themselves is what is proven.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub members: Vec<MemberWeight>,
    /// How to get there.
    #[serde(default)]
    pub strategy: Strategy,
    /// What must hold on the way.
    pub analysis: Analysis,
    /// Service mode: promote a changed Service at once, without steps and checks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_analysis: bool,
    /// Other rollouts of this namespace. A run begins, and a step raises a canary, only while each of them is Ready with
    /// what it declares now. A rollback waits for nobody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub depends_on: Vec<Dependency>,
    /// No advance while true; checks and rollback go on.
    #[serde(default)]
    pub paused: bool,
    /// While true the hub writes nothing at all, rollback included.
    #[serde(default)]
    pub suspend: bool,
    /// What becomes of the routes when this object is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

/// What a rollout moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Traffic between members.
    Member,
    /// Traffic from the last Services that passed to the changed ones.
    Service,
}

impl FleetRolloutSpec {
    /// Whether it declares members.
    #[must_use]
    pub fn mode(&self) -> Mode {
        if self.members.is_empty() { Mode::Service } else { Mode::Member }
    }
}

/// Another rollout that must have come to rest.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    /// Name of a `FleetRollout` of the same namespace.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
}

/// One member's place in the distribution.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct MemberWeight {
    /// Name of a `MemberCluster`.
    #[schemars(length(min = 1, max = 61), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Its weight at the end.
    #[schemars(range(min = 0, max = 10000))]
    pub weight: u32,
    /// Its weight before the first run; needed only where no live route tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub initial_weight: Option<u32>,
}

/// What becomes of the routes when the rollout is deleted.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// Routes stay on the last known good distribution, with their backends.
    #[default]
    Retain,
    /// Adopted routes are put back as they were; what the hub made is removed, routes first.
    Revert,
}

const fn default_total() -> u32 {
    100
}
