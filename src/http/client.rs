//! A client for one peer.

mod post;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use http::{Method, Request};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use reqwest::{
    Body, Certificate, Identity, Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{AUTHORIZATION, CONTENT_TYPE, DATE, HOST, HeaderMap, HeaderValue},
    redirect,
};
use secrecy::ExposeSecret;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{HttpError, Limits, Network, Peer, Peers, sanitise};
pub(crate) use post::{Post, Reply};

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// When it was given, by the clock of who gave it.
    pub date: Option<Timestamp>,
    /// The body, within its limit. It must never be shown or logged.
    pub body: Vec<u8>,
}

/// A client for one peer. It follows no redirect, uses no proxy, never retries, and connects only to addresses that the
/// rules allow. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    way: Way,
    bodies: Arc<Semaphore>,
    base: Url,
    host: Option<HeaderValue>,
    authorization: Option<HeaderValue>,
}

/// The transport of calls: sockets, or a test's replacement.
#[derive(Clone, Debug)]
enum Way {
    Sockets(reqwest::Client),
    Peers(Arc<dyn Peers>),
}

impl Client {
    /// A client for this peer.
    ///
    /// # Errors
    /// If the address is a literal that the rules refuse, or the certificates cannot be used.
    pub(crate) fn new(peer: &Peer, network: &Network) -> Result<Self, HttpError> {
        // A literal in the URL is connected to without asking the resolver.
        if let Ok(address) = host(&peer.base).parse::<std::net::IpAddr>() {
            network.rules.check(&address.to_string(), address)?;
        }
        let (way, base) = match &network.peers {
            None => (Way::Sockets(sockets(peer, network)?), peer.requested()?),
            Some(peers) => (Way::Peers(peers.clone()), peer.base.clone()),
        };
        let bodies = Arc::clone(&network.bodies);
        Ok(Self { way, bodies, base, host: peer.host()?, authorization: peer.authorization.clone() })
    }

    /// Sends a GET of `path` (below the prefix) with these query parameters, and reads the answer. Bodies are held only while
    /// they are read, all of them together within a limit.
    ///
    /// # Errors
    /// If there is no complete answer within the limits. Any status is an answer.
    pub(crate) async fn get<T>(
        &self,
        path: &str,
        query: &[(&str, &str)],
        limits: Limits,
        read: impl FnOnce(&Answer) -> T,
    ) -> Result<T, HttpError> {
        self.send(self.call(Method::GET, path, query, None)?, limits, read).await
    }

    /// Sends a POST of this JSON to `path` (below the prefix), and reads the answer like that to a GET.
    ///
    /// # Errors
    /// If there is no complete answer within the limits. Any status is an answer.
    pub(crate) async fn post<T>(
        &self,
        path: &str,
        json: Vec<u8>,
        limits: Limits,
        read: impl FnOnce(&Answer) -> T,
    ) -> Result<T, HttpError> {
        self.send(self.call(Method::POST, path, &[], Some(json))?, limits, read).await
    }

    async fn send<T>(
        &self,
        call: Request<Body>,
        limits: Limits,
        read: impl FnOnce(&Answer) -> T,
    ) -> Result<T, HttpError> {
        let mut held = Held::none(&self.bodies);
        let answer = async {
            match &self.way {
                Way::Sockets(client) => whole(client.execute(call.try_into()?).await?, limits.body, &mut held).await,
                Way::Peers(peers) => within_limit(peers.answer(call.map(drop)).await?, limits.body),
            }
        };
        Ok(read(&within(limits.deadline, answer).await?))
    }

    /// Sends a GET of `path` and returns the status; the body is not read.
    ///
    /// # Errors
    /// If there is no status before the deadline.
    pub(crate) async fn status(&self, path: &str, deadline: Duration) -> Result<u16, HttpError> {
        let call = self.call(Method::GET, path, &[], None)?;
        let status = async {
            match &self.way {
                Way::Sockets(client) => Ok(client.execute(call.try_into()?).await?.status().as_u16()),
                Way::Peers(peers) => Ok(peers.answer(call.map(drop)).await?.status),
            }
        };
        within(deadline, status).await
    }

