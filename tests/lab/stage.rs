//! What most tests begin with: a service that goes to eu-1 by an HTTPRoute made by hand, and its clients.

use crate::{
    cluster::Cluster,
    lab::Lab,
    load::{Load, Plan, get},
    rollout::PATIENCE,
    wait::eventually,
};
use anyhow::{Result, ensure};
use std::{net::SocketAddr, time::Duration};

/// Requests per second.
const RATE: u32 = 500;

/// The name that clients call.
pub fn host(service: &str) -> String {
    format!("{service}.example.com")
}

/// The `HTTPRoute` `public`: all requests go to the Service `<service>-eu-1`, which leads to eu-1.
pub async fn to_eu_1(hub: &Cluster, namespace: &str, service: &str) -> Result<()> {
    external_name(hub, namespace, &format!("{service}-eu-1"), &format!("{service}.eu-1.lab")).await?;
    http_route(hub, namespace, "public", service, &format!("{{name: {service}-eu-1, port: 80}}")).await
}

/// One ExternalName Service.
pub async fn external_name(hub: &Cluster, namespace: &str, name: &str, target: &str) -> Result<()> {
    let service = format!(
        "{{apiVersion: v1, kind: Service, metadata: {{name: {name}}},
           spec: {{type: ExternalName, externalName: {target}, ports: [{{name: http, port: 80}}]}}}}"
    );
    hub.apply(namespace, &service).await
}

/// An `HTTPRoute` with one rule for the service's host.
pub async fn http_route(hub: &Cluster, namespace: &str, name: &str, service: &str, backends: &str) -> Result<()> {
    let host = host(service);
    let route = format!(
        "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {name}}}
spec:
  parentRefs: [{{namespace: projectcontour, name: public}}]
  hostnames: [{host}]
  rules: [{{backendRefs: [{backends}]}}]
"
    );
    hub.create(namespace, &route).await
}

/// Requests to the service's public name, from the moment on at which it answers.
pub async fn steady_load(to: SocketAddr, service: &str) -> Result<Load> {
    let host = host(service);
    eventually("the route", PATIENCE, async || {
        let status = get(to, &host, "/").await?;
        ensure!(status == 200, "{status}");
        Ok(())
    })
    .await?;
    Ok(Load::start(Plan { rate: RATE, within: Duration::from_mins(5), ..Plan::new(to, &host, u64::MAX) }))
}

/// The same through Envoy.
pub async fn clients(lab: &Lab, service: &str) -> Result<Load> {
    steady_load(lab.contour.address, service).await
}
