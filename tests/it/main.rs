//! The fast tests: one binary, one folder or file for each theme.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::struct_excessive_bools)]

#[cfg(feature = "demo")]
mod api_server;
mod bad_clusters;
mod bad_environments;
mod bad_files;
mod bad_inputs;
mod bad_members;
mod bad_rollouts;
mod bad_yaml;
mod command;
mod core;
mod crds;
#[cfg(feature = "demo")]
mod demo;
mod doctor;
mod examples;
mod features;
mod import;
mod install;
mod reference_page;
#[cfg(feature = "demo")]
mod references;
mod routes_page;
mod rules;
mod scenarios_page;
#[cfg(feature = "demo")]
mod screens;
mod tidy;
mod troubleshooting_page;
mod words;
