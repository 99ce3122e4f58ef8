//! Members: who they are, how they are reached, and how they are.
//!
//! A kubeconfig is code, so only a restricted one is taken ([`kubeconfig`], whose certificates [`certificate`] checks).
//! [`link`] makes clients of it, [`health`] asks them, [`inspect`] does so step by step for a person, [`status`] says it,
//! [`registry`] holds them all, and [`manager`] keeps it up to date. [`renewal`] requests a new [`token`] in time.
//! Nothing here watches or writes: `hub::members` declares members and writes their status.

mod certificate;
mod checks;
mod client;
#[cfg(test)]
pub(crate) mod fixtures;
mod health;
mod hosts;
pub(crate) mod inspect;
pub(crate) mod kubeconfig;
mod link;
mod manager;
pub(crate) mod probe;
mod registry;
mod renewal;
mod secrets;
pub(crate) mod status;
#[cfg(test)]
mod tests;
mod token;

pub(crate) use hosts::Host;
pub(crate) use link::{Declared, Member};
pub(crate) use manager::Manager;
pub(crate) use registry::Registry;
pub(crate) use renewal::{NotRenewed, Renewal};
pub(crate) use secrets::Secrets;
