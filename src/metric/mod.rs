//! What members' Prometheus servers say: templates, queries, and answers that may be missing.
//!
//! Not knowing is a value here: [`Missing`] is neither a pass nor a failure.

mod answer;
mod builtin;
mod measure;
mod prometheus;
pub mod resolve;
pub mod template;
pub mod variables;

pub use answer::{Answer, Missing, Series, parse};
pub use measure::{Behind, Clusters, measure};
pub use prometheus::Prometheus;
