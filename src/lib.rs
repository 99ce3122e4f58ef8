//! cutover moves production traffic between whole Kubernetes clusters, step by step, on evidence.

pub mod api;
pub mod cli;
pub mod rollout;
pub mod validate;
pub mod yaml;
