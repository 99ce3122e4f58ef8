//! Which reasons worlds like these can give.

use cutover::api::Reason;

/// Reasons that the core gives in worlds like these; the others belong to the shell, to members or to other inputs.
#[expect(clippy::too_many_lines, reason = "one line a reason")]
pub fn is_reachable_here(reason: Reason) -> bool {
    use Reason::{
        Aborted, AddressNotAllowed, Adopted, AdoptionNeedsMapping, AnalysisChanged, ApiServerAnswers,
        ApiServerUnreachable, AtTarget, BackendNotReady, Baking, CannotCarryWeights, ChecksFailed, ChecksPass,
        ClusterIdentityChanged, ClusterRegisteredTwice, Confirming, Conflict, CredentialsExpireSoon, CredentialsGood,
        CredentialsRefused, Deleting, DependencyCycle, DependencyFailed, DependencyMissing, EndpointDown,
        EndpointUnreachable, EndpointsAnswer, FailureHeld, ForeignEditPutBack, ForeignEditsRepeat, GuardBreached,
        Initializing, InvalidSpec, KeepingPrevious, KubeconfigRefused, ManagedByOther, MemberHealthy, MemberInUse,
        MemberNotDeclared, MemberNotFound, MemberNotReady, MetricsAnswer, MetricsUnknown, MetricsUnreachable,
        NamespaceNotAllowed, NewTarget, NoFitMember, NoKubeconfig, NotConfirmed, OldTargetDeclared, Other,
        OwnedByOtherHub, PausedByForeignEdit, PausedByRequest, PausedBySpec, PrimaryDiffers, PrimaryFailsToo,
        PrimaryUnknown, ProgressDeadlineExceeded, PromotingServices, ProviderNotInstalled, Rehearsing, Releasing,
        RequestApplied, RollbackRequested, RollbackTargetUnavailable, RouteDrifted, RouteNotAccepted, RouteNotFound,
        RouteRejected, RouteUnreadable, RunSucceeded, SecretNotFound, ServiceNotFound, Settling, Skewed,
        StatusBehindRoute, Suspended, TemplateNotFound, TooFewSamples, TookOver, UnexpectedResponse, UnknownLimit,
        WaitingForDependency, WaitingForPromotion, WaitingForTime, WeightNotObserved, WindowClosed,
    };
    match reason {
        AtTarget
        | Deleting
        | Releasing
        | Rehearsing
        | Confirming
        | Settling
        | Baking
        | WaitingForPromotion
        | WaitingForTime
        | KeepingPrevious
        | RunSucceeded
        | NewTarget
        | PausedBySpec
        | PausedByRequest
        | PausedByForeignEdit
        | Suspended
        | Aborted
        | RollbackRequested
        | OldTargetDeclared
        | ChecksPass
        | ChecksFailed
        | GuardBreached
        | EndpointDown
        | PrimaryFailsToo
        | MetricsUnknown
        | TooFewSamples
        | UnknownLimit
        | Skewed
        | NotConfirmed
        | RouteRejected
        | RollbackTargetUnavailable
        | MemberNotReady
        | BackendNotReady
        | ClusterIdentityChanged
        | ForeignEditPutBack
        | ForeignEditsRepeat
        | RouteDrifted
        | InvalidSpec
        | PrimaryDiffers
        | StatusBehindRoute
        | Adopted
        | TookOver => true,
        Initializing
        | AnalysisChanged
        | TemplateNotFound
        | WindowClosed
        | WaitingForDependency
        | DependencyMissing
        | DependencyFailed
        | DependencyCycle
        | WeightNotObserved
        | ProgressDeadlineExceeded
        | FailureHeld
        | RouteNotAccepted
        | NoFitMember
        | PrimaryUnknown
        | AdoptionNeedsMapping
        | MemberNotDeclared
        | MemberNotFound
        | NamespaceNotAllowed
        | RouteNotFound
        | ProviderNotInstalled
        | RouteUnreadable
        | ManagedByOther
        | Conflict
        | OwnedByOtherHub
        | CannotCarryWeights
        | RequestApplied
        | MemberHealthy
        | ApiServerAnswers
        | ApiServerUnreachable
        | UnexpectedResponse
        | NoKubeconfig
        | SecretNotFound
        | KubeconfigRefused
        | CredentialsRefused
        | CredentialsExpireSoon
        | CredentialsGood
        | AddressNotAllowed
        | EndpointsAnswer
        | EndpointUnreachable
        | MetricsAnswer
        | MetricsUnreachable
        | ClusterRegisteredTwice
        | MemberInUse
        | PromotingServices
        | ServiceNotFound
        | Other => false,
    }
}
