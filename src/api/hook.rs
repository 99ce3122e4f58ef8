//! Hooks: HTTP requests around a rollout, whose answers open gates, fail checks or roll back.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, member::SecretKeyRef, name, status::Verdict};

/// Most hooks of a rollout.
pub const MOST: usize = 16;
/// Most entries of a hook's `metadata`.
pub const METADATA: usize = 32;

/// An HTTP POST to a URL at certain moments of a run. Status 200, 201 or 202 means yes, every other status no; bodies are not
/// read. docs/hooks.md says what is sent, and when.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.timeout) || (duration(self.timeout) >= duration('100ms') && duration(self.timeout) <= duration('5m'))")
        .message("timeout: from 100ms to 5m"),
    validation = Rule::new("!has(self.caBundle) || self.url.startsWith('https://')").message("caBundle belongs to an https url")
)]
pub struct Hook {
    /// Its name in status, events and the request.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: String,
    /// When it is called, and what its answer does.
    #[serde(rename = "type")]
    pub kind: HookType,
    /// An `http` or `https` URL without user, query or fragment. The hub refuses its own addresses, those of its machine and
    /// of its cluster's Services unless its `--allow-addresses` names them.
    #[schemars(length(min = 1, max = 2048), regex(pattern = "^https?://[^/?#@\\s]+(/[^?#\\s]*)?$"))]
    pub url: String,
    /// Maximum duration of one try.
    #[serde(default = "ten_seconds")]
    pub timeout: Duration,
    /// Further tries of one call, with the same idempotency key, where nobody answers or the status is 429 or 5xx.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = 5))]
    pub retries: u32,
    /// Text that is sent along.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = METADATA, "additionalProperties" = {"type": "string", "maxLength": 1024}))]
    pub metadata: BTreeMap<String, String>,
    /// Certificates to trust, PEM. Default: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32768))]
    pub ca_bundle: Option<String>,
    /// The key of an HMAC-SHA256 signature of time and body, in a Secret of the rollout's namespace with the label
    /// `cutover.dev/purpose: hook`. The hub needs the role of `config/rbac/hub-hooks.yaml`. Default: no signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_key_secret_ref: Option<SecretKeyRef>,
}

/// When a hook is called, and what its answer does.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookType {
    /// Before a run moves anything, again at every interval until it says yes. A run that it does not confirm does not begin.
    ConfirmRollout,
    /// Service mode: once when a run is confirmed. A yes promotes the change at once, as `skipAnalysis` does; after a no, and
    /// where nobody answers, it is analysed.
    Skip,
    /// Once a run is confirmed, before its first step, again at every interval until it says yes. As many times no as
    /// `failures.limit` fail the run.
    PreRollout,
    /// At every interval while a step is proven. The step is left only after a yes at its weights; a no counts like a failed
    /// check of a metric, no answer like an Unknown one.
    Rollout,
    /// Before each step that raises a canary, again at every interval until it says yes.
    ConfirmTrafficIncrease,
    /// After the last step, before what passed becomes the primary, again at every interval until it says yes. Checks go on.
    ConfirmPromotion,
    /// Once when a run has ended, however it ended, unless another run took its place. Its answer is only reported.
    PostRollout,
    /// At every interval while a step is proven. A yes rolls back.
    Rollback,
    /// For every transition of the rollout, in order. Its answer is only reported.
    Event,
}

impl Hook {
    /// Who takes its calls: scheme, host and port of the URL.
    #[must_use]
    pub fn receiver(&self) -> &str {
        let host = self.url.find("://").map_or(0, |at| at + "://".len());
        let end = self.url[host..].find('/').map_or(self.url.len(), |slash| host + slash);
        &self.url[..end]
    }
}

impl HookType {
    /// Whether it is a gate that opens with a yes, and for which a no is no failure.
    #[must_use]
    pub const fn confirms(self) -> bool {
        match self {
            Self::ConfirmRollout | Self::ConfirmTrafficIncrease | Self::ConfirmPromotion => true,
            Self::Skip | Self::PreRollout | Self::Rollout | Self::PostRollout | Self::Rollback | Self::Event => false,
        }
    }
}

/// What a hook of type `Skip`, `PreRollout` or `Rollout` answered last in a run.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct HookRecord {
    /// Name of the hook.
    pub name: String,
    /// Sequence number of the weights at which it was called.
    pub sequence: u64,
    /// Pass for yes, Fail for no, Unknown where nobody answered.
    pub verdict: Verdict,
    /// In words.
    pub message: String,
    /// The last verdicts, newest last: `PPFP`. Unknown takes no place.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub recent: String,
    /// How many times in a row nobody answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_in_a_row: u32,
    /// When it answered.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

/// A hook of type `PostRollout` that is still to be called.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PostRollout {
    /// Name of the hook.
    pub name: String,
    /// The run that ended.
    pub run: u64,
}

/// How far a hook of type `Event` has come.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Delivered {
    /// Name of the hook.
    pub name: String,
    /// Number of the last transition that it was sent.
    pub transition: u64,
}

const fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}
