//! What this process serves about itself: `/healthz`, `/readyz` and `/metrics`.

mod counts;
mod described;
mod members;
mod metrics;
mod rollouts;
mod series;
mod snapshot;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use hyper::server::conn::http1::Builder;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};

pub(crate) use metrics::Metrics;
pub(crate) use snapshot::Snapshot;

/// Connections at a time; a Prometheus and the probes of a kubelet need three.
const CONNECTIONS: usize = 64;
/// The time in which a request must be there, and then its answer read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Called at each `/readyz`: `Err` says what is still missing.
pub(crate) type Readiness = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Called at each `/metrics`: what is known now, where this process acts.
pub(crate) type Known = Arc<dyn Fn() -> Option<Snapshot> + Send + Sync>;

/// What is served.
#[derive(Clone)]
pub(crate) struct Pages {
    /// What this process counts.
    pub(crate) metrics: Metrics,
    /// Whether it is ready.
    pub(crate) ready: Readiness,
    /// What it knows.
    pub(crate) known: Known,
}

/// Listens, so that a wrong address is an error at the start.
///
/// # Errors
/// When the address cannot be bound.
pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers for ever. Whoever connects sends a request within five seconds and gets one answer, and no more than 64 are
/// connected at a time: others wait for a place.
pub(crate) async fn serve(listener: TcpListener, pages: Pages) {
    serve_router(listener, router(pages)).await;
}

/// The same for any pages.
pub(crate) async fn serve_router(listener: TcpListener, pages: Router) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // Nobody closes the semaphore.
        let place = Arc::clone(&places).acquire_owned().await;
        match listener.accept().await {
            Ok((stream, _)) => {
                let pages = TowerToHyperService::new(pages.clone());
                tokio::spawn(async move {
                    let _place = place;
                    let connection = Builder::new()
                        .timer(TokioTimer::new())
                        .header_read_timeout(PATIENCE)
                        .keep_alive(false)
                        .serve_connection(TokioIo::new(stream), pages);
                    // What a client does wrong is its own affair.
                    let _ = timeout(2 * PATIENCE, connection).await;
                });
            }
            // The process has no more descriptors, or the client is gone already.
            Err(error) => {
                tracing::warn!(%error, "a connection to --listen was not accepted");
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

fn router(Pages { metrics, ready, known }: Pages) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || std::future::ready(readiness(ready()))))
        .route("/metrics", get(move || std::future::ready(exposition(&metrics, known().as_ref()))))
}

fn readiness(ready: Result<(), String>) -> impl IntoResponse {
    match ready {
        Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
        Err(missing) => (StatusCode::SERVICE_UNAVAILABLE, format!("{missing}\n")),
    }
}

fn exposition(metrics: &Metrics, known: Option<&Snapshot>) -> impl IntoResponse + use<> {
    let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, format)], metrics.text(known))
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };
    use tower::ServiceExt;

    use super::*;

    fn pages(ready: Result<(), String>) -> Pages {
        Pages { metrics: Metrics::default(), ready: Arc::new(move || ready.clone()), known: Arc::new(|| None) }
    }

    async fn status(path: &str, ready: Result<(), String>) -> StatusCode {
        let request = Request::get(path).body(Body::empty()).unwrap();
        router(pages(ready)).oneshot(request).await.unwrap().status()
    }

    /// The port, served.
    async fn served() -> SocketAddr {
        let listener = listen(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, pages(Ok(()))));
        address
    }

    /// What is read until the other side closes.
    async fn said(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(4 * PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    #[tokio::test]
    async fn an_answer_ends_the_connection() {
        let answer = said(served().await, "GET /healthz HTTP/1.1\r\nhost: hub\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("ok\n"), "{answer}");
    }

    #[tokio::test]
    async fn who_sends_no_request_gives_the_place_to_others() {
        let address = served().await;
        let mut idle = Vec::new();
        for _ in 0..CONNECTIONS {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let answer = said(address, "GET /readyz HTTP/1.1\r\nhost: hub\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }

    #[tokio::test]
    async fn a_process_lives_before_it_is_ready() {
        let waiting = || Err("rollouts have not been listed yet".to_owned());
        assert_eq!(status("/healthz", waiting()).await, StatusCode::OK);
        assert_eq!(status("/readyz", waiting()).await, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status("/readyz", Ok(())).await, StatusCode::OK);
        assert_eq!(status("/metrics", waiting()).await, StatusCode::OK);
    }
}
