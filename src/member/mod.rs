//! Members: who they are, how they are reached, and how they are.
//!
//! A kubeconfig is code, so only a restricted one is taken ([`kubeconfig`], whose certificates [`certificate`] checks).
//! [`link`] makes clients of it, [`health`] asks them, [`status`] says it, and [`registry`] keeps it all up to date.

mod certificate;
mod client;
mod health;
pub(crate) mod kubeconfig;
mod link;
pub(crate) mod probe;
mod registry;
mod secrets;
mod status;
#[cfg(test)]
mod tests;
mod token;
mod watch;

pub(crate) use health::Health;
pub(crate) use link::{Declared, Member};
pub(crate) use registry::Registry;
pub(crate) use secrets::Secrets;
pub(crate) use status::IN_USE;
