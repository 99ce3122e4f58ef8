//! What this process serves about itself: `/healthz`, `/readyz` and `/metrics`.

mod metrics;

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Router,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use tokio::net::TcpListener;

pub(crate) use metrics::Metrics;

/// Called at each `/readyz`: `Err` says what is still missing.
pub(crate) type Readiness = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Listens, so that a wrong address is an error at the start.
///
/// # Errors
/// When the address cannot be bound.
pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers for ever.
///
/// # Errors
/// When the listener fails.
pub(crate) async fn serve(listener: TcpListener, metrics: Metrics, ready: Readiness) -> std::io::Result<()> {
    axum::serve(listener, pages(metrics, ready)).await
}

fn pages(metrics: Metrics, ready: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || std::future::ready(readiness(ready()))))
        .route("/metrics", get(move || std::future::ready(exposition(&metrics))))
}

fn readiness(ready: Result<(), String>) -> impl IntoResponse {
    match ready {
        Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
        Err(missing) => (StatusCode::SERVICE_UNAVAILABLE, format!("{missing}\n")),
    }
}

fn exposition(metrics: &Metrics) -> impl IntoResponse + use<> {
    let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, format)], metrics.text())
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    use super::*;

    async fn status(path: &str, ready: Result<(), String>) -> StatusCode {
        let pages = pages(Metrics::default(), Arc::new(move || ready.clone()));
        let request = Request::get(path).body(Body::empty()).unwrap();
        pages.oneshot(request).await.unwrap().status()
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
