//! The process from its start to its graceful stop.

use std::{
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ipnet::IpNet;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Config, ResourceExt,
    config::{KubeConfigOptions, Kubeconfig},
    runtime::watcher,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{oneshot, watch as channel},
    task::JoinHandle,
};

use super::{
    Hub,
    backoff::wait_after,
    controller,
    lease::{CALL_DEADLINE, Election, Leadership},
    supervise, watch,
};
use crate::{
    clock,
    http::{self, AddressRules},
    web::{self, Metrics},
};

/// The write under way may end after a signal; so does the lease.
const GRACE: Duration = Duration::from_secs(5);
const _: () = assert!(CALL_DEADLINE.as_millis() < GRACE.as_millis());
/// A change of leadership is noticed within this time by those that only ask members.
const NOTICE: Duration = Duration::from_millis(500);

/// How the process is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kubeconfig of the hub cluster; else what the environment gives.
    pub kubeconfig: Option<PathBuf>,
    /// The hub's own namespace: its Lease, and the Secrets of members.
    pub namespace: String,
    /// Ask for the Lease before acting.
    pub leader_election: bool,
    /// Addresses that members may have although they lead back into this machine.
    pub allow_addresses: Vec<IpNet>,
    /// Addresses of names that the system's resolver is not asked for.
    pub host_aliases: Vec<(String, IpAddr)>,
    /// Where `/healthz`, `/readyz` and `/metrics` are answered.
    pub listen: SocketAddr,
}

