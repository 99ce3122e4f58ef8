//! Skipper as the hub's data plane. It knows no client credentials, so it reads the hub through a small proxy that adds them.

use crate::{
    cluster::Cluster,
    parts::Parts,
    process::Process,
    prometheus::Scraped,
    wait::{answers, eventually, seconds},
};
use anyhow::{Context, Result};
use axum::{Router, body::Body, extract::Request, extract::State, http::StatusCode, response::Response};
use kube::Client;
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
};
use tokio::{net::TcpListener, process::Command, task::AbortHandle};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const API: &str = "127.0.0.1:8101";
const SUPPORT: &str = "127.0.0.1:8102";

pub struct Skipper {
    /// Where clients connect.
    pub address: SocketAddr,
    proxy: AbortHandle,
    _process: Process,
}

impl Skipper {
    /// Starts it on an empty or full hub; it trusts the lab's authority (`ca`) and reads the hub twice a second.
    pub async fn start(parts: &Parts, folder: &Path, hub: &Cluster, ca: &Path) -> Result<Self> {
        let listener = TcpListener::bind(API).await.context("cannot serve the hub's API to Skipper")?;
        let router = Router::new().fallback(forward).with_state(hub.client.clone());
        let proxy = tokio::spawn(async move { drop(axum::serve(listener, router).await) }).abort_handle();
        let address = SocketAddr::from((ADDRESS, 80));
        let mut command = Command::new(&parts.skipper);
        command.env("SSL_CERT_FILE", ca).args([
            "-kubernetes",
            &format!("-kubernetes-url=http://{API}"),
            &format!("-address={address}"),
            &format!("-support-listener={SUPPORT}"),
            "-source-poll-timeout=500",
            // Else the Host that a member sees is the address of its endpoint.
            "-proxy-preserve-host",
            "-enable-kubernetes-endpointslices",
            "-wait-first-route-load",
            "-access-log-disabled",
            "-metrics-flavour=prometheus",
            "-serve-route-metrics",
        ]);
        let mut process = Process::spawn("skipper", command, &folder.join("logs/skipper.log"))?;
        eventually("skipper", seconds(30), async || {
            process.check()?;
            answers(&format!("http://{SUPPORT}/metrics")).await
        })
        .await?;
        Ok(Self { address, proxy, _process: process })
    }
}

impl Skipper {
    pub fn metrics() -> Scraped {
        Scraped { address: SUPPORT.parse().expect("an address"), path: "/metrics" }
    }
}

impl Drop for Skipper {
    fn drop(&mut self) {
        self.proxy.abort();
    }
}

/// Skipper only reads.
async fn forward(State(hub): State<Client>, request: Request) -> Result<Response, StatusCode> {
    if request.method() != http::Method::GET {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let question = http::Request::get(path).body(kube::client::Body::empty()).map_err(|_| StatusCode::BAD_REQUEST)?;
    let answer = hub.send(question).await.map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok(answer.map(Body::new))
}
