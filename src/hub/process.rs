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
/// API server sends a bookmark about once a minute on each watch of a kind that was ever written, so one that is silent for
/// longer has lost its other end; of other kinds it costs a request.
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
    Ok(noticing_silence(config, READ_TIMEOUT))
}

/// A connection is closed on which no byte came for so long after the last request. The time for which it was kept for the
/// next request is no silence.
fn noticing_silence(mut config: Config, after: Duration) -> Config {
    config.read_timeout = Some(after);
    config.reset_reader_on_write = true;
    config
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
    use ::http::Request;
    use futures::{AsyncBufReadExt, StreamExt};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::{Instant, sleep},
    };

    use super::*;

    /// Begins a body that never goes on for `/watch`, and answers everything else after 600 ms.
    async fn serve(listener: TcpListener) {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = [0; 4096];
                while let Ok(read @ 1..) = socket.read(&mut head).await {
                    let answer = if head[..read].starts_with(b"GET /watch") {
                        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\na\n\r\n"
                    } else {
                        sleep(Duration::from_millis(600)).await;
                        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
                    };
                    socket.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    }

    #[tokio::test]
    async fn a_watch_that_falls_silent_ends_and_a_connection_that_was_not_needed_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        tokio::spawn(serve(listener));
        let silence = Duration::from_secs(1);
        let client = Client::try_from(noticing_silence(Config::new(url), silence)).unwrap();
        let get = |path: &str| Request::get(path).body(Vec::new()).unwrap();
        for _ in 0..2 {
            assert_eq!(client.request_text(get("/")).await.unwrap(), "ok");
            sleep(Duration::from_millis(600)).await;
        }
        let mut events = client.request_stream(get("/watch")).await.unwrap().lines();
        assert_eq!(events.next().await.unwrap().unwrap(), "a");
        let began = Instant::now();
        assert!(events.next().await.unwrap().is_err());
        assert!((silence / 2..silence * 10).contains(&began.elapsed()), "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn members_may_not_lead_to_the_addresses_of_the_hubs_own_api_server() {
        for (url, address) in [("https://192.0.2.1:6443", "192.0.2.1"), ("https://[2001:db8::1]:6443", "2001:db8::1")] {
            let config = Config::new(url.parse().unwrap());
            assert_eq!(own_addresses(&config).await, [address.parse::<IpAddr>().unwrap()], "{url}");
        }
    }
}
