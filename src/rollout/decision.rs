//! What a decision says: the new status, what to do, and when to look again.

use jiff::Timestamp;

use super::input::{HookCall, RouteKey};
use crate::api::{DeletionPolicy, FleetRolloutStatus, Split, status::Answer, track::Configs};

/// The answer of [`super::decide`].
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The status to record. Where it differs from the one that was read it is written first; if that fails, nothing is done.
    pub status: FleetRolloutStatus,
    /// What to do then, in this order. Doing it twice is harmless.
    pub actions: Vec<Action>,
    /// Hooks to call, once the status is recorded. A call that is under way is not repeated here.
    pub hooks: Vec<HookCall>,
    /// When to look again even if nothing happens.
    pub wake: Option<Timestamp>,
}

/// Backends that are given back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backends {
    /// All that this rollout made: it is being deleted.
    All,
    /// Those of members that it does not name any more.
    Left,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Put the finalizer on the rollout.
    AddFinalizer,
    /// Make or change the backend of one service and member.
    WriteBackend {
        /// The service.
        service: String,
        /// The member.
        member: String,
    },
    /// Try a route's write as a server-side dry run, and remember the result.
    Rehearse {
        /// The route.
        route: RouteKey,
        /// What to try.
        split: Split,
    },
    /// Bring a route to this split and leave the mark of this sequence.
    WriteRoute {
        /// The route.
        route: RouteKey,
        /// The desired split.
        split: Split,
        /// The run, for the mark.
        run: u64,
        /// The decision, for the mark.
        sequence: u64,
    },
    /// Give a route back: the mark goes; with `Revert`, adopted rules get what they held before and created routes go.
    ReleaseRoute {
        /// The route.
        route: RouteKey,
        /// How.
        policy: DeletionPolicy,
    },
    /// Give backends back: without owner and mark (`Retain`), or remove those that the hub made and no route names (`Revert`).
    ReleaseBackends {
        /// How.
        policy: DeletionPolicy,
        /// Which of them.
        which: Backends,
    },
    /// Make the primary's copies of these ConfigMaps and Secrets of a service what they were when they passed.
    WriteConfigCopies {
        /// The service.
        service: String,
        /// What passed. An original that is something else by now is not copied.
        configs: Configs,
    },
    /// Take the rollout out of the owners of its copies, so that they outlive it.
    ReleaseConfigCopies,
    /// Write a request's answer.
    AnswerRequest {
        /// Name of the request.
        name: String,
        /// The answer.
        answer: Answer,
    },
    /// Take the finalizer off; the last thing.
    RemoveFinalizer,
}
