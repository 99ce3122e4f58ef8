//! What a user can say and read: the custom resources, and the names that cutover puts on objects.
//!
//! Types here never deny unknown fields: an older hub must read newer objects.

pub mod affinity;
pub mod alert;
pub mod alert_provider;
pub mod analysis;
pub mod approval;
pub mod copy;
pub mod crd;
pub mod distribution;
pub mod duration;
pub mod fingerprint;
pub mod hook;
pub mod http_settings;
pub mod istio;
pub mod matches;
pub mod member;
pub mod mesh_backend;
pub mod metric_template;
pub mod name;
pub mod number;
pub mod progress;
pub mod reason;
pub mod request;
pub mod rollout;
pub mod secret;
pub mod service;
pub mod split;
pub mod status;
pub mod steering;
pub mod strategy;
pub mod template;
mod text;
pub mod track;
pub mod window;

pub use affinity::{Affinity, SessionAffinity};
pub use alert::{Alert, Severity};
pub use alert_provider::{AlertProvider, AlertProviderSpec};
pub use analysis::{Analysis, Metric};
pub use copy::ServiceCopy;
pub use distribution::Distribution;
pub use duration::Duration;
pub use matches::{Matched, RequestMatch};
pub use member::{MemberCluster, MemberClusterSpec, MemberClusterStatus};
pub use metric_template::{MetricTemplate, MetricTemplateSpec};
pub use progress::Progress;
pub use reason::Reason;
pub use request::{RolloutRequest, RolloutRequestSpec, Verb};
pub use rollout::{DeletionPolicy, FleetRollout, FleetRolloutSpec, MemberWeight, Mode};
pub use secret::{HOSTS_ANNOTATION, PURPOSE_LABEL, Purpose};
pub use service::{Backend, Route, ServiceSpec};
pub use split::Split;
pub use status::{FleetRolloutStatus, Phase};
pub use steering::{Mirror, Mirrored, Steering};
pub use strategy::Strategy;
pub use window::Window;

/// In service mode: what carries the last Services that passed.
pub const PRIMARY: &str = "primary";
/// In service mode: what is being proven.
pub const CANARY: &str = "canary";

/// API group of every kind of cutover.
pub const GROUP: &str = "cutover.dev";
/// Finalizer on fleet rollouts and member clusters.
pub const FINALIZER: &str = "cutover.dev/finalizer";
/// On a route: who wrote the weights last, one mark a rollout.
pub const WRITE_ANNOTATION: &str = "cutover.dev/write";
/// On an adopted route: what its rules held before the first write, for `deletionPolicy: Revert`.
pub const ORIGINAL_ANNOTATION: &str = "cutover.dev/original";
/// On a route: which requests reach canaries whatever the weights, one entry a rollout.
pub const STEERING_ANNOTATION: &str = "cutover.dev/steering";
/// On a route: where users are kept, one entry a rollout.
pub const AFFINITY_ANNOTATION: &str = "cutover.dev/session-affinity";
/// On a Service that is switched in service mode: whether it stands for the primary or the canary, and by what content.
pub const SLOT_ANNOTATION: &str = "cutover.dev/slot";
/// On a backend that the hub made: the uid of its rollout.
pub const ROLLOUT_LABEL: &str = "cutover.dev/rollout-uid";
/// In service mode, on the Services of primary and canary: the spec that the hub gave them. A cluster puts the labels of a Service
/// on its `EndpointSlice`s, so there it says for which spec the addresses were chosen.
pub const SPEC_HASH_LABEL: &str = "cutover.dev/spec-hash";
/// On a backend that the hub made: the member it leads to.
pub const MEMBER_LABEL: &str = "cutover.dev/member";
/// The Lease that the acting hub process holds, whatever namespace it is installed in.
pub const HUB_LEASE: &str = "cutover-hub";
/// Namespace of the hub's Lease: one that every cluster has.
pub const HUB_LEASE_NAMESPACE: &str = "kube-system";
/// Field manager of every write that the hub makes.
pub const FIELD_MANAGER: &str = "cutover";
/// Field manager of `cutover abort --direct`, by which the hub names it.
pub const DIRECT_FIELD_MANAGER: &str = "cutover-direct";
