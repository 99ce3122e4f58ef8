//! Why there is no plan.

use std::fmt;

use crate::api::Progress;

/// The largest `weightTotal` that can be declared.
pub const LARGEST_TOTAL: u32 = 10_000;

/// Start or target of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The weights before the run.
    Start,
    /// The weights after the run.
    Target,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Target => "target",
        })
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanProblem {
    /// Start or target does not sum to the rollout's total.
    #[error("the {end} weights sum to {found}, not to weightTotal {total}; make them sum to {total}")]
    Sum {
        /// Which end.
        end: End,
        /// What they sum to.
        found: u32,
        /// What they must sum to.
        total: u32,
    },
    /// A gaining member is in no stage.
    #[error("spec.strategy.stages: {member} gains weight but is in no stage; add it to one")]
    MissingFromStages {
        /// The member.
        member: String,
    },
    /// A member is in two stages, or twice in one.
    #[error("spec.strategy.stages: {member} is named more than once; leave it in one stage")]
    InTwoStages {
        /// The member.
        member: String,
    },
    /// A step is too small for the total.
    #[error("spec.strategy.steps: {progress} of the way leaves {member} at 0 of {total}; {remedy}", remedy = too_small(*needed))]
    TooSmall {
        /// The step.
        progress: Progress,
        /// A gaining member that would get nothing.
        member: String,
        /// The rollout's total.
        total: u32,
        /// The smallest total that would do, if one that can be declared would.
        needed: Option<u32>,
    },
}

impl PlanProblem {
    /// What would help.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Sum { total, .. } => format!("make them sum to {total}"),
            Self::MissingFromStages { .. } => "add it to a stage".to_owned(),
            Self::InTwoStages { .. } => "leave it in one stage".to_owned(),
            Self::TooSmall { needed, .. } => too_small(*needed),
        }
    }
}

/// What helps where a step is too small: the smallest total that would do, if one would.
#[must_use]
pub fn too_small(needed: Option<u32>) -> String {
    match needed {
        Some(total) => format!("scale the weights to weightTotal {total}, or take a larger step"),
        None => format!("no weightTotal up to {LARGEST_TOTAL} would do; take a larger step"),
    }
}
