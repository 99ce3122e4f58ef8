//! Members: who they are, how they are reached, and how they are.
//!
//! A kubeconfig is code, so only a restricted one is taken ([`kubeconfig`], whose certificates [`certificate`] checks).
//! [`link`] makes clients of it, [`health`] asks them, [`status`] says it, and [`registry`] keeps it all up to date.
//! Nothing here watches or writes: `hub::members` declares members and writes their status.

mod certificate;
mod checks;
mod client;
mod health;
pub mod kubeconfig;
mod link;
pub mod probe;
mod registry;
mod secrets;
pub mod status;
#[cfg(test)]
mod tests;
mod token;

pub use link::{Declared, Member};
pub use registry::{Keeper, Registry};
pub use secrets::Secrets;
