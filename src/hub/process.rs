//! The process from its start to its graceful stop.

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ipnet::IpNet;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::signal::unix::{SignalKind, signal};

use super::{
    HostPattern,
    instance::{Instance, run_instance},
    service_range,
};
use crate::{
    clock::Clock,
    http::{self, AddressRules, Aliases, Network},
    web,
};

/// How the process is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kubeconfig of the hub cluster; else what the environment gives.
    pub kubeconfig: Option<PathBuf>,
    /// The hub's own namespace: the Secrets of members.
    pub namespace: String,
    /// Ask for the Lease of the hub cluster before acting.
    pub leader_election: bool,
    /// Addresses that members may have although they lead back into this machine.
    pub allow_addresses: Vec<IpNet>,
    /// Ranges of the hub cluster's Services, beside those that its API server reports.
    pub service_cidrs: Vec<IpNet>,
    /// Hosts to which users' Services of type ExternalName may lead, beside members' endpoints.
    pub allow_external_names: Vec<HostPattern>,
    /// Addresses of names that are not looked up by the system's resolver.
    pub host_aliases: Vec<(String, IpAddr)>,
    /// Where `/healthz`, `/readyz` and `/metrics` are answered.
    pub listen: SocketAddr,
}

/// Why the process ended, other than by a signal.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// Neither a kubeconfig nor a service account is there.
    #[error("no usable kubeconfig in KUBECONFIG and no service account; give --kubeconfig, or run in a cluster")]
    NoConfig,
    /// The kubeconfig that was given cannot be read.
    #[error("--kubeconfig {file}: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file is no kubeconfig. The parser's message is left out: it quotes the text around the error, perhaps a secret.
    #[error("--kubeconfig {0} is not a usable kubeconfig; see kubectl config view --kubeconfig")]
    NoKubeconfig(String),
    /// The client for the hub cluster cannot be made of its configuration.
    #[error("the hub cluster's configuration cannot be used: {0}")]
    Client(#[source] Box<kube::Error>),
    /// The address for `/healthz`, `/readyz` and `/metrics` is not free.
    #[error("--listen {address}: {error}; give another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
    /// Signals cannot be caught.
    #[error("signals cannot be caught: {0}")]
    Signal(#[from] std::io::Error),
    /// A part without which nothing is safe has ended.
    #[error("{0} ended, which it never should; the process is started anew")]
    Ended(&'static str),
}

/// A connection to the API server on which no byte came for so long is closed, and its watch begins again where it was. An
/// API server sends a bookmark on every watch about once a minute, so one that is silent for longer has lost its other end.
pub const READ_TIMEOUT: Duration = Duration::from_secs(75);

/// Runs until SIGTERM or SIGINT. Needs a cryptography provider to be installed.
///
/// # Errors
/// When it cannot begin, or a part ends that must not.
pub async fn run(options: Options) -> Result<(), HubError> {
    let config = configuration(options.kubeconfig.as_deref()).await?;
    let rules = AddressRules::new(options.allow_addresses, own_addresses(&config).await);
    let client = Client::try_from(config).map_err(|error| HubError::Client(Box::new(error)))?;
    let address = options.listen;
    let listener = web::listen(address).await.map_err(|error| HubError::Listen { address, error })?;
    let stop = stopped()?;
    tokio::pin!(stop);
    let reported = tokio::select! {
        biased;
        () = &mut stop => return Ok(()),
        found = service_range::find(&client) => found,
    };
    let rules = rules.with_services([reported, options.service_cidrs].concat());
    let names = Arc::new(Aliases::new(options.host_aliases));
    let clock = Clock::default();
    let instance = Instance {
        client,
        network: Network::new(rules).with_names(names),
        name: instance_name(&clock),
        clock,
        namespace: options.namespace,
        external_names: options.allow_external_names,
        leader_election: options.leader_election,
        listener: Some(listener),
    };
    run_instance(instance, stop).await
}

/// Ends with the first SIGTERM or SIGINT.
fn stopped() -> Result<impl Future<Output = ()>, HubError> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            biased;
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// How the hub cluster is reached.
async fn configuration(kubeconfig: Option<&Path>) -> Result<Config, HubError> {
    let mut config = match kubeconfig {
        None => Config::infer().await.map_err(|_| HubError::NoConfig)?,
        Some(file) => from_file(file).await?,
    };
    // Every call has a deadline and is decided anew; a client that repeats would do what was decided long ago.
    config.default_retry = false;
    config.read_timeout = Some(READ_TIMEOUT);
    Ok(config)
}

async fn from_file(path: &Path) -> Result<Config, HubError> {
    let file = path.display().to_string();
    std::fs::metadata(path).map_err(|error| HubError::Unreadable { file: file.clone(), error })?;
    let unusable = |_| HubError::NoKubeconfig(file.clone());
    let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(unusable)
}

/// The addresses of the hub's own API server, where no member may lead.
async fn own_addresses(config: &Config) -> Vec<IpAddr> {
    let Some(host) = config.cluster_url.host() else { return Vec::new() };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match tokio::time::timeout(http::DEADLINE, tokio::net::lookup_host((host, 0))).await {
        Ok(Ok(found)) => found.map(|socket| socket.ip()).collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}

/// A name for this instance of this process: another one never has it.
fn instance_name(clock: &Clock) -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "hub".to_owned());
    format!("{host}-{}-{}", std::process::id(), clock.now().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn members_may_not_lead_to_the_addresses_of_the_hubs_own_api_server() {
        for (url, address) in [("https://192.0.2.1:6443", "192.0.2.1"), ("https://[2001:db8::1]:6443", "2001:db8::1")] {
            let config = Config::new(url.parse().unwrap());
            assert_eq!(own_addresses(&config).await, [address.parse::<IpAddr>().unwrap()], "{url}");
        }
    }
}
