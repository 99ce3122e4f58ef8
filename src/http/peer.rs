//! The address of a peer, and how it is spoken to.

use reqwest::{Url, header::HeaderValue};
use secrecy::SecretSlice;

use super::{HttpError, sanitise};

/// The address of a peer, and its TLS and credentials.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Scheme, host, port and the prefix of every path.
    pub base: Url,
    /// A DNS name for SNI and the certificate, if it differs from the host of `base`.
    pub server_name: Option<String>,
    /// The Host header, if it differs from the host of `base`.
    pub host_header: Option<String>,
    /// Certificates to trust, PEM. Default: those of the system.
    pub roots: Option<Vec<u8>>,
    /// Client certificate and key, PEM.
    pub identity: Option<SecretSlice<u8>>,
    /// The Authorization header; marked as sensitive.
    pub authorization: Option<HeaderValue>,
    /// Whether connections are kept for the next call.
    pub keep_alive: bool,
}

impl Peer {
    /// A peer with the system's certificates and without credentials.
    ///
    /// # Errors
    /// If the address is not an `http` or `https` URL, or contains credentials, a query or a fragment.
    pub(crate) fn at(address: &str) -> Result<Self, HttpError> {
        let bad = |why: &str| HttpError::BadAddress(format!("{}: {why}", sanitise(&without_user(address))));
        let base = Url::parse(address).map_err(|_| bad("not a URL; write https://host:port"))?;
        match base.scheme() {
            "http" | "https" if base.has_host() => {}
            _ => return Err(bad("https required; write https://host:port")),
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(bad("credentials do not belong in an address; put them into a Secret"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(bad("an address has no query and no fragment"));
        }
        Ok(Self {
            base,
            server_name: None,
            host_header: None,
            roots: None,
            identity: None,
            authorization: None,
            keep_alive: true,
        })
    }

    /// The same for a URL that may have a query, as the webhooks of chat services do. An error repeats nothing of it, for it may be
    /// a secret.
    ///
    /// # Errors
    /// If it is not an `http` or `https` URL, or contains credentials or a fragment.
    pub(crate) fn of_webhook(url: &str) -> Result<Self, HttpError> {
        let bad = || HttpError::BadAddress("not an http or https URL without credentials and fragment".to_owned());
        let mut base = Url::parse(url).map_err(|_| bad())?;
        let query = base.query().map(str::to_owned);
        base.set_query(None);
        let mut peer = Self::at(base.as_str()).map_err(|_| bad())?;
        peer.base.set_query(query.as_deref());
        peer.keep_alive = false;
        Ok(peer)
    }

    /// Uses `name` for TLS while the connection goes to the host of the address.
    ///
    /// # Errors
    /// If the name cannot be the host of a URL, or is an address: SNI carries names only.
    pub(super) fn requested(&self) -> Result<Url, HttpError> {
        let mut url = self.base.clone();
        if let Some(name) = &self.server_name {
            let bad = || HttpError::BadAddress(format!("{}: not a DNS name for serverName", sanitise(name)));
            url.set_host(Some(name)).map_err(|_| bad())?;
            if url.domain().is_none() {
                return Err(bad());
            }
        }
        Ok(url)
    }

    /// The Host header, if it differs from the host of the URL.
    pub(super) fn host(&self) -> Result<Option<HeaderValue>, HttpError> {
        let host = match (&self.host_header, &self.server_name) {
            (Some(host), _) => host.clone(),
            (None, Some(_)) => authority(&self.base),
            (None, None) => return Ok(None),
        };
        let bad = |_| HttpError::BadAddress(format!("{}: not a Host header", sanitise(&host)));
        HeaderValue::from_str(&host).map(Some).map_err(bad)
    }
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The address without the part before its last `@`, which may be a password.
fn without_user(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => address.to_owned(),
    }
}
