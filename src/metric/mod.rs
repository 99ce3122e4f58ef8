//! Metrics: templates and built-in ones as queries, and one round of measurements at all members.

mod builtin;
mod measure;
pub mod resolve;
pub mod template;
pub mod variables;

pub use measure::{Behind, Clusters, Sources, measure};
