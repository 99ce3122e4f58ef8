//! Every rule about what a user declares that needs no cluster: pure, all problems at once, in a stable order.
//!
//! The hub calls [`rollout()`] and [`member()`] on what the API server took. The command line calls [`file()`], which also
//! knows the shape (unknown fields, types, bounds) and the line of each field.

mod alerts;
mod analysis;
mod document;
mod example;
mod file;
mod foreign;
mod hints;
mod hooks;
mod http_settings;
mod istio;
mod members;
mod metadata;
mod mode;
mod names;
mod object;
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
mod unknown;
mod unreadable;
mod windows;

pub use alerts::alert_provider;
pub use file::{Found, Report, file, files};
pub use problem::{Problem, Severity};
pub use request::request;
pub use suggestion::nearest;
pub use template::template;

use crate::api::FleetRolloutSpec;

pub use members::member;

/// Everything that is wrong or doubtful about a rollout's spec; paths begin with `spec`.
pub fn rollout(spec: &FleetRolloutSpec) -> Vec<Problem> {
    section::rules(spec, &[], &[])
}
