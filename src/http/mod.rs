//! The one place for deadlines, body limits, and address rules.
//!
//! A peer may be broken or hostile: every call ends at its deadline, every body at its limit, no redirect is
//! followed, no proxy of the environment is used, and the connection goes to an address that was checked.

mod address;
mod aliases;
mod client;
mod error;
#[cfg(test)]
pub(crate) mod fixtures;
mod network;
mod peer;
mod signature;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub(crate) use crate::text::{sanitise, sanitise_to};
pub use address::AddressRules;
pub(crate) use aliases::Aliases;
pub use client::Answer;
pub(crate) use client::{Client, Post, Reply};
pub use error::HttpError;
pub use network::{Names, Network, Peers};
pub(crate) use peer::Peer;
pub(crate) use signature::{HEADER as SIGNATURE_HEADER, SigningKey, TIMESTAMP_HEADER};

/// The time that a call may take, from resolving the name to the last byte.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);
/// Bytes of an API server's answer that are read: its version, and one namespace with its annotations.
pub(crate) const API_BODY: usize = 512 << 10;
/// Bytes of a Prometheus answer that are read: thousands of series, where one is wanted.
pub(crate) const METRIC_BODY: usize = 1 << 20;

/// Bytes of all bodies together that are held at a time, in blocks of a kibibyte: whatever the number of members, a flood
/// takes no more.
const BODIES: usize = 64 << 10;

/// What a call may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From resolving the name to the last byte.
    pub deadline: Duration,
    /// Bytes of the body; more is an error.
    pub body: usize,
}

/// Chooses the cryptography of this process, once; later calls do nothing.
pub(crate) fn install_crypto() {
    // A provider that somebody installed before is as good.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
