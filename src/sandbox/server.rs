//! HTTP servers on loopback.

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use axum::body::Body;
use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

/// What servers here answer with.
pub type Answer = Response<Body>;

type Handler = Arc<dyn Fn(Request<Incoming>) -> BoxFuture<'static, Answer> + Send + Sync>;

/// Any free port.
pub const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A server on a port of its own. It ends with the value, and every connection with it.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Serves plain HTTP, or HTTPS where `tls` is given, at any free port.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start<A>(
        tls: Option<TlsAcceptor>,
        answer: impl Fn(Request<Incoming>) -> A + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        A: Future<Output = Answer> + Send + 'static,
    {
        Self::at(ANY, tls, answer).await
    }

    /// Serves at an address.
    ///
    /// # Errors
    /// When it is not this machine's, or taken.
    pub async fn at<A>(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        answer: impl Fn(Request<Incoming>) -> A + Send + Sync + 'static,
    ) -> io::Result<Self>
    where
        A: Future<Output = Answer> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let handler: Handler = Arc::new(move |request| answer(request).boxed());
        Ok(Self { address, accepting: tokio::spawn(accept(listener, tls, handler)) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The connections are this task's own, so they end when it is aborted.
async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, answer: Handler) {
    let mut connections = JoinSet::new();
    loop {
        // A process that has no file left to open may have one later.
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (tls, answer) = (tls.clone(), answer.clone());
        connections.spawn(async move {
            match tls {
                None => converse(stream, answer).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        converse(stream, answer).await;
                    }
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, answer: Handler) {
    let service = service_fn(|request| answer(request).map(Ok::<_, Infallible>));
    // A client that goes away is no news.
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
}

/// An answer with a short text.
pub(super) fn text(status: u16, text: impl Into<Body>) -> Answer {
    let mut answer = Response::new(text.into());
    *answer.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    answer
}

/// An answer with a JSON value.
pub(super) fn json(status: u16, value: &serde_json::Value) -> Answer {
    let mut answer = text(status, value.to_string());
    answer.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    answer
}
