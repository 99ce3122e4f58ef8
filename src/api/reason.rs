//! Every reason that a person can meet in a status, an event or an answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// Why something is as it is; one list for conditions, events, answers and documentation.
        #[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($(#[doc = $doc])+ $name,)+
            /// A reason that a newer hub wrote.
            #[default]
            #[serde(other)]
            Other,
        }

        impl Reason {
            /// All of them, for documentation and tests.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The name as it stands in a status.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                    Self::Other => "Other",
                }
            }

            /// One sentence on what it means, from its documentation.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($doc,)+).trim_ascii(),)+
                    Self::Other => "A reason that a newer hub wrote.",
                }
            }
        }
    };
}

reasons! {
    // At rest.
    /// The declared distribution is the primary; nothing is to be done.
    AtTarget,
    /// The primary distribution is being read from the live routes.
    Initializing,
    /// The rollout is being deleted.
    Deleting,
    /// The rollout is being deleted; its routes are on the primary and are given back.
    Releasing,

    // Under way.
    /// Every route's first write is tried as a server-side dry run.
    Rehearsing,
    /// A write is waiting for every route's confirmation.
    Confirming,
    /// Samples are ignored until the data plane has settled.
    Settling,
    /// The weights must hold with passing checks.
    Baking,
    /// The step waits for `cutover promote`.
    WaitingForPromotion,
    /// The step waits for its time.
    WaitingForTime,
    /// The next step waits until a window of `strategy.windows` is open long enough.
    WindowClosed,
    /// A rollout of `dependsOn` has not come to rest with what it declares.
    WaitingForDependency,
    /// The new distribution carries all its traffic; rollback stays possible.
    KeepingPrevious,
    /// The last step passed; the declared distribution is the primary.
    RunSucceeded,
    /// A new distribution was declared, or a Service changed, while the run went on.
    NewTarget,
    /// The Services that passed are copied to the primary, and traffic goes back to it.
    PromotingServices,
    /// The analysis, or a template that it uses, was changed while the run went on.
    AnalysisChanged,

    // A person's doing.
    /// `spec.paused` is true.
    PausedBySpec,
    /// A person asked for a pause.
    PausedByRequest,
    /// Somebody lowered a canary on a live route; that is obeyed.
    PausedByForeignEdit,
    /// `spec.suspend` is true: nothing is written.
    Suspended,
    /// A person aborted the run.
    Aborted,
    /// A person asked for the rollback.
    RollbackRequested,
    /// The old primary, or the Services that passed last, was declared again.
    OldTargetDeclared,

    // Verdicts.
    /// Every check passes.
    ChecksPass,
    /// Failed checks reached the limit.
    ChecksFailed,
    /// One check was beyond a guard.
    GuardBreached,
    /// A canary's endpoint did not answer three probes in a row while a primary's did.
    EndpointDown,
    /// The primary members fail as well: a shared incident, not the canary's.
    PrimaryFailsToo,
    /// Metrics of a member are missing, stale or unusable.
    MetricsUnknown,
    /// Too few requests were counted to judge.
    TooFewSamples,
    /// The share that members received is not the one asked for.
    WeightNotObserved,
    /// Unknown checks reached their limit.
    UnknownLimit,
    /// The run took longer than `progressDeadline`.
    ProgressDeadlineExceeded,

    // Holds.
    /// A check failed and `onFailure` is Hold.
    FailureHeld,
    /// An increase was not confirmed on every route and was taken back.
    Skewed,
    /// A write is not confirmed after a minute.
    NotConfirmed,
    /// A route's write was refused.
    RouteRejected,
    /// The data plane refused the route.
    RouteNotAccepted,
    /// A member that the rollback target needs is unavailable.
    RollbackTargetUnavailable,
    /// No member that can serve is left to take the weight.
    NoFitMember,
    /// A gaining member has no good probe yet.
    MemberNotReady,
    /// A backend does not exist or does not resolve yet.
    BackendNotReady,
    /// A member's cluster or endpoint is not the one that the evidence is about.
    ClusterIdentityChanged,
    /// A canary was raised on a live route three times within an hour.
    ForeignEditsRepeat,
    /// Somebody raised a canary on a live route; it was put back.
    ForeignEditPutBack,
    /// A live route differs from what was written last, outside a run.
    RouteDrifted,
    /// A rollout of `dependsOn` does not exist.
    DependencyMissing,
    /// A rollout of `dependsOn` was rolled back and is not tried again by itself.
    DependencyFailed,
    /// Rollouts wait for each other through `dependsOn`.
    DependencyCycle,

    // What must be right before a run.
    /// The spec breaks a rule; the message names field, value and remedy.
    InvalidSpec,
    /// The primary distribution cannot be known; give `initialWeight`.
    PrimaryUnknown,
    /// A live route has a backend that belongs to no member.
    AdoptionNeedsMapping,
    /// The routes show different distributions.
    PrimaryDiffers,
    /// A member carries traffic but is not declared.
    MemberNotDeclared,
    /// Service mode: the Service that says what the canary shall be does not exist.
    ServiceNotFound,
    /// A named `MemberCluster` does not exist.
    MemberNotFound,
    /// A `MetricTemplate` that a metric names does not exist.
    TemplateNotFound,
    /// A member does not allow rollouts of this namespace.
    NamespaceNotAllowed,
    /// The route does not exist.
    RouteNotFound,
    /// The route's kind is not installed in the hub cluster.
    ProviderNotInstalled,
    /// The route cannot be read as a distribution.
    RouteUnreadable,
    /// The route's weights belong to another applier.
    ManagedByOther,
    /// Another rollout owns the route, the service or a backend.
    Conflict,
    /// Another hub wrote the route.
    OwnedByOtherHub,
    /// The route is newer than this status: a backup was restored, or the rollout is another one.
    StatusBehindRoute,
    /// This combination cannot carry weights.
    CannotCarryWeights,

    // Answers to requests.
    /// The request took effect.
    RequestApplied,
    /// The live distribution was taken as the primary.
    Adopted,
    /// Another process of the hub took over.
    TookOver,

    // Members.
    /// Everything that is known of the member is good.
    MemberHealthy,
    /// The API server answers.
    ApiServerAnswers,
    /// The API server does not answer.
    ApiServerUnreachable,
    /// The API server's answer could not be understood.
    UnexpectedResponse,
    /// The member has no kubeconfig; it is only measured.
    NoKubeconfig,
    /// The kubeconfig's Secret or key does not exist.
    SecretNotFound,
    /// The kubeconfig has a field that is not allowed.
    KubeconfigRefused,
    /// The credentials were refused.
    CredentialsRefused,
    /// The credentials expire within 14 days.
    CredentialsExpireSoon,
    /// The credentials are good.
    CredentialsGood,
    /// The address is not one that the hub may call.
    AddressNotAllowed,
    /// Every endpoint answers.
    EndpointsAnswer,
    /// An endpoint does not answer.
    EndpointUnreachable,
    /// Prometheus answers.
    MetricsAnswer,
    /// Prometheus does not answer.
    MetricsUnreachable,
    /// The same cluster is registered twice.
    ClusterRegisteredTwice,
    /// The member is being deleted, but a distribution still uses it.
    MemberInUse,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
