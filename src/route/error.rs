//! What can be wrong with a route.

use thiserror::Error;

use crate::api::{Distribution, Reason};
use crate::rollout::input::Problem;

/// Why a route cannot be read or written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RouteError {
    /// The object to adopt is not there.
    #[error("{0} does not exist: correct the name, or say `create`")]
    NotFound(String),
    /// It is marked for deletion; the finalizers that it waits for are other tools'.
    #[error(
        "{0} is being deleted and nothing is written to it any more: make it anew when it is gone, or take it out of spec.services[].routes"
    )]
    Terminating(String),
    /// The object says something that is no distribution.
    #[error("{0}")]
    Unreadable(String),
    /// Its weights are no whole units of the total.
    #[error("{message}")]
    Uneven {
        /// What is wrong, and what would help.
        message: String,
        /// The whole units that come nearest; empty where nothing has any weight.
        nearly: Distribution,
    },
    /// Part of the traffic has no route; only a kind with several objects can show this.
    #[error("{0}")]
    Uncovered(String),
    /// A backend with traffic belongs to no member.
    #[error(
        "{object}: backend {backend} carries traffic but belongs to no member: name it under spec.services[].backend.<kind>.existing, as member: {backend}"
    )]
    NeedsMapping {
        /// The route.
        object: String,
        /// The backend.
        backend: String,
    },
    /// Service mode: a backend with traffic is neither the primary nor the canary.
    #[error(
        "{object}: backend {backend} carries traffic but is neither primary nor canary: lead it to {primary}, which the hub has made"
    )]
    NotPrimaryOrCanary {
        /// The route.
        object: String,
        /// The backend.
        backend: String,
        /// The backend of the primary.
        primary: String,
    },
    /// A backend is named as one of a member's, but the member is not declared.
    #[error(
        "{object}: member {member} carries traffic but is not declared: add it to spec.members; say weight: 0 if it shall leave"
    )]
    NotDeclared {
        /// The route.
        object: String,
        /// The member.
        member: String,
    },
    /// The rules of one route show different distributions.
    #[error("{0}")]
    Differs(String),
    /// The object was not made by this rollout.
    #[error("{object} {owner}: remove it, rename the service, or adopt the object by its name instead of `create`")]
    Conflict {
        /// The object.
        object: String,
        /// Whose it is.
        owner: String,
    },
    /// Another tool applies the weights.
    #[error(
        "{field} of {object} is applied by {manager}, which would undo every step: stop applying it there (Flux: annotation kustomize.toolkit.fluxcd.io/reconcile: disabled; \
         Argo CD: ignoreDifferences with RespectIgnoreDifferences), remove {manager} from its metadata.managedFields, or say `create`"
    )]
    ManagedByOther {
        /// The object.
        object: String,
        /// The field with the weights.
        field: String,
        /// The other applier.
        manager: String,
    },
    /// The route cannot express what is desired.
    #[error("{0}")]
    CannotCarry(String),
}

impl RouteError {
    /// The reason under which a person meets it.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self {
            Self::NotFound(_) | Self::Terminating(_) => Reason::RouteNotFound,
            Self::Unreadable(_) | Self::Uneven { .. } | Self::Uncovered(_) => Reason::RouteUnreadable,
            Self::NeedsMapping { .. } | Self::NotPrimaryOrCanary { .. } => Reason::AdoptionNeedsMapping,
            Self::NotDeclared { .. } => Reason::MemberNotDeclared,
            Self::Differs(_) => Reason::PrimaryDiffers,
            Self::Conflict { .. } => Reason::Conflict,
            Self::ManagedByOther { .. } => Reason::ManagedByOther,
            Self::CannotCarry(_) => Reason::CannotCarryWeights,
        }
    }
}

impl From<RouteError> for Problem {
    fn from(error: RouteError) -> Self {
        Self::new(error.reason(), error.to_string())
    }
}
