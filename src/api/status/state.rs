//! What a live run is doing: one state, each with the fields that mean something only in it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{Duration, Reason};

/// What a live run is doing; exactly one key.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum RunState {
    /// Nothing has moved: members, backends and a dry run of every first write are checked.
    Preparing(Preparing),
    /// A step of the plan stands, and is proven.
    Stepping(Stepping),
    /// Service mode: what passed becomes the primary, and traffic goes back to it.
    Promoting(Promoting),
    /// All steps are done; checks go on and rollback stays possible.
    Soaking(Soaking),
    /// Traffic goes back to the rollback target.
    RollingBack(RollingBack),
}

/// Nothing is known yet that belongs to this state alone.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preparing {}

/// A step of the plan that stands.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Stepping {
    /// The step, from 1.
    pub step: u32,
    /// How long the step's weights have held.
    #[serde(default)]
    pub bake: Bake,
    /// Since when only the step's wait stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub waiting_since: Option<Timestamp>,
    /// Since when only a window or another rollout stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub closed_since: Option<Timestamp>,
}

/// What passed becomes the primary.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Promoting {
    /// The step, from 1; 0 where nothing had to be proven before.
    pub step: u32,
    /// Since when the primary is what passed; before that it still gives its traffic away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub copied_at: Option<Timestamp>,
}

/// All steps are done.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Soaking {
    /// The last step.
    pub step: u32,
    /// When the last step was done.
    #[schemars(with = "String")]
    pub since: Timestamp,
    /// How long the target's weights have held.
    #[serde(default)]
    pub bake: Bake,
}

/// A rollback that was decided.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RollingBack {
    /// The step from which the run goes back; 0 before the first.
    pub step: u32,
    /// Why.
    pub reason: Reason,
    /// In one sentence, with numbers or names.
    pub message: String,
    /// When it was decided.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Who decided it; absent where a verdict did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Service mode: what passed had become the primary already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub promoted: bool,
}

/// How long weights have held with passing checks.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Bake {
    /// Time with passing checks.
    #[serde(default)]
    pub time: Duration,
    /// Checks in a row that passed, an Unknown aside.
    #[serde(default)]
    pub passes: u32,
    /// Up to when `time` is accounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
}

impl Bake {
    /// Nothing is proven any more; what was accounted stays so.
    pub fn forget(&mut self) {
        (self.time, self.passes) = (Duration::ZERO, 0);
    }
}

impl RunState {
    /// The step of the plan that stands, or from which the run goes back; 0 before the first.
    pub const fn step(&self) -> u32 {
        match self {
            Self::Preparing(Preparing {}) => 0,
            Self::Stepping(state) => state.step,
            Self::Promoting(state) => state.step,
            Self::Soaking(state) => state.step,
            Self::RollingBack(state) => state.step,
        }
    }

    /// What was proven of the weights, in the states that prove them.
    pub const fn bake(&self) -> Option<&Bake> {
        match self {
            Self::Stepping(state) => Some(&state.bake),
            Self::Soaking(state) => Some(&state.bake),
            Self::Preparing(_) | Self::Promoting(_) | Self::RollingBack(_) => None,
        }
    }

    /// What was proven of the weights, in the states that prove them.
    pub const fn bake_mut(&mut self) -> Option<&mut Bake> {
        match self {
            Self::Stepping(state) => Some(&mut state.bake),
            Self::Soaking(state) => Some(&mut state.bake),
            Self::Preparing(_) | Self::Promoting(_) | Self::RollingBack(_) => None,
        }
    }

    /// The rollback, if one is decided.
    pub const fn rollback(&self) -> Option<&RollingBack> {
        match self {
            Self::RollingBack(rollback) => Some(rollback),
            Self::Preparing(_) | Self::Stepping(_) | Self::Promoting(_) | Self::Soaking(_) => None,
        }
    }
}
