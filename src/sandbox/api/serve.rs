//! The server on a socket.

use axum::{Router, serve::Listener};

use super::ApiServer;

impl ApiServer {
    /// Answers HTTP/1.1 on `listener` for ever: a `TcpListener`, or one that speaks TLS over it.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn serve<L>(self, listener: L) -> std::io::Result<()>
    where
        L: Listener,
        L::Addr: std::fmt::Debug,
    {
        axum::serve(listener, Router::new().fallback_service(self)).await
    }
}
