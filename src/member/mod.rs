//! Members: who they are, how they are reached, and how they are.
//!
//! A kubeconfig is code, so only a restricted one is taken ([`kubeconfig`], whose certificates [`certificate`] checks).
//! [`link`] makes clients of it, [`health`] asks them, [`status`] says it, and [`registry`] keeps it all up to date.

mod certificate;
mod client;
mod health;
pub mod kubeconfig;
mod link;
pub mod probe;
mod registry;
mod secrets;
mod status;
#[cfg(test)]
mod tests;
mod token;
mod watch;

pub use health::Health;
pub use link::{Declared, Member};
pub use probe::Probe;
pub use registry::{Members, Registry};
pub use secrets::Secrets;
pub use status::IN_USE;
