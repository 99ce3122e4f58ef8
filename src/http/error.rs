//! Why a call has no answer.

use std::{error::Error, net::IpAddr, time::Duration};

use super::sanitise;

/// Why a call has no answer. The messages hold no credentials and nothing of a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The name leads to an address that the hub may not call.
    #[error(
        "AddressNotAllowed: {host} is {address}, {kind}; give the member's own address, or start the hub with --allow-addresses"
    )]
    AddressNotAllowed {
        /// The name as it was given.
        host: String,
        /// What it leads to.
        address: IpAddr,
        /// What kind of address that is.
        kind: &'static str,
    },
    /// The name leads nowhere.
    #[error("{0} does not resolve")]
    NotResolved(String),
    /// It is not an address that can be called.
    #[error("{0}")]
    BadAddress(String),
    /// The certificates, key or credentials that were given cannot be used.
    #[error("{0} cannot be used")]
    BadCredentials(&'static str),
    /// No whole answer came in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Late(Duration),
    /// The answer is larger than is read.
    #[error("the answer is larger than {} KiB", .0 / 1024)]
    TooLarge(usize),
    /// No connection, no trust, or no HTTP.
    #[error("{0}")]
    Failed(String),
}

impl From<reqwest::Error> for HttpError {
    /// The innermost cause says what happened ("Connection refused"); the outer ones repeat the URL.
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
