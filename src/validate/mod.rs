//! Every rule about what a user declares that needs no cluster: pure, all problems at once, in a stable order.
//!
//! The hub calls [`rollout()`] and [`member()`] on what the API server took. The command line calls [`file()`], which also
//! knows the shape (unknown fields, types, bounds) and the line of each field.

mod analysis;
mod document;
mod file;
mod members;
mod metadata;
mod mode;
mod names;
mod problem;
mod promql;
mod references;
mod request;
mod routes;
mod schema;
mod section;
mod strategy;
mod suggestion;
mod template;
mod windows;

pub use file::{Found, Report, file, file_among};
pub use problem::{Problem, Severity};
pub use references::Known;
pub use request::request;
pub use template::template;

use crate::api::FleetRolloutSpec;

pub use members::member;

/// Everything that is wrong or doubtful about a rollout's spec; paths begin with `spec`.
pub fn rollout(spec: &FleetRolloutSpec) -> Vec<Problem> {
    section::rules(spec, &[])
}
