//! Outgoing calls: the allowed addresses, the resolver, and the transport.

use std::{
    fmt::Debug,
    net::IpAddr,
    sync::{Arc, OnceLock},
};

use futures::future::BoxFuture;
use http::Request;
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::sync::Semaphore;

use super::{AddressRules, Answer, BODIES, HttpError, sanitise};

/// Maximum number of addresses that are used of one name.
const ADDRESSES: usize = 64;

/// Resolves hosts.
pub trait Names: Debug + Send + Sync {
    /// The addresses of a name or literal; none if it does not resolve.
    fn addresses(&self, host: &str) -> BoxFuture<'static, Vec<IpAddr>>;
}

/// Answers calls instead of sockets.
pub trait Peers: Debug + Send + Sync {
    /// Answers a call, whose URI has the host that would be connected to. The caller enforces deadlines and body limits.
    fn answer(&self, call: Request<()>) -> BoxFuture<'static, Result<Answer, HttpError>>;
}

/// Access to the network for outgoing calls. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Network {
    /// The addresses that may be called.
    pub(super) rules: AddressRules,
    names: Arc<dyn Names>,
    /// `None`: sockets.
    pub(super) peers: Option<Arc<dyn Peers>>,
    /// Kibibytes of bodies that may be held beside those that are.
    pub(super) bodies: Arc<Semaphore>,
    /// TLS with the system's certificates: there are a hundred and more, which are read once.
    system_tls: Arc<OnceLock<ClientConfig>>,
}

impl Network {
    /// The real network: sockets, the system's resolver, and the addresses that the rules allow.
    pub fn new(rules: AddressRules) -> Self {
        let bodies = Arc::new(Semaphore::new(BODIES));
        Self { rules, names: Arc::new(System), peers: None, bodies, system_tls: Arc::default() }
    }

    /// The same network with another resolver.
    #[must_use]
    pub fn with_names(self, names: Arc<dyn Names>) -> Self {
        Self { names, ..self }
    }

    /// The same network with a transport that uses no sockets.
    #[must_use]
    pub fn with_peers(self, peers: Arc<dyn Peers>) -> Self {
        Self { peers: Some(peers), ..self }
    }

    /// TLS with the system's certificates.
    ///
    /// # Errors
    /// If the system has none.
    pub(super) fn system_tls(&self) -> Result<ClientConfig, HttpError> {
        if let Some(known) = self.system_tls.get() {
            return Ok(known.clone());
        }
        super::install_crypto();
        let bad = |_| HttpError::BadCredentials("the system's CA certificates");
        let config = ClientConfig::builder().with_platform_verifier().map_err(bad)?.with_no_client_auth();
        Ok(self.system_tls.get_or_init(|| config).clone())
    }

    /// The addresses of a name or literal, all of them allowed. One that is not allowed refuses the name, because the next
    /// connection might use it.
    ///
    /// # Errors
    /// If the name does not resolve, or resolves to an address that the hub may not call.
    pub(crate) async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, HttpError> {
        let mut addresses = Vec::new();
        for address in self.names.addresses(host).await {
            self.rules.check(host, address)?;
            if addresses.len() < ADDRESSES && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() { Err(HttpError::NotResolved(sanitise(host))) } else { Ok(addresses) }
    }
}

/// The system's resolver, the hosts file included.
#[derive(Debug)]
pub(super) struct System;

impl Names for System {
    fn addresses(&self, host: &str) -> BoxFuture<'static, Vec<IpAddr>> {
        let host = host.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await;
            found.map(|sockets| sockets.map(|socket| socket.ip()).collect()).unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(allowed: &[&str]) -> Network {
        let nets = allowed.iter().map(|net| net.parse().unwrap()).collect();
        Network::new(AddressRules::new(nets, Vec::new()))
    }

    #[tokio::test]
    async fn names_are_judged_by_what_they_lead_to() {
        for host in ["localhost", "0x7f000001", "127.1"] {
            let error = network(&[]).resolve(host).await.unwrap_err();
            assert!(matches!(error, HttpError::AddressNotAllowed { kind: "loopback", .. }), "{host}: {error}");
        }
        // Whether a resolver knows this form depends on the machine; it is refused either way.
        assert!(network(&[]).resolve("localhost.").await.is_err());
        assert_eq!(network(&["127.0.0.0/8"]).resolve("127.0.0.1").await.unwrap(), [IpAddr::from([127, 0, 0, 1])]);
    }

    #[tokio::test]
    async fn a_refusal_names_the_host_the_address_and_the_remedy() {
        assert_eq!(
            network(&[]).resolve("127.0.0.1").await.unwrap_err().to_string(),
            "AddressNotAllowed: 127.0.0.1 is 127.0.0.1, loopback; give the member's own address, \
             or start the hub with --allow-addresses"
        );
    }
}