/// Why the process ended without being asked to.
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
    /// The kubeconfig that was given is none. What is wrong is not told: the words of its parser show what is around it.
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
    /// Signals cannot be received.
    #[error("signals cannot be received: {0}")]
    Signal(#[from] std::io::Error),
    /// A part without which nothing is safe has ended.
    #[error("{0} ended, which it never should; the process is started anew")]
    Ended(&'static str),
}

/// Runs until SIGTERM or SIGINT. Needs a cryptography provider to be installed.
///
/// # Errors
/// When it cannot begin, or a part ends that must not.
pub async fn run(options: Options) -> Result<(), HubError> {
    let config = configuration(options.kubeconfig.as_deref()).await?;
    let rules = AddressRules::new(options.allow_addresses.clone(), own_addresses(&config).await)
        .with_aliases(options.host_aliases.iter().cloned().collect());
    let client = Client::try_from(config).map_err(|error| HubError::Client(Box::new(error)))?;
    let address = options.listen;
    let listener = web::listen(address).await.map_err(|error| HubError::Listen { address, error })?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    tokio::pin!(stop);
    let id = tokio::select! {
        id = identity(&client) => id,
        () = &mut stop => return Ok(()),
    };
    Running::begin(&client, id, rules, &options, listener).until(stop).await
}

/// How the hub cluster is reached.
async fn configuration(kubeconfig: Option<&Path>) -> Result<Config, HubError> {
    let mut config = match kubeconfig {
        None => Config::infer().await.map_err(|_| HubError::NoConfig)?,
        Some(file) => from_file(file).await?,
    };
    // Every call has a deadline and is decided anew; a client that repeats would do what was decided long ago.
    config.default_retry = false;
    Ok(config)
}

async fn from_file(path: &Path) -> Result<Config, HubError> {
    let file = path.display().to_string();
    std::fs::metadata(path).map_err(|error| HubError::Unreadable { file: file.clone(), error })?;
    let unusable = |_| HubError::NoKubeconfig(file.clone());
    let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(unusable)
}

/// The parts of a running process.
struct Running {
    hub: Arc<Hub>,
    web: JoinHandle<std::io::Result<()>>,
    controller: JoinHandle<()>,
    election: JoinHandle<()>,
    release: oneshot::Sender<()>,
}

impl Running {
    fn begin(
        client: &Client,
        id: String,
        rules: AddressRules,
        options: &Options,
        listener: tokio::net::TcpListener,
    ) -> Self {
        let (leader, metrics) = (life(), Metrics::default());
        let (release, released) = oneshot::channel();
        let (leadership, election) = lead(client, options, &leader, released);
        tracing::info!(leader, hub = id, namespace = options.namespace, "cutover hub begins");
        let hub = Arc::new(Hub::new(client.clone(), id, leader, leadership, rules, metrics.clone()));
        let asked = hub.clone();
        let ready = move || asked.missing().map_or(Ok(()), |missing| Err(missing.to_owned()));
        let web = tokio::spawn(web::serve(listener, metrics, Arc::new(ready)));
        watch_all(&hub, client, &options.namespace);
        let controller = tokio::spawn(controller::run(hub.clone()));
        Self { hub, web, controller, election, release }
    }

    /// Ends when `stop` does, or when a part ends that must not.
    async fn until(mut self, stop: impl Future<Output = ()>) -> Result<(), HubError> {
        let broken = tokio::select! {
            () = stop => None,
            _ = &mut self.election => Some("the election"),
            _ = &mut self.controller => Some("the controller"),
            _ = &mut self.web => Some("the web server"),
        };
        tracing::info!(broken, "stopping: writes under way may end");
        self.hub.leadership.resign();
        ended("passes", &mut self.controller).await;
        // An election that has ended has nothing to release.
        let _ = self.release.send(());
        ended("the lease", &mut self.election).await;
        broken.map_or(Ok(()), |part| Err(HubError::Ended(part)))
    }
}

/// Waits for a part to end, but not for long.
async fn ended(what: &str, part: &mut JoinHandle<()>) {
    if !part.is_finished() && tokio::time::timeout(GRACE, part).await.is_err() {
        tracing::warn!(what, "not ended within {GRACE:?}; the process ends all the same");
    }
}

fn lead(
    client: &Client,
    options: &Options,
    leader: &str,
    released: oneshot::Receiver<()>,
) -> (Leadership, JoinHandle<()>) {
    if !options.leader_election {
        return (Leadership::alone(), tokio::spawn(until(released)));
    }
    let (election, leadership) = Election::new(client.clone(), &options.namespace, leader);
    (leadership, tokio::spawn(election.run(until(released))))
}

/// Until the lease shall be given back. A sender that is gone asks for the same.
async fn until(released: oneshot::Receiver<()>) {
    let _ = released.await;
}

/// Begins the watches that last as long as the process.
fn watch_all(hub: &Arc<Hub>, client: &Client, namespace: &str) {
    let (watching, rollouts) = (hub.clone(), Api::all(client.clone()));
    tokio::spawn(async move {
        let config = watcher::Config::default;
        let fill = || {
            watch::fill(rollouts.clone(), config(), watching.rollouts.clone(), |_| {}, |change| watching.news(change))
        };
        supervise::forever("rollouts", &watching.metrics, fill).await;
    });
    let (watching, requests) = (hub.clone(), Api::all(client.clone()));
    tokio::spawn(async move {
        let config = watcher::Config::default;
        let fill = || {
            watch::fill(requests.clone(), config(), watching.requests.clone(), |_| {}, |change| watching.news(change))
        };
        supervise::forever("requests", &watching.metrics, fill).await;
    });
    let leading = channel::Sender::new(false);
    let (watching, client, namespace, receiver) =
        (hub.clone(), client.clone(), namespace.to_owned(), leading.subscribe());
    tokio::spawn(async move {
        let (registry, rules) = (&watching.registry, &watching.rules);
        let keep = || registry.run(client.clone(), &namespace, rules.clone(), receiver.clone());
        supervise::forever("members", &watching.metrics, keep).await;
    });
    tokio::spawn(members_wake(hub.clone()));
    tokio::spawn(announce_leadership(hub.clone(), leading));
}

/// A member that changed may concern every rollout.
async fn members_wake(hub: Arc<Hub>) {
    let mut changes = hub.registry.changes();
    while changes.changed().await.is_ok() {
        hub.wakers.wake_all();
        hub.changed.notify_one();
    }
}

async fn announce_leadership(hub: Arc<Hub>, leading: channel::Sender<bool>) {
    loop {
        let leads = hub.leadership.is_current();
        hub.metrics.lead(leads);
        leading.send_if_modified(|known| std::mem::replace(known, leads) != leads);
        tokio::time::sleep(NOTICE).await;
    }
}

/// UID of the namespace kube-system: which cluster this is. Asked until there is an answer.
async fn identity(client: &Client) -> String {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let mut failures = 0;
    loop {
        match tokio::time::timeout(CALL_DEADLINE, namespaces.get("kube-system")).await {
            Ok(Ok(namespace)) => return namespace.uid().unwrap_or_default(),
            Ok(Err(error)) => tracing::warn!(%error, "the hub cluster does not say which one it is; asked again"),
            Err(_) => tracing::warn!("the hub cluster does not answer; asked again"),
        }
        tokio::time::sleep(wait_after(failures)).await;
        failures += 1;
    }
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

/// A name for this life of this process: another one never has it.
fn life() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "hub".to_owned());
    format!("{host}-{}-{}", std::process::id(), clock::now().as_millisecond())
}
