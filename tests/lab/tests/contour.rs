//! Hand-made routes on Contour and Envoy.

use super::hand_made::{endpoint_slices, external_names, judge};
use crate::runner::{Place, Scene, Test};
use anyhow::Result;

pub const TESTS: &[Test] = &[
    Test {
        name: "http_route_to_external_names",
        place: Place::Shared,
        run: |scene| Box::pin(http_route_external(scene)),
    },
    Test {
        name: "http_route_to_endpoint_slices",
        place: Place::Shared,
        run: |scene| Box::pin(http_route_slices(scene)),
    },
    Test { name: "http_proxy_with_tls", place: Place::Shared, run: |scene| Box::pin(http_proxy(scene)) },
];

async fn http_route_external(scene: Scene) -> Result<()> {
    external_names(&scene).await?;
    http_route(&scene).await
}

async fn http_route_slices(scene: Scene) -> Result<()> {
    endpoint_slices(&scene).await?;
    http_route(&scene).await
}

async fn http_route(scene: &Scene) -> Result<()> {
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
    judge(scene, scene.contour.address, &[("eu-1", 70), ("eu-2", 30)]).await
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
