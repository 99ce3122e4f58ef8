//! Runs: what the hub has to do.

use super::{fault::Fault, sorts::Failover};

/// What the hub has to do in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Run {
    /// All traffic of one service with two routes moves to a new member; the first step waits for a person.
    Promotion,
    /// Two services move in lockstep.
    Fleet,
    /// The canary fails at its second step.
    Rollback,
    /// Another target is declared in mid-run.
    Retarget,
    /// The rollout is deleted in mid-run.
    Deletion,
    /// Service mode: the Service is pointed at another cluster.
    Service,
    /// A step by weight, then copies of requests, then those with a header, then the rest by weight.
    Mixed,
    /// One service with two routes moves to a new member; hooks of every type are called, and all of them say yes.
    Hooks,
}

impl Run {
    pub const ALL: [Self; 8] = [
        Self::Promotion,
        Self::Fleet,
        Self::Rollback,
        Self::Retarget,
        Self::Deletion,
        Self::Service,
        Self::Mixed,
        Self::Hooks,
    ];

    /// What the pattern does can be done in this run: some deeds are about the members that a rollout declares.
    pub const fn suits(self, fault: Fault) -> bool {
        match (self, fault) {
            // Copies and mirrored requests of a rollout that is gone are for people to take away.
            (Self::Service | Self::Mixed, Fault::Failover(Failover::Recreated)) => false,
            (Self::Service, _) => !fault.needs_members(),
            // What is called may be lost or repeated by what happens to the hub, and by what its API server answers.
            (Self::Hooks, _) => matches!(
                fault,
                Fault::None
                    | Fault::CrashAfter
                    | Fault::CrashBefore
                    | Fault::CrashPair
                    | Fault::Pause(_)
                    | Fault::BadCalls(_)
                    | Fault::Storm
            ),
            _ => true,
        }
    }

    /// Every index of the patterns about single writes and calls is tried on this run.
    pub const fn is_tried_whole(self) -> bool {
        matches!(self, Self::Promotion | Self::Rollback | Self::Service)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Promotion => "promotion",
            Self::Fleet => "fleet",
            Self::Rollback => "rollback",
            Self::Retarget => "retarget",
            Self::Deletion => "deletion",
            Self::Service => "service",
            Self::Mixed => "mixed",
            Self::Hooks => "hooks",
        }
    }
}
