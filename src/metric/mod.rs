//! Metrics: templates and built-in ones as queries, and one round of measurements at all members.

mod builtin;
mod measure;
mod possible;
pub(crate) mod resolve;
pub(crate) mod template;
pub(crate) mod variables;

pub(crate) use measure::{Clusters, Destination, Sources, measure};
