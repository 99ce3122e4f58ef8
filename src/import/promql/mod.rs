//! Queries of other tools: their variables become ours, and what can be merged over members is taken apart.

mod counted;
mod linear;
mod meaning;
mod query;
mod variables;

pub(super) use meaning::{Meaning, Measured, meaning};
pub(super) use query::{Query, Unreadable};
pub(super) use variables::{Place, Variable};
