//! cutover moves production traffic between whole Kubernetes clusters, step by step, on evidence.

pub mod api;
pub mod backend;
pub mod cli;
pub mod clock;
pub mod http;
pub mod hub;
pub mod member;
pub mod metric;
pub mod rollout;
pub mod route;
pub mod sandbox;
pub mod telemetry;
pub mod validate;
pub mod web;
pub mod yaml;
