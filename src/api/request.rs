//! `RolloutRequest`: a verb as an object, so that verbs have RBAC of their own and leave a record.

use std::fmt;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name;

/// A request of a person to one run of one rollout; applied at most once.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "cutover.dev",
    version = "v1alpha1",
    kind = "RolloutRequest",
    doc = "One request of a person to one run of one rollout; applied once.",
    plural = "rolloutrequests",
    namespaced,
    shortname = "rr",
    category = "cutover",
    status = "RolloutRequestStatus",
    printcolumn(name = "Rollout", type_ = "string", json_path = ".spec.rollout.name"),
    printcolumn(name = "Verb", type_ = "string", json_path = ".spec.verb"),
    printcolumn(name = "By", type_ = "string", json_path = ".spec.requestedBy"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self == oldSelf").message("spec: a request cannot be changed; create a new one"))]
pub struct RolloutRequestSpec {
    /// The rollout that the request is for.
    pub rollout: RolloutRef,
    /// The requested verb.
    pub verb: Verb,
    /// Number of the run that the request is for; 0 before the first.
    #[schemars(range(min = 0))]
    pub run: u64,
    /// The step that the request is for, from 1; only for `Promote`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub step: Option<u32>,
    /// The write whose checks the person looked at (`status.desired.sequence`); only for `Promote`, and required where the step has
    /// `approval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub sequence: Option<u64>,
    /// The reason, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub reason: Option<String>,
    /// The requesting user; an admission policy binds it to the authenticated user.
    #[schemars(length(min = 1, max = 253))]
    pub requested_by: String,
}

/// A rollout, by name and uid, so that a request never applies to a later one of the same name.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RolloutRef {
    /// Name, in the request's namespace.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::SUBDOMAIN))]
    pub name: String,
    /// UID of the rollout.
    #[schemars(length(min = 1, max = 64))]
    pub uid: String,
}

/// What a person can request of a rollout.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// End the run and send traffic back now; overrides all other requests.
    Abort,
    /// Send traffic back to the last good distribution; also after success, while `keepPrevious` lasts.
    Rollback,
    /// Stop advancing; checks and rollback stay active.
    Pause,
    /// End a pause.
    Resume,
    /// Approve a step; it goes on once bake and checks are done.
    Promote,
    /// Try a failed or held run again; where somebody edited a route outside a run, write that again instead.
    Retry,
    /// Take the live distribution as the primary.
    Adopt,
}

/// The answer to a request.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RolloutRequestStatus {
    /// The state; absent until the hub has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<RequestState>,
    /// The reason, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub at: Option<jiff::Timestamp>,
}

/// The answer to a request.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestState {
    /// It took effect.
    Applied,
    /// It cannot take effect; the reason says why.
    Refused,
    /// It came too late.
    Expired,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
