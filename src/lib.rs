//! cutover moves production traffic between whole Kubernetes clusters, step by step, on evidence.

pub mod api;
pub mod backend;
pub mod cli;
pub mod clock;
pub mod http;
pub mod hub;
mod member;
pub mod metric;
pub mod object;
pub mod prometheus;
pub mod rollout;
pub mod route;
#[cfg(feature = "demo")]
pub mod sandbox;
pub mod telemetry;
pub mod validate;
mod web;
pub mod yaml;
