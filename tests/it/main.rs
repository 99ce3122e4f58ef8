//! The fast tests: one binary, one folder or file for each theme.

#![allow(missing_docs, clippy::unwrap_used)]

mod bad_inputs;
mod bad_members;
mod bad_rollouts;
mod command;
mod core;
mod crds;
mod examples;
mod rules;
mod tidy;
