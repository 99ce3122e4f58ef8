//! Members: who they are, how they are reached, and how they are.
//!
//! A kubeconfig is code, so only a restricted one is taken ([`kubeconfig`], whose certificates [`certificate`] checks).
//! [`link`] makes clients of it, [`health`] asks them, [`status`] says it, [`registry`] holds them all, and [`keeper`] keeps
//! it up to date.
//! Nothing here watches or writes: `hub::members` declares members and writes their status.

mod certificate;
mod checks;
mod client;
mod health;
mod keeper;
pub(crate) mod kubeconfig;
mod link;
pub(crate) mod probe;
mod registry;
mod secrets;
pub(crate) mod status;
#[cfg(test)]
mod tests;
mod token;

pub(crate) use keeper::Keeper;
pub(crate) use link::{Declared, Member};
pub(crate) use registry::Registry;
pub(crate) use secrets::Secrets;
