//! A member's ingress: real HTTP and HTTPS servers that count requests and fail or dawdle on request.

use crate::{
    pki::Served,
    prometheus::Scraped,
    tally::{Tally, service},
};
use anyhow::{Context, Result};
use http::{Request, Response, StatusCode, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::Ipv4Addr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::{AbortHandle, JoinSet},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, server::ResolvesServerCertUsingSni, sign::CertifiedKey},
};

const METRICS_PORT: u16 = 9100;

/// How a service behaves on one member.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Behaviour {
    /// Every n-th request is answered with 500 (20: five percent); `None`: none is.
    pub fail_every: Option<u64>,
    /// Added to every answer.
    pub delay: Duration,
}

/// Serves on ports 80 and 443 of the member's address, and metrics on 9100.
pub struct Gateway {
    address: Ipv4Addr,
    tls: TlsAcceptor,
    state: Arc<State>,
    servers: Mutex<JoinSet<()>>,
    metrics: AbortHandle,
}

#[derive(Default)]
struct State {
    tally: Tally,
    behaviours: Mutex<BTreeMap<String, (Behaviour, u64)>>,
}

impl Gateway {
    /// Each certificate is shown only to clients that give its server name; all other TLS handshakes fail.
    pub async fn start(address: Ipv4Addr, certificates: &[(&str, &Served)]) -> Result<Self> {
        let state = Arc::<State>::default();
        let metrics = TcpListener::bind((address, METRICS_PORT)).await.context("cannot serve metrics")?;
        let metrics = tokio::spawn(serve_metrics(metrics, state.clone())).abort_handle();
        let tls = acceptor(certificates)?;
        let gateway = Self { address, tls, state, servers: Mutex::default(), metrics };
        gateway.open().await?;
        Ok(gateway)
    }

    /// Accepts connections (again).
    pub async fn open(&self) -> Result<()> {
        let plain = TcpListener::bind((self.address, 80)).await.context("cannot serve HTTP")?;
        let secure = TcpListener::bind((self.address, 443)).await.context("cannot serve HTTPS")?;
        let mut servers = self.servers.lock().unwrap();
        servers.spawn(serve(plain, None, self.state.clone()));
        servers.spawn(serve(secure, Some(self.tls.clone()), self.state.clone()));
        Ok(())
    }

    /// Cuts every connection; new ones are refused. Metrics are served on.
    pub async fn close(&self) {
        let mut servers = std::mem::take(&mut *self.servers.lock().unwrap());
        servers.shutdown().await;
    }

    pub fn behave(&self, service: &str, behaviour: Behaviour) {
        self.state.behaviours.lock().unwrap().insert(service.to_owned(), (behaviour, 0));
    }

    pub fn metrics(&self) -> Scraped {
        Scraped { address: (self.address, METRICS_PORT).into(), path: "/metrics" }
    }

    pub fn tally(&self) -> &Tally {
        &self.state.tally
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.metrics.abort();
    }
}

impl State {
    /// The behaviour of a service for its next request, and the answer's status.
    fn next(&self, service: &str) -> (StatusCode, Duration) {
        let mut behaviours = self.behaviours.lock().unwrap();
        let Some((behaviour, seen)) = behaviours.get_mut(service) else {
            return (StatusCode::OK, Duration::ZERO);
        };
        *seen += 1;
        let fails = behaviour.fail_every.is_some_and(|every| seen.is_multiple_of(every));
        (if fails { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK }, behaviour.delay)
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<String> {
        if request.uri().path() == "/healthz" {
            return Response::new("ok\n".to_owned());
        }
        let since = Instant::now();
        let text = |name| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (host, agent) = (text(header::HOST), text(header::USER_AGENT));
        let (status, delay) = self.next(service(host));
        tokio::time::sleep(delay).await;
        self.tally.count(host, agent, status.as_u16(), since.elapsed());
        let mut response = Response::new(format!("{}\n", service(host)));
        *response.status_mut() = status;
        response.headers_mut().insert(header::SET_COOKIE, header::HeaderValue::from_static("basket=full; Path=/"));
        response
    }
}

/// By server name.
pub fn acceptor(certificates: &[(&str, &Served)]) -> Result<TlsAcceptor> {
    let mut by_name = ResolvesServerCertUsingSni::new();
    for (server_name, served) in certificates {
        by_name.add(server_name, certified(served)?)?;
    }
    let config = ServerConfig::builder().with_no_client_auth().with_cert_resolver(Arc::new(by_name));
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certified(served: &Served) -> Result<CertifiedKey> {
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
    let chain = CertificateDer::pem_file_iter(&served.certificate)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(&served.key)?;
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key)?;
    Ok(CertifiedKey::new(chain, key))
}

/// Aborting this task drops the listener and every connection.
async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, state) = (tls.clone(), state.clone());
        connections.spawn(async move {
            match tls {
                None => serve_connection(stream, state).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve_connection(stream, state).await;
                    }
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: impl AsyncRead + AsyncWrite + Unpin, state: Arc<State>) {
    let answer = service_fn(async |request| Ok::<_, Infallible>(state.answer(request).await));
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), answer).await;
}

async fn serve_metrics(listener: TcpListener, state: Arc<State>) {
    let answer =
        move || async move { ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], state.tally.exposition()) };
    let _ = axum::serve(listener, axum::Router::new().fallback(answer)).await;
}
