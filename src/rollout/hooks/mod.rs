//! Hooks: at which moments they are called ([`calls`]), what their answers do ([`answers`]), and what they keep waiting
//! ([`gates`]).
//!
//! A call is named by its moment, not by what was recorded of it: a new instance of the hub that calls again within the same
//! interval uses the same key. What an answer does is recorded; that a gate stays shut is not, so waiting writes nothing.

mod answers;
mod calls;
mod gates;

pub(super) use answers::consume;
pub(super) use calls::{call, deliver, last_undelivered, note_end};
pub(super) use gates::{before_the_first_step, before_the_next_step, failing, silent};

use crate::api::{
    FleetRolloutSpec,
    hook::{Hook, HookType},
};

fn of_kind(spec: &FleetRolloutSpec, kind: HookType) -> impl Iterator<Item = &Hook> {
    spec.hooks.iter().filter(move |hook| hook.kind == kind)
}
