//! cutover moves production traffic between whole Kubernetes clusters, step by step, on evidence.

#![warn(unreachable_pub)]

#[allow(unreachable_pub, reason = "the derive KubeSchema makes a hidden copy of each type, which nobody reaches")]
pub mod api;
mod backend;
pub mod cli;
pub mod clock;
mod hook;
pub mod http;
pub mod hub;
pub mod import;
mod member;
mod metric;
mod notify;
mod object;
mod prometheus;
pub mod rollout;
pub mod route;
#[cfg(feature = "demo")]
pub mod sandbox;
mod supervise;
mod telemetry;
mod text;
mod tracking;
pub mod validate;
mod web;
pub mod yaml;
