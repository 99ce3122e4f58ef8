//! A Prometheus of the second tenant: a real one behind it, which it may turn against those who query it.

use crate::lab::member_address;
use anyhow::Result;
use http::{Request, Response, StatusCode, header::AUTHORIZATION};
use http_body_util::Full;
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::json;
use std::{
    convert::Infallible,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::AbortHandle,
};
use tokio_rustls::TlsAcceptor;

/// Longer than anybody waits for an answer.
const SLOW: Duration = Duration::from_secs(30);
/// Series in an answer: with their labels, more than a megabyte.
const SERIES: usize = 29_000;

/// What it does to queries that name a certain service.
#[derive(Clone, Copy, Debug)]
pub enum Malice {
    Slow,
    Floods,
}

/// Passes queries on to a Prometheus, and counts those of rollouts: the health check asks for no series.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    task: AbortHandle,
}

struct State {
    prometheus: String,
    queries: AtomicUsize,
    credentials: AtomicUsize,
    harmed: AtomicUsize,
    malice: Mutex<Option<(String, Malice)>>,
}

impl Proxy {
    /// At an address of eu-3; with `tls`, only by https.
    pub async fn pass_on(prometheus: String, tls: Option<TlsAcceptor>) -> Result<Self> {
        let listener = TcpListener::bind((member_address("eu-3"), 0)).await?;
        let state = Arc::new(State {
            prometheus,
            queries: AtomicUsize::default(),
            credentials: AtomicUsize::default(),
            harmed: AtomicUsize::default(),
            malice: Mutex::default(),
        });
        let (port, shared) = (listener.local_addr()?.port(), state.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, tls) = (shared.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => state.serve(stream).await,
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            state.serve(stream).await;
                        }
                    }
                });
            }
        });
        Ok(Self { port, state, task: task.abort_handle() })
    }

    pub fn address(&self, scheme: &str) -> String {
        format!("{scheme}://eu-3.lab:{}", self.port)
    }

    /// Queries of rollouts so far.
    pub fn queries(&self) -> usize {
        self.state.queries.load(Ordering::Relaxed)
    }

    /// Requests so far that brought credentials.
    pub fn credentials(&self) -> usize {
        self.state.credentials.load(Ordering::Relaxed)
    }

    /// Queries so far that were answered badly.
    pub fn harmed(&self) -> usize {
        self.state.harmed.load(Ordering::Relaxed)
    }

    /// From now on it does this to queries that contain `word`.
    pub fn turn(&self, word: &str, malice: Malice) {
        *self.state.malice.lock().unwrap_or_else(PoisonError::into_inner) = Some((word.to_owned(), malice));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let pass = service_fn(async |request| Ok::<_, Infallible>(self.answer(&request).await));
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), pass).await;
    }

    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        self.queries.fetch_add(usize::from(path.contains("http_requests_total")), Ordering::Relaxed);
        self.credentials.fetch_add(usize::from(request.headers().contains_key(AUTHORIZATION)), Ordering::Relaxed);
        let malice = self.malice.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, malice)) = malice.filter(|(word, _)| path.contains(word.as_str())) {
            self.harmed.fetch_add(1, Ordering::Relaxed);
            match malice {
                Malice::Slow => tokio::time::sleep(SLOW).await,
                Malice::Floods => return Response::new(FLOOD.clone().into()),
            }
        }
        let found = async { reqwest::get(format!("{}{path}", self.prometheus)).await?.text().await };
        match found.await {
            Ok(body) => Response::new(body.into()),
            Err(error) => {
                let mut response = Response::new(error.to_string().into());
                *response.status_mut() = StatusCode::BAD_GATEWAY;
                response
            }
        }
    }
}

/// Made once: the same process sends the requests of clients.
static FLOOD: LazyLock<Bytes> = LazyLock::new(|| {
    let one = |place: usize| json!({"metric": {"pod": format!("pod-{place:06}")}, "value": [1.0, "1"]});
    let result: Vec<_> = (0..SERIES).map(one).collect();
    json!({"status": "success", "data": {"resultType": "vector", "result": result}}).to_string().into()
});
