//! A member, looked at step by step, so that a person sees at which step it ends.

use std::{net::IpAddr, time::Duration};

use futures::{future::join_all, join};
use jiff::Timestamp;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use tokio::net::TcpStream;

use super::{Member, client::ApiServer, health, kubeconfig};
use crate::{
    api::{Purpose, status::ConditionStatus},
    http::{DEADLINE, Peer},
};

/// The time that a name or a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// A step on the way to what a member is needed for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// The Secret and the kubeconfig in it.
    Kubeconfig,
    /// The name of the API server.
    Dns,
    /// A connection to it.
    Tcp,
    /// Its certificate.
    Tls,
    /// The credentials.
    Login,
    /// A right there.
    Right(Box<ResourceAttributes>),
    /// Its Prometheus.
    Prometheus,
}

/// What a step showed; in words, also why it did not succeed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// The step.
    pub step: Step,
    /// What it showed.
    pub result: Result<String, String>,
}

impl Seen {
    fn new(step: Step, result: Result<impl Into<String>, String>) -> Self {
        Self { step, result: result.map(Into::into) }
    }
}

impl Member {
    /// The way to the API server with each of these rights, as far as it leads, and its Prometheus. Writes nothing.
    pub(crate) async fn inspect(&self, rights: &[ResourceAttributes], now: Timestamp) -> Vec<Seen> {
        let (mut seen, metrics) = join!(self.inspect_api(rights, now), health::metrics(self, now));
        let good = metrics.status == ConditionStatus::True;
        let metrics = if good { Ok(metrics.message) } else { Err(metrics.message) };
        seen.push(Seen::new(Step::Prometheus, metrics));
        seen
    }

    /// Whether an endpoint answers.
    ///
    /// # Errors
    /// In words, why it does not.
    pub(crate) async fn answers(
        &self,
        (host, port): (&str, u16),
        server_name: Option<&str>,
        host_header: &str,
    ) -> Result<(), String> {
        let probe = self.probe(host, port, server_name, host_header).map_err(|problem| problem.message)?;
        probe.ask(&self.network).await
    }

    async fn inspect_api(&self, rights: &[ResourceAttributes], now: Timestamp) -> Vec<Seen> {
        let api = match &self.api {
            None => return Vec::new(),
            Some(Err(problem)) => return vec![Seen::new(Step::Kubeconfig, Err::<String, _>(problem.message.clone()))],
            Some(Ok(api)) => api,
        };
        let mut seen = vec![Seen::new(Step::Kubeconfig, Ok("it can be used"))];
        let Some((host, port)) = self.server(now) else { return seen };
        let addresses = match self.addresses(&host).await {
            Ok(addresses) => addresses,
            Err(why) => return with(seen, Seen::new(Step::Dns, Err::<String, _>(why))),
        };
        seen.push(Seen::new(Step::Dns, Ok(format!("{host} is {}", listed(&addresses)))));
        let connected = connect(&addresses, port).await;
        let connects = connected.is_ok();
        seen.push(Seen::new(Step::Tcp, connected));
        if connects {
            seen.extend(log_in(api, rights).await);
        }
        seen
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let resolved = tokio::time::timeout(CONNECT, self.network.resolve(host)).await;
        resolved.map_err(|_| late(host))?.map_err(|error| error.to_string())
    }

    /// Host and port of the API server.
    fn server(&self, now: Timestamp) -> Option<(String, u16)> {
        let reference = self.spec().kubeconfig_secret_ref.as_ref()?;
        let text = self.declared.secrets.text(reference, Purpose::Kubeconfig).ok()?;
        let base = Peer::at(&kubeconfig::parse(text, now).ok()?.server).ok()?.base;
        let host = base.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some((host, base.port_or_known_default()?))
    }
}

fn with(mut seen: Vec<Seen>, last: Seen) -> Vec<Seen> {
    seen.push(last);
    seen
}

fn listed(addresses: &[IpAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn late(what: &str) -> String {
    format!("{what}: no answer within {} s", CONNECT.as_secs())
}

/// Connects to the first address that takes it.
async fn connect(addresses: &[IpAddr], port: u16) -> Result<String, String> {
    let attempts = addresses.iter().map(async |address| {
        let to = format!("{}", std::net::SocketAddr::new(*address, port));
        match tokio::time::timeout(CONNECT, TcpStream::connect((*address, port))).await {
            Ok(Ok(_)) => Ok(format!("{to} takes connections")),
            Ok(Err(error)) => Err(format!("{to}: {error}")),
            Err(_) => Err(late(&to)),
        }
    });
    let (good, bad): (Vec<_>, Vec<_>) = join_all(attempts).await.into_iter().partition(Result::is_ok);
    good.into_iter().chain(bad).next().unwrap_or_else(|| Err("no address".to_owned()))
}

/// TLS, the credentials, and each right.
async fn log_in(api: &ApiServer, rights: &[ResourceAttributes]) -> Vec<Seen> {
    let status = api.client.status("/version", DEADLINE).await.map_err(|error| error.to_string());
    let spoken = status.is_ok();
    let mut seen = vec![Seen::new(Step::Tls, status.map(|_| "the certificate is valid, and it answers"))];
    if !spoken {
        return seen;
    }
    let reviews = join_all(rights.iter().map(|right| api.may(right))).await;
    if let Some(problem) = reviews.iter().find_map(|review| review.as_ref().err()) {
        return with(seen, Seen::new(Step::Login, Err::<String, _>(problem.message.clone())));
    }
    seen.push(Seen::new(Step::Login, Ok("it knows the credentials")));
    let of_rights = rights.iter().zip(reviews).map(|(right, review)| {
        let allowed = review.unwrap_or_default();
        let result = if allowed { Ok("allowed") } else { Err("not allowed".to_owned()) };
        Seen::new(Step::Right(Box::new(right.clone())), result)
    });
    seen.extend(of_rights);
    seen
}
