//! Hand-made routes, no hub process: the lab tells a data plane that obeys weights from one that does not.

use crate::{
    lab::MEMBERS,
    load::{Load, Plan, get},
    runner::{Scene, Test},
    shares::assert_shares,
    wait::{eventually, seconds},
};
use anyhow::{Result, bail, ensure};
use std::net::SocketAddr;

pub const TESTS: &[Test] = &[
    Test {
        name: "backend_weights_of_external_names_lie",
        exclusive: false,
        run: |scene| Box::pin(backend_weights_lie(scene)),
    },
    Test { name: "route_group_segments_are_true", exclusive: false, run: |scene| Box::pin(route_group(scene)) },
    Test { name: "http_route_weights_are_true", exclusive: false, run: |scene| Box::pin(http_route(scene)) },
    Test { name: "http_proxy_weights_are_true", exclusive: false, run: |scene| Box::pin(http_proxy(scene)) },
];

const REQUESTS: u64 = 2_100;
const WITHIN: f64 = 5.0;

/// One ExternalName Service per member: `<namespace>-eu-1` leads to `<namespace>.eu-1.lab`.
pub async fn external_names(scene: &Scene) -> Result<()> {
    let name = &scene.namespace;
    for member in MEMBERS {
        let service = format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: {name}-{member}}},
               spec: {{type: ExternalName, externalName: {name}.{member}.lab, ports: [{{name: http, port: 80}}]}}}}"
        );
        scene.hub.apply(name, &service).await?;
    }
    Ok(())
}

/// Waits until the route answers, sends requests, and judges what the members received.
async fn judge(scene: &Scene, to: SocketAddr, expected: &[(&str, u32)]) -> Result<()> {
    let host = format!("{}.example.com", scene.namespace);
    eventually("the route", seconds(30), async || {
        let status = get(to, &host, "/").await?;
        ensure!(status == 200, "{status}");
        Ok(())
    })
    .await?;
    let before = scene.received(&scene.namespace);
    let totals = Load::start(Plan::new(to, &host, REQUESTS)).finish().await;
    totals.assert_all_ok()?;
    assert_shares(&before, &scene.received(&scene.namespace), expected, WITHIN)
}

/// The test of the test: for an ExternalName Skipper never looks at the weights.
async fn backend_weights_lie(scene: Scene) -> Result<()> {
    external_names(&scene).await?;
    let name = &scene.namespace;
    let backend = |member| {
        format!("{{path: /, pathType: Prefix, backend: {{service: {{name: {name}-{member}, port: {{number: 80}}}}}}}}")
    };
    let ingress = format!(
        "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  annotations: {{zalando.org/backend-weights: '{{\"{name}-eu-1\": 80, \"{name}-eu-2\": 20}}'}}
spec:
  rules:
  - host: {name}.example.com
    http: {{paths: [{}, {}]}}
",
        backend("eu-1"),
        backend("eu-2")
    );
    scene.hub.apply(name, &ingress).await?;
    match judge(&scene, scene.skipper.address, &[("eu-1", 80), ("eu-2", 20)]).await {
        Ok(()) => bail!("Skipper obeyed backend-weights of ExternalName Services"),
        Err(error) => {
            let said = format!("{error:#}");
            ensure!(said.contains("received") && said.contains("asked 80 %"), "failed for another reason: {said}");
            Ok(())
        }
    }
}

async fn route_group(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let group = format!(
        "\
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {{name: {name}}}
spec:
  hosts: [{name}.example.com]
  backends:
  - {{name: eu-1, type: network, address: 'http://{name}.eu-1.lab:80'}}
  - {{name: eu-3, type: network, address: 'https://eu-3.lab:443'}}
  routes:
  - pathSubtree: /
    predicates: ['TrafficSegment(0.0, 0.6)']
    filters: ['setRequestHeader(\"Host\", \"{name}.eu-1.lab\")']
    backends: [{{backendName: eu-1}}]
  - pathSubtree: /
    predicates: ['TrafficSegment(0.6, 1.0)']
    filters: ['setRequestHeader(\"Host\", \"{name}.eu-3.lab\")']
    backends: [{{backendName: eu-3}}]
"
    );
    scene.hub.apply(name, &group).await?;
    judge(&scene, scene.skipper.address, &[("eu-1", 60), ("eu-3", 40)]).await?;
    for member in ["eu-1", "eu-3"] {
        let tally = scene.member(member).gateway.tally();
        let (own, all) = (tally.received_as(&format!("{name}.{member}.lab")), tally.received(name));
        ensure!(own == all, "{member}: {own} of {all} requests came with its own Host");
    }
    Ok(())
}

async fn http_route(scene: Scene) -> Result<()> {
    external_names(&scene).await?;
    let name = &scene.namespace;
    let route = format!(
        "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {name}}}
spec:
  parentRefs: [{{namespace: projectcontour, name: public}}]
  hostnames: [{name}.example.com]
  rules:
  - backendRefs:
    - {{name: {name}-eu-1, port: 80, weight: 70}}
    - {{name: {name}-eu-2, port: 80, weight: 30}}
"
    );
    scene.hub.apply(name, &route).await?;
    judge(&scene, scene.contour.address, &[("eu-1", 70), ("eu-2", 30)]).await
}

/// eu-3 by TLS: its certificate is valid for eu-3.lab only, which is the
/// external name. (A Host set for this service would be sent as the server name too, and refused.)
async fn http_proxy(scene: Scene) -> Result<()> {
    external_names(&scene).await?;
    let name = &scene.namespace;
    let ca = serde_json::json!(scene.pki.ca);
    let proxy = format!(
        "\
apiVersion: v1
kind: Secret
metadata: {{name: lab-ca}}
stringData: {{ca.crt: {ca}}}
---
apiVersion: v1
kind: Service
metadata: {{name: {name}-eu-3}}
spec: {{type: ExternalName, externalName: eu-3.lab, ports: [{{name: https, port: 443}}]}}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: {name}}}
spec:
  virtualhost: {{fqdn: {name}.example.com}}
  routes:
  - services:
    - {{name: {name}-eu-1, port: 80, weight: 70, requestHeadersPolicy: {{set: [{{name: Host, value: {name}.eu-1.lab}}]}}}}
    - name: {name}-eu-3
      port: 443
      weight: 30
      protocol: tls
      validation: {{caSecret: lab-ca, subjectName: eu-3.lab}}
"
    );
    scene.hub.apply(name, &proxy).await?;
    judge(&scene, scene.contour.address, &[("eu-1", 70), ("eu-3", 30)]).await
}