    fn call(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        json: Option<Vec<u8>>,
    ) -> Result<Request<Body>, HttpError> {
        let mut call = Request::builder().method(method).uri(self.url(path, query).as_str());
        if let Some(host) = &self.host {
            call = call.header(HOST, host);
        }
        if let Some(authorization) = &self.authorization {
            call = call.header(AUTHORIZATION, authorization);
        }
        if json.is_some() {
            call = call.header(CONTENT_TYPE, "application/json");
        }
        call.body(json.map_or_else(Body::default, Body::from))
            .map_err(|error| HttpError::Failed(sanitise(&error.to_string())))
    }

    fn url(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }
}

fn sockets(peer: &Peer, network: &Network) -> Result<reqwest::Client, HttpError> {
    super::install_crypto();
    let resolver = Checked { host: host(&peer.base), network: network.clone() };
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .dns_resolver(resolver)
        .pool_max_idle_per_host(usize::from(peer.keep_alive));
    match (&peer.roots, &peer.identity) {
        (Some(roots), _) => builder = builder.tls_certs_only(certificates(roots)?),
        (None, None) => builder = builder.tls_backend_preconfigured(network.system_tls()?),
        (None, Some(_)) => {}
    }
    if let Some(identity) = &peer.identity {
        let bad = |_| HttpError::BadCredentials("the client certificate and key");
        builder = builder.identity(Identity::from_pem(identity.expose_secret()).map_err(bad)?);
    }
    Ok(builder.build()?)
}

/// The part of the limit for all bodies that one body takes.
struct Held<'a> {
    bodies: &'a Semaphore,
    kibibytes: usize,
    permits: Option<SemaphorePermit<'a>>,
}

impl<'a> Held<'a> {
    const fn none(bodies: &'a Semaphore) -> Self {
        Self { bodies, kibibytes: 0, permits: None }
    }

    /// Takes what a body of so many bytes needs beyond what it has.
    fn grow(&mut self, bytes: usize) -> Result<(), HttpError> {
        let more = bytes.div_ceil(1024).saturating_sub(self.kibibytes);
        let permits = u32::try_from(more).map_err(|_| HttpError::Flood)?;
        let taken = self.bodies.try_acquire_many(permits).map_err(|_| HttpError::Flood)?;
        match &mut self.permits {
            Some(permits) => permits.merge(taken),
            None => self.permits = Some(taken),
        }
        self.kibibytes += more;
        Ok(())
    }
}

async fn whole(mut response: Response, limit: usize, held: &mut Held<'_>) -> Result<Answer, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit {
            return Err(HttpError::TooLarge(limit));
        }
        held.grow(body.len() + chunk.len())?;
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status: response.status().as_u16(), date: date(response.headers()), body })
}

/// The header Date, in the one form that RFC 9110 (5.6.7) allows to be sent.
fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(DATE)?.to_str().ok()?;
    Some(DateTime::strptime("%a, %d %b %Y %H:%M:%S GMT", text).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

fn within_limit(answer: Answer, limit: usize) -> Result<Answer, HttpError> {
    if answer.body.len() > limit { Err(HttpError::TooLarge(limit)) } else { Ok(answer) }
}

async fn within<T>(deadline: Duration, call: impl Future<Output = Result<T, HttpError>>) -> Result<T, HttpError> {
    tokio::time::timeout(deadline, call).await.unwrap_or(Err(HttpError::Late(deadline)))
}

/// Resolves the peer's host, not its TLS name, and refuses addresses that the rules refuse.
struct Checked {
    host: Arc<str>,
    network: Network,
}

impl Resolve for Checked {
    fn resolve(&self, _: Name) -> Resolving {
        let (host, network) = (Arc::clone(&self.host), self.network.clone());
        Box::pin(async move {
            let addresses = network.resolve(&host).await?;
            // Port 0 stands for the port of the URL.
            Ok(Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate>, HttpError> {
    let bad = HttpError::BadCredentials("the CA certificates");
    match Certificate::from_pem_bundle(pem) {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) | Err(_) => Err(bad),
    }
}

/// The host without the brackets of an IPv6 literal.
fn host(url: &Url) -> Arc<str> {
    url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').into()
}
