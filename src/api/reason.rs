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
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                    Self::Other => "Other",
                }
            }

            /// One sentence on what it means, from its documentation.
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
    /// The declared distribution is the primary; there is nothing to do.
    AtTarget,
    /// The primary distribution is being read from the live routes.
    Initializing,
    /// The rollout is being deleted.
    Deleting,
    /// The rollout is being deleted; its routes are on the primary and are being released.
    Releasing,

    // In a run.
    /// The first write of every route is tried as a server-side dry run.
    Rehearsing,
    /// A write waits until every route confirms it.
    Confirming,
    /// Samples are ignored until the data plane has settled.
    Settling,
    /// The step's weights bake: they must hold for a time with passing checks.
    Baking,
    /// The step waits for `cutover promote`.
    WaitingForPromotion,
    /// The step's `wait` is not over yet.
    WaitingForTime,
    /// The next step waits for a window of `strategy.windows` that is open long enough.
    WindowClosed,
    /// A hook has not said yes yet.
    WaitingForHook,
    /// A hook of type `Skip` said yes: the change is promoted without steps and checks.
    AnalysisSkipped,
    /// A rollout of `dependsOn` has not reached its declared target yet.
    WaitingForDependency,
    /// The last step is over; until `keepPrevious` ends, checks continue and a rollback is possible.
    KeepingPrevious,
    /// The last step is over; the declared distribution is the primary.
    RunSucceeded,
    /// A new distribution was declared, or a Service changed, during the run.
    NewTarget,
    /// A ConfigMap or Secret that `track` selects changed during the run: the analysis begins again from the primary.
    ConfigChanged,
    /// The Services that passed are being copied to the primary, and traffic goes back to it.
    PromotingServices,
    /// The analysis, or a template that it uses, changed during the run.
    AnalysisChanged,

    // Requested by a person.
    /// `spec.paused` is true.
    PausedBySpec,
    /// A person requested a pause.
    PausedByRequest,
    /// Somebody lowered a canary on a live route, so the run is paused.
    PausedByForeignEdit,
    /// `spec.suspend` is true: nothing is written.
    Suspended,
    /// A person aborted the run.
    Aborted,
    /// A person requested the rollback.
    RollbackRequested,
    /// A hook of type `Rollback` said yes.
    RollbackByHook,
    /// The old primary, or the last promoted Services, was declared again.
    OldTargetDeclared,

    // Verdicts.
    /// All checks pass.
    ChecksPass,
    /// No metric is declared: only the endpoint probes and the time judge.
    NothingMeasured,
    /// Failed checks reached the limit.
    ChecksFailed,
    /// One check was beyond a `guard`.
    GuardBreached,
    /// A canary's endpoint failed three probes in a row while a primary member's answered, or its Service is gone.
    EndpointDown,
    /// The primary members fail as well, so the canary is not the cause.
    PrimaryFailsToo,
    /// Metrics of a member are missing, stale or unusable.
    MetricsUnknown,
    /// Too few requests were counted for a verdict: fewer than `minSamples` of all canaries together, or none of one of them.
    TooFewSamples,
    /// The observed share of traffic is not the desired one.
    WeightNotObserved,
    /// Unknown checks reached their limit.
    UnknownLimit,
    /// A hook said no: a check by `Rollout` or `PreRollout` failed, or what was called after a run did not work.
    HookFailed,
    /// Nobody answered a call of a hook.
    HookUnanswered,
    /// The run took longer than `progressDeadline`.
    ProgressDeadlineExceeded,

    // Holds.
    /// Failed checks reached the limit, and `onFailure` is Hold.
    FailureHeld,
    /// An increase was not confirmed on every route and was taken back.
    Skewed,
    /// A write was not confirmed within a minute.
    NotConfirmed,
    /// The API server refused the write of a route.
    RouteRejected,
    /// The data plane refused the route.
    RouteNotAccepted,
    /// A member that the rollback target needs is unavailable.
    RollbackTargetUnavailable,
    /// A gaining member has not answered its probes yet.
    MemberNotReady,
    /// A backend does not exist or does not resolve yet.
    BackendNotReady,
    /// ConfigMaps and Secrets that `track` selects cannot be read.
    ConfigsUnknown,
    /// A copy that `track.primaryCopies` keeps for the primary is not what passed last yet.
    ConfigCopiesNotReady,
    /// A member's cluster or endpoint has changed since it was measured.
    ClusterIdentityChanged,
    /// A canary was raised on a live route three times within an hour.
    ForeignEditsRepeat,
    /// Somebody raised a canary on a live route; the edit was reverted.
    ForeignEditPutBack,
    /// Outside a run, also after one that failed, a live route differs from the last write.
    RouteDrifted,
    /// A rollout of `dependsOn` does not exist.
    DependencyMissing,
    /// A rollout of `dependsOn` was rolled back and needs a retry or a new target.
    DependencyFailed,
    /// Rollouts wait for each other through `dependsOn`.
    DependencyCycle,

    // Before a run.
    /// The spec breaks a rule; the message names field, value and remedy.
    InvalidSpec,
    /// The primary distribution cannot be read from a route; set `initialWeight`.
    PrimaryUnknown,
    /// A live route has a backend that belongs to no member.
    AdoptionNeedsMapping,
    /// The routes show different distributions, or one that was declared later does not show the primary.
    PrimaryDiffers,
    /// A member carries traffic but is not declared.
    MemberNotDeclared,
    /// Service mode: the user's Service, which declares the canary, does not exist.
    ServiceNotFound,
    /// A named `MemberCluster` does not exist, or cannot be read.
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
    /// Another applier, such as a GitOps tool, owns the route's weights.
    ManagedByOther,
    /// Another rollout owns the route, the service or a backend.
    Conflict,
    /// Another hub wrote the route.
    OwnedByOtherHub,
    /// The route is newer than this status: a backup was restored, or another rollout wrote it.
    StatusBehindRoute,
    /// This combination cannot carry weights.
    CannotCarryWeights,

    // Answers to requests.
    /// The live distribution was taken as the primary.
    Adopted,
    /// Another instance of the hub took over.
    TookOver,

    // Members.
    /// All conditions of the member are good.
    MemberHealthy,
    /// The API server answers.
    ApiServerAnswers,
    /// The API server does not answer.
    ApiServerUnreachable,
    /// The API server's answer could not be parsed.
    UnexpectedResponse,
    /// The member has no kubeconfig; it is only measured.
    NoKubeconfig,
    /// A Secret or its key does not exist, or the Secret lacks the label that says what it is for.
    SecretNotFound,
    /// A Secret is not for this use, or not for this host.
    SecretNotAllowed,
    /// The kubeconfig has a field that is not allowed.
    KubeconfigRefused,
    /// The credentials were refused.
    CredentialsRefused,
    /// The token expires within two days and was not renewed in time, or a certificate expires within 14 days.
    CredentialsExpireSoon,
    /// The credentials are valid.
    CredentialsGood,
    /// The hub may not call this address.
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
