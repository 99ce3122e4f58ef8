//! cutover moves production traffic between whole Kubernetes clusters, step by step, on evidence.

pub mod api;
pub mod cli;
pub mod http;
pub mod member;
pub mod metric;
pub mod rollout;
pub mod yaml;
