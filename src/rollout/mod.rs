//! The pure core: what to observe, what it means, and what to do next.
//!
//! Everything here is total, synchronous and deterministic: no clock, no I/O, no logging, no randomness.

pub mod decision;
pub mod distribution;
pub mod input;
pub mod merge;
pub mod plan;

pub use decision::{Action, Decision};
pub use input::{Input, Observation, RouteKey};

use crate::api::FleetRolloutStatus;

/// Decides what to do next.
#[must_use]
pub fn decide(input: &Input<'_>) -> Decision {
    Decision { status: FleetRolloutStatus::clone(input.status), actions: Vec::new(), wake: None }
}

/// The measurements that are due at `now`, if any.
#[must_use]
pub fn due(_input: &Input<'_>) -> Option<input::Wanted> {
    None
}
