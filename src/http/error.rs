//! Why a call has no answer.

use std::{error::Error, net::IpAddr, time::Duration};

use super::sanitise;

/// Why a call has no answer. No message contains credentials or any part of a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The name resolves to an address that the hub may not call.
    #[error(
        "AddressNotAllowed: {host} is {address}, {kind}; give the member's own address, or start the hub with --allow-addresses"
    )]
    AddressNotAllowed {
        /// The name as it was given.
        host: String,
        /// The address it resolves to.
        address: IpAddr,
        /// The kind of that address.
        kind: &'static str,
    },
    /// The name does not resolve.
    #[error("{0} does not resolve")]
    NotResolved(String),
    /// It is not an address that can be called.
    #[error("{0}")]
    BadAddress(String),
    /// The given certificates, key or credentials cannot be used.
    #[error("{0} cannot be used")]
    BadCredentials(&'static str),
    /// There was no complete answer within this time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Late(Duration),
    /// The answer is larger than this limit, in bytes.
    #[error("the answer is larger than {} KiB", .0 / 1024)]
    TooLarge(usize),
    /// The answers of all peers together are larger than what is read at a time.
    #[error("too many large answers at a time; this one was not read")]
    Flood,
    /// The connection, TLS or HTTP failed.
    #[error("{0}")]
    Failed(String),
}

impl From<reqwest::Error> for HttpError {
    /// Keeps the innermost cause ("Connection refused"); the outer ones repeat the URL.
    fn from(error: reqwest::Error) -> Self {
        let mut cause: &(dyn Error + 'static) = &error.without_url();
        loop {
            if let Some(own) = cause.downcast_ref::<Self>() {
                return own.clone();
            }
            match cause.source() {
                Some(inner) => cause = inner,
                None => return Self::Failed(sanitise(&cause.to_string())),
            }
        }
    }
}
