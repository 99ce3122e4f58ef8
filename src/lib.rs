//! cutover moves production traffic between whole Kubernetes clusters, step by step, on evidence.

pub mod api;
pub mod backend;
pub mod cli;
pub mod rollout;
pub mod route;
pub mod yaml;
