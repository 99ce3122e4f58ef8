//! Backends and judgement for hand-made routes: no hub process, weights written by the test.

use crate::{
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

/// One selectorless Service with an EndpointSlice per member, `<namespace>-eu-1` and so on.
pub async fn endpoint_slices(scene: &Scene) -> Result<()> {
    for member in MEMBERS {
        endpoint_slice(scene, &format!("{}-{member}", scene.namespace), member).await?;
    }
    Ok(())
}

/// One selectorless Service, and an EndpointSlice of its name that leads to the member's gateway.
pub async fn endpoint_slice(scene: &Scene, name: &str, member: &str) -> Result<()> {
    let service = format!(
        "{{apiVersion: v1, kind: Service, metadata: {{name: {name}}}, spec: {{ports: [{{name: http, port: 80}}]}}}}"
    );
    scene.hub.apply(&scene.namespace, &service).await?;
    addresses(scene, name, member).await
}

/// The EndpointSlice alone: the addresses of a Service of this name.
pub async fn addresses(scene: &Scene, name: &str, member: &str) -> Result<()> {
    let address = member_address(member);
    let slice = format!(
        "\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {name}, labels: {{kubernetes.io/service-name: {name}}}}}
addressType: IPv4
ports: [{{name: http, port: 80}}]
endpoints: [{{addresses: [{address}], conditions: {{ready: true}}}}]
"
    );
    scene.hub.apply(&scene.namespace, &slice).await
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
