//! A ServiceEntry per member, and a DestinationRule where the member is reached by TLS.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::{DesiredObject, name};
use crate::api::istio::IstioProtocol;
use crate::api::mesh_backend::{Resolution, ServiceEntryBackend};
use crate::api::{Reason, Route, ServiceSpec};
use crate::object::{Context, Reach, entry_host};
use crate::rollout::input::Problem;

/// Addresses of one member.
const MAX_ADDRESSES: usize = 100;

/// A kind of Istio.
pub(super) fn istio(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: "networking.istio.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "networking.istio.io/v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// The kind of the entries.
pub(super) fn entries() -> ApiResource {
    istio("ServiceEntry", "serviceentries")
}

/// The kind of the rules for them.
pub(super) fn rules() -> ApiResource {
    istio("DestinationRule", "destinationrules")
}

/// The entry, and the rule if there is one. Its host is ours alone, so that no other entry or rule is for it as well; where
/// it leads is its endpoint.
pub(super) fn objects(
    context: &Context<'_>,
    backend: &ServiceEntryBackend,
    member: &str,
    reach: &Reach,
    current: &[Option<Arc<DynamicObject>>],
    addresses: &[IpAddr],
) -> Result<Vec<Option<DesiredObject>>, Problem> {
    let host = entry_host(&name(context.service, member), context.namespace);
    let protocol = protocol(context.service);
    let endpoints = match backend.resolution {
        Resolution::Dns => json!([{"address": reach.host}]),
        Resolution::Static => endpoints(member, reach, current, addresses)?,
    };
    let entry = json!({"spec": {
        "hosts": [host], "location": "MESH_EXTERNAL",
        "resolution": match backend.resolution { Resolution::Dns => "DNS", Resolution::Static => "STATIC" },
        "ports": [{"number": reach.port, "name": protocol.to_ascii_lowercase(), "protocol": protocol}],
        "endpoints": endpoints,
    }});
    let rule = |server_name: &String| {
        let mut tls = json!({"mode": "SIMPLE", "sni": server_name, "subjectAltNames": [server_name]});
        if let Some(secret) = &backend.credential_name {
            tls["credentialName"] = secret.as_str().into();
        }
        json!({"spec": {"host": host, "trafficPolicy": {"tls": tls}}})
    };
    let rule = reach.server_name.as_ref().filter(|_| protocol != "TLS").map(rule);
    Ok([Some(entry), rule].map(|fields| Some(DesiredObject { fields: fields?, labels: BTreeMap::new() })).into())
}

/// No answer of a resolver ever empties an entry: without any address those that are there stay.
fn endpoints(
    member: &str,
    reach: &Reach,
    current: &[Option<Arc<DynamicObject>>],
    addresses: &[IpAddr],
) -> Result<Value, Problem> {
    let resolved: BTreeSet<&IpAddr> = addresses.iter().take(MAX_ADDRESSES).collect();
    if !resolved.is_empty() {
        return Ok(resolved.into_iter().map(|address| json!({"address": address})).collect());
    }
    let there = current.first().and_then(Option::as_deref).filter(|entry| is_static(&entry.data));
    there.and_then(|entry| entry.data.pointer("/spec/endpoints")).cloned().ok_or_else(|| {
        let message =
            format!("{} of member {member} has no address yet: make its name resolve from the hub", reach.host);
        Problem::new(Reason::BackendNotReady, message)
    })
}

fn is_static(entry: &Value) -> bool {
    entry.pointer("/spec/resolution").is_some_and(|resolution| resolution == "STATIC")
}

/// What the routes of the service divide: requests, or connections.
fn protocol(service: &ServiceSpec) -> &'static str {
    let of = |route: &Route| match route {
        Route::Istio(route) if route.passes_tls() => IstioProtocol::Tls,
        Route::Istio(route) if route.divides_connections() => IstioProtocol::Tcp,
        Route::Istio(_)
        | Route::GatewayApi(_)
        | Route::Contour(_)
        | Route::Skipper(_)
        | Route::Nginx(_)
        | Route::AliyunAlb(_)
        | Route::Kubernetes(_) => IstioProtocol::Http,
    };
    let all: Vec<IstioProtocol> = service.routes.iter().map(of).collect();
    if all.iter().all(|protocol| *protocol == IstioProtocol::Tls) {
        "TLS"
    } else if all.contains(&IstioProtocol::Http) {
        "HTTP"
    } else {
        "TCP"
    }
}
