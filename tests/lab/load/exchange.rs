//! One request and its answer.

use super::{PATIENCE, Plan};
use anyhow::{Context, Result};
use http::{Request, StatusCode, header, response::Parts};
use http_body_util::{BodyExt, Empty};
use hyper::{
    body::Bytes,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

pub(super) type Connection = SendRequest<Empty<Bytes>>;

/// One GET, on the given connection if it still lives, else on a new one.
pub(super) async fn send(plan: &Plan, path: &str, connection: Option<Connection>) -> Result<(StatusCode, Connection)> {
    let (head, connection) = exchange(plan, path, connection).await?;
    Ok((head.status, connection))
}

async fn exchange(plan: &Plan, path: &str, connection: Option<Connection>) -> Result<(Parts, Connection)> {
    let mut connection = match alive(connection).await {
        Some(kept) => kept,
        None => reach(plan).await?,
    };
    let mut request = Request::get(path).header(header::HOST, &plan.host);
    for (name, value) in &plan.headers {
        request = request.header(*name, value);
    }
    let request = request.body(Empty::new())?;
    let response = connection.send_request(request).await.context("no answer")?;
    let (head, body) = response.into_parts();
    body.collect().await.context("the answer was cut short")?;
    Ok((head, connection))
}

async fn alive(connection: Option<Connection>) -> Option<Connection> {
    let mut connection = connection?;
    connection.ready().await.ok()?;
    Some(connection)
}

/// A new connection, as the plan wants it.
async fn reach(plan: &Plan) -> Result<Connection> {
    let Some((config, name)) = &plan.tls else { return connect(plan.to).await };
    let stream = TcpStream::connect(plan.to).await.context("cannot connect")?;
    let secure = TlsConnector::from(config.clone()).connect(name.clone(), stream).await.context("no TLS")?;
    over(secure).await
}

pub async fn connect(to: SocketAddr) -> Result<Connection> {
    over(TcpStream::connect(to).await.context("cannot connect")?).await
}

async fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Result<Connection> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// The status of one GET on a connection of its own.
pub async fn get(to: SocketAddr, host: &str, path: &str) -> Result<StatusCode> {
    ask(&Plan::new(to, host, 1), path).await
}

/// The same, with the plan's headers.
pub async fn ask(plan: &Plan, path: &str) -> Result<StatusCode> {
    let (status, _) = timeout(PATIENCE, send(plan, path, None)).await??;
    Ok(status)
}

/// The answer to one such GET, but for its body.
pub async fn answer(plan: &Plan, path: &str) -> Result<Parts> {
    let (head, _) = timeout(PATIENCE, exchange(plan, path, None)).await??;
    Ok(head)
}
