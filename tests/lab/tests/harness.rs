//! The harness's own parts: what a test relies on is itself seen to work.

use crate::{
    gateway::Behaviour,
    lab::member_address,
    load::{Load, Plan, get},
    prometheus,
    runner::{Scene, Test},
    wait::{eventually, seconds},
};
use anyhow::{Result, ensure};
use std::net::SocketAddr;

pub const TESTS: &[Test] = &[
    Test { name: "prometheus_through_the_api_proxy", exclusive: false, run: |scene| Box::pin(prometheus_query(scene)) },
    Test { name: "api_server_stops_and_starts", exclusive: true, run: |scene| Box::pin(api_server(scene)) },
];

/// 200 requests, every 20th failing: what Prometheus says through the API server's proxy is what was sent.
async fn prometheus_query(scene: Scene) -> Result<()> {
    let service = &scene.namespace;
    let member = scene.member("eu-2");
    member.gateway.behave(service, Behaviour { fail_every: Some(20), ..Behaviour::default() });
    let to = SocketAddr::from((member_address("eu-2"), 80));
    let totals = Load::start(Plan::new(to, &format!("{service}.eu-2.lab"), 200)).finish().await;
    ensure!(totals.by_status.get(&500) == Some(&10) && totals.failed == 0, "{totals:?}");
    for (wanted, code) in [(190.0, 200), (10.0, 500)] {
        let promql = format!("http_requests_total{{service=\"{service}\",code=\"{code}\"}}");
        eventually("the count", seconds(10), async || {
            let value = prometheus::query(&member.cluster, &promql).await?;
            ensure!((value - wanted).abs() < 0.5, "{value} instead of {wanted}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

async fn api_server(scene: Scene) -> Result<()> {
    let member = scene.member("eu-2");
    member.cluster.server.stop().await?;
    ensure!(member.cluster.client.apiserver_version().await.is_err(), "it answers after it was stopped");
    member.cluster.server.start().await?;
    member.cluster.client.apiserver_version().await?;
    member.gateway.close();
    let to = SocketAddr::from((member.cluster.address, 80));
    ensure!(get(to, "x.eu-2.lab", "/healthz").await.is_err(), "the gateway answers after it was closed");
    member.gateway.open().await?;
    ensure!(get(to, "x.eu-2.lab", "/healthz").await? == 200, "the gateway does not answer after it was opened");
    Ok(())
}
