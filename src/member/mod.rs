//! Members: who they are, how they are reached, and how they are.
//!
//! A kubeconfig is code, so only a restricted one is taken ([`kubeconfig`], whose certificates [`certificate`] checks).
//! [`link`] makes clients of it, [`health`] asks them, [`status`] says it, [`registry`] holds them all, and [`manager`] keeps
//! it up to date.
//! Nothing here watches or writes: `hub::members` declares members and writes their status.

mod certificate;
mod checks;
mod client;
mod health;
mod hosts;
pub(crate) mod kubeconfig;
mod link;
mod manager;
pub(crate) mod probe;
mod registry;
mod secrets;
pub(crate) mod status;
#[cfg(test)]
mod tests;
mod token;

pub(crate) use link::{Declared, Member};
pub(crate) use manager::Manager;
pub(crate) use registry::Registry;
pub(crate) use secrets::Secrets;
