//! A VirtualService of Istio that holds weights.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    http_settings::{Cors, Headers, Retries, Timeouts},
    name,
};

/// A VirtualService: `name` adopts one, `create` creates one.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name a VirtualService to adopt, or use create; one of the two"))]
pub struct IstioRoute {
    /// The VirtualService to adopt: only the destinations of its entries change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub name: Option<String>,
    /// The entries to adopt: those of `spec.http` by name, or `#0` for the first; `tcp#0` and `tls#0` for those of `spec.tcp`
    /// and `spec.tls`. Default: the only entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 63), regex(pattern = name::ENTRY)))]
    pub routes: Vec<String>,
    /// Creates a VirtualService with the name of the service; the hub owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateIstio>,
}

/// Settings of a new VirtualService. They count when it is made: later the hub changes its destinations only.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.hosts) != (has(self.delegate) && self.delegate)").message("write hosts; or delegate: true, without hosts"),
    validation = Rule::new("!(has(self.delegate) && self.delegate) || (!has(self.gateways) && (!has(self.protocol) || self.protocol == 'HTTP'))")
        .message("a delegate has no gateways, and protocol HTTP"),
    validation = Rule::new("!has(self.protocol) || self.protocol == 'HTTP' || !(has(self.timeouts) || has(self.retries) || has(self.headers) || has(self.cors))")
        .message("timeouts, retries, headers and cors need protocol HTTP"),
    validation = Rule::new("has(self.retries) || !has(self.timeouts) || !has(self.timeouts.backendRequest)")
        .message("a VirtualService bounds an attempt only where it retries; write retries too")
)]
pub struct CreateIstio {
    /// Host names that clients use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 253), regex(pattern = name::HOST)))]
    pub hosts: Vec<String>,
    /// Gateways to attach to, as `namespace/name`; `mesh` stands for all sidecars. Default: `mesh`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 8),
        inner(length(min = 3, max = 317), regex(pattern = name::GATEWAY))
    )]
    pub gateways: Vec<String>,
    /// What its only entry divides: requests, or connections.
    #[serde(default, skip_serializing_if = "IstioProtocol::is_http")]
    pub protocol: IstioProtocol,
    /// Another VirtualService, which has the hosts and gateways, delegates requests to this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delegate: bool,
    /// How long requests may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// Requests that are sent again when their answer is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
    /// Headers that are changed on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Headers>,
    /// Which pages of other origins may call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cors: Option<Cors>,
}

/// What an entry of a VirtualService divides.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IstioProtocol {
    /// Requests.
    #[default]
    #[serde(rename = "HTTP")]
    Http,
    /// Connections.
    #[serde(rename = "TCP")]
    Tcp,
    /// TLS connections by their server name, which stay encrypted.
    #[serde(rename = "TLS")]
    Tls,
}

impl IstioProtocol {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde hands a reference
    const fn is_http(&self) -> bool {
        matches!(self, Self::Http)
    }
}

impl IstioRoute {
    /// All its entries divide TLS connections, which the data plane neither opens nor begins.
    pub fn passes_tls(&self) -> bool {
        let adopted = !self.routes.is_empty() && self.routes.iter().all(|entry| entry.starts_with("tls#"));
        adopted || self.create.as_ref().is_some_and(|create| create.protocol == IstioProtocol::Tls)
    }

    /// Some entry divides connections, of which nothing is known but where they go.
    pub fn divides_connections(&self) -> bool {
        let adopted = self.routes.iter().any(|entry| entry.starts_with("tcp#") || entry.starts_with("tls#"));
        adopted || self.create.as_ref().is_some_and(|create| !create.protocol.is_http())
    }
}
