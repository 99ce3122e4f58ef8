//! Backends and judgement for hand-made routes: no hub process, weights written by the test.

use crate::{
    cluster::Cluster,
    lab::{MEMBERS, member_address},
    load::{Load, Plan, get},
    runner::Scene,
    shares::assert_shares,
    stage::external_name,
    wait::{eventually, seconds},
};
use anyhow::{Result, ensure};
use std::net::SocketAddr;

const REQUESTS: u64 = 2_100;

/// One ExternalName Service per member: `<namespace>-eu-1` leads to `<namespace>.eu-1.lab`.
pub async fn external_names(scene: &Scene) -> Result<()> {
    let name = &scene.namespace;
    for member in MEMBERS {
        external_name(&scene.hub, name, &format!("{name}-{member}"), &format!("{name}.{member}.lab")).await?;
    }
    Ok(())
}

/// A port of the members' gateways.
#[derive(Clone, Copy)]
pub struct Port {
    name: &'static str,
    pub number: u16,
}

pub const HTTP: Port = Port { name: "http", number: 80 };
pub const TLS: Port = Port { name: "tls", number: 443 };

/// One selectorless Service with an EndpointSlice per member, `<namespace>-eu-1` and so on.
pub async fn endpoint_slices(scene: &Scene) -> Result<()> {
    endpoint_slices_on(scene, HTTP).await
}

/// The same on any port.
pub async fn endpoint_slices_on(scene: &Scene, port: Port) -> Result<()> {
    for member in MEMBERS {
        let name = format!("{}-{member}", scene.namespace);
        selectorless(&scene.hub, &scene.namespace, &name, member, port).await?;
    }
    Ok(())
}

/// One selectorless Service, and an EndpointSlice of its name that leads to the member's gateway.
pub async fn endpoint_slice(scene: &Scene, name: &str, member: &str) -> Result<()> {
    selectorless(&scene.hub, &scene.namespace, name, member, HTTP).await
}

/// The same in any cluster and on any port.
pub async fn selectorless(cluster: &Cluster, namespace: &str, name: &str, member: &str, port: Port) -> Result<()> {
    let Port { name: port_name, number } = port;
    let service = format!(
        "{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}, spec: {{ports: [{{name: {port_name}, port: {number}}}]}}}}"
    );
    cluster.apply(namespace, &service).await?;
    addresses(cluster, namespace, name, member, port).await
}

/// The EndpointSlice alone: the addresses of a Service of this name.
pub async fn addresses(cluster: &Cluster, namespace: &str, name: &str, member: &str, port: Port) -> Result<()> {
    let (address, Port { name: port_name, number }) = (member_address(member), port);
    let slice = format!(
        "\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {name}, labels: {{kubernetes.io/service-name: {name}}}}}
addressType: IPv4
ports: [{{name: {port_name}, port: {number}}}]
endpoints: [{{addresses: [{address}], conditions: {{ready: true}}}}]
"
    );
    cluster.apply(namespace, &slice).await
}

/// Waits until the route answers, sends requests, and judges what the members observed.
pub async fn judge(scene: &Scene, to: SocketAddr, expected: &[(&str, u32)]) -> Result<()> {
    let host = format!("{}.example.com", scene.namespace);
    eventually("the route", seconds(30), async || {
        // Of a route in several objects the data plane may know only some: one answer is not enough.
        for _ in 0..30 {
            let status = get(to, &host, "/").await?;
            ensure!(status == 200, "{status}");
        }
        Ok(())
    })
    .await?;
    let before = scene.observed(&scene.namespace);
    let totals = Load::start(Plan::new(to, &host, REQUESTS)).finish().await;
    totals.assert_all_ok()?;
    assert_shares(&before, &scene.observed(&scene.namespace), expected)
}
