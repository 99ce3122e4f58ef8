//! A member cluster: a gateway that answers and counts, a Prometheus that tells what was counted, an API server.

mod api_server;
mod counters;
mod gateway;
mod monitoring;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

pub use self::gateway::HEALTH;
use self::{api_server::Credentials, gateway::Gateway, monitoring::Monitoring};
use super::server::Server;

/// How a member answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Every n-th request is answered with 500 (20: five percent); `None`: none is.
    pub fail_every: Option<u64>,
    /// Added to every answer.
    pub delay: Duration,
}

/// A member cluster on loopback. It ends with the value.
pub struct Member {
    name: String,
    credentials: Credentials,
    gateway: Arc<Gateway>,
    monitoring: Arc<Monitoring>,
    addresses: Addresses,
    servers: Mutex<Vec<Server>>,
}

/// Where a member is reached.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Its ingress.
    pub gateway: SocketAddr,
    /// Its Prometheus, directly.
    pub prometheus: SocketAddr,
    /// Its API server, over TLS.
    pub api_server: SocketAddr,
}

impl Member {
    /// Starts a member's servers: its gateway at this address, the others each on a port of its own.
    ///
    /// # Errors
    /// When the address is taken or not this machine's, there is no free port, or no certificate can be made.
    pub async fn start(name: &str, gateway_at: SocketAddr) -> io::Result<Self> {
        let gateway = Arc::<Gateway>::default();
        let monitoring = Monitoring::start(gateway.clone());
        let (credentials, tls) = Credentials::new(&server_name(name)).map_err(io::Error::other)?;
        let (answering, queried, proxied) = (gateway.clone(), monitoring.clone(), monitoring.clone());
        let cluster = Arc::new(api_server::ApiServer::new(name, proxied));
        let traffic = Server::at(gateway_at, None, move |request| answering.clone().answer(request)).await?;
        let prometheus = Server::start(None, move |request| std::future::ready(queried.answer(request.uri()))).await?;
        let api = Server::start(Some(tls), move |request| std::future::ready(cluster.answer(&request))).await?;
        let addresses = Addresses { gateway: traffic.address, prometheus: prometheus.address, api_server: api.address };
        let servers = Mutex::new(vec![traffic, prometheus, api]);
        Ok(Self { name: name.to_owned(), credentials, gateway, monitoring, addresses, servers })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is reached.
    pub const fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Changes how it answers from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        self.gateway.behave(behaviour);
    }

    /// Whether its Prometheus answers.
    pub fn show_metrics(&self, shown: bool) {
        self.monitoring.show(shown);
    }

    /// Ends all of its servers and cuts their connections, as a cluster that loses its power.
    pub fn die(&self) {
        locked(&self.servers).clear();
    }

    /// Requests of a service that came to its gateway so far.
    pub fn observed(&self, service: &str) -> u64 {
        self.gateway.counters.observed(service)
    }

    /// A kubeconfig for its API server, with a token.
    pub fn kubeconfig(&self) -> String {
        self.credentials.kubeconfig(&server_name(&self.name), self.addresses.api_server.port())
    }
}

/// Name in the certificate of a member's API server.
pub fn server_name(member: &str) -> String {
    format!("api.{member}.test")
}

/// What was locked; a thread that died with it left whole numbers.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
