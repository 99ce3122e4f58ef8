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
}

impl Run {
    pub const ALL: [Self; 7] =
        [Self::Promotion, Self::Fleet, Self::Rollback, Self::Retarget, Self::Deletion, Self::Service, Self::Mixed];

    /// What the pattern does can be done in this run: some deeds are about the members that a rollout declares.
    pub const fn suits(self, fault: Fault) -> bool {
        match (self, fault) {
            // Copies and mirrored requests of a rollout that is gone are for people to take away.
            (Self::Service | Self::Mixed, Fault::Failover(Failover::Recreated)) => false,
            (Self::Service, _) => !fault.needs_members(),
            _ => true,
        }
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
        }
    }
}
