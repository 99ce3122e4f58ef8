//! The state of a rollout after a pass, and what that means for its routes.

use super::input::Problem;
use crate::api::{Phase, Reason};

/// Where a rollout stands after a pass, and why: what people read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) phase: Phase,
    pub(super) reason: Reason,
    pub(super) message: String,
}

/// What a decision does to the routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// Every route is brought to the desired split.
    WriteDesired,
    /// No route is written, for this reason.
    WriteNothing(Reason),
}

impl Standing {
    pub(super) fn new(phase: Phase, reason: Reason, message: impl Into<String>) -> Self {
        Self { phase, reason, message: message.into() }
    }

    pub(super) fn held(problem: Problem) -> Self {
        Self::new(Phase::Held, problem.reason, problem.message)
    }

    pub(super) fn initializing(problem: Problem) -> Self {
        Self::new(Phase::Initializing, problem.reason, problem.message)
    }

    pub(super) fn progressing(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Phase::Progressing, reason, message)
    }

    /// Held, unless what is missing is under way or comes by itself.
    pub(super) fn not_ready(problem: Problem) -> Self {
        match problem.reason {
            Reason::Rehearsing
            | Reason::BackendNotReady
            | Reason::ConfigCopiesNotReady
            | Reason::WindowClosed
            | Reason::WaitingForDependency => Self::progressing(problem.reason, problem.message),
            _ => Self::held(problem),
        }
    }
}
