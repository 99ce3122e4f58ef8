//! A service that a rollout moves: how its members are reached and which routes hold the weights.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{name, track::Track};

/// A service that clients call by name.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSpec {
    /// The name that clients and routes know.
    #[schemars(length(min = 1, max = 61), regex(pattern = "^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// The port that routes send to.
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// How the hub's data plane reaches a member.
    #[serde(default)]
    pub backend: Backend,
    /// The routes that hold the weights.
    #[schemars(length(min = 1, max = 8))]
    pub routes: Vec<Route>,
    /// The workloads behind this service whose ConfigMaps and Secrets are tracked: a change of one in a run begins it again
    /// from the primary; in service mode, a change between runs begins one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track: Option<Track>,
}

/// The kind of hub object that points to a member; exactly one key. Default: `externalName`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Backend {
    /// A Service of type ExternalName per member, named `<service>-<member>`.
    ExternalName(Named),
    /// An existing ClusterIP Service per member; the hub creates none.
    #[serde(rename = "clusterIP")]
    ClusterIp(Named),
    /// A Service without selector and an EndpointSlice per member, with addresses that the hub resolves and refreshes.
    EndpointSlice(Named),
}

impl Backend {
    /// The existing Services of members.
    pub const fn named(&self) -> &Named {
        match self {
            Self::ExternalName(named) | Self::ClusterIp(named) | Self::EndpointSlice(named) => named,
        }
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self::ExternalName(Named::default())
    }
}

/// Names of existing Services.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// Service name by member, where it is not `<service>-<member>`. The hub never changes a Service that is named
    /// here. One of type ExternalName must lead to an endpoint of a `MemberCluster`, or to a host that the hub allows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = name::service()))]
    pub existing: BTreeMap<String, String>,
}

/// The mesh or ingress object that holds the weights; exactly one key.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Route {
    /// An HTTPRoute of Gateway API.
    #[serde(rename = "gatewayAPI")]
    GatewayApi(GatewayApiRoute),
    /// An HTTPProxy of Contour.
    Contour(ContourRoute),
    /// A RouteGroup or Ingress of Skipper.
    Skipper(SkipperRoute),
    /// An Ingress of ingress-nginx, and a canary Ingress that the hub creates.
    Nginx(StableIngress),
    /// An Ingress of Alibaba Cloud's ALB, and a canary Ingress that the hub creates.
    #[serde(rename = "aliyunALB")]
    AliyunAlb(StableIngress),
    /// A Service of type ExternalName that clients call: no weights, all traffic is switched from one member to
    /// another at once.
    Kubernetes(KubernetesRoute),
}

/// An HTTPRoute: `name` adopts one, `create` creates one.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name an HTTPRoute to adopt, or use create; one of the two"))]
pub struct GatewayApiRoute {
    /// The HTTPRoute to adopt: only the backends of its rules change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub name: Option<String>,
    /// The rules to adopt, by name, or `#0` for the first. Default: the only rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 63), regex(pattern = name::RULE)))]
    pub rules: Vec<String>,
    /// Creates an HTTPRoute with the name of the service; the hub owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateGatewayApi>,
}

/// Settings of a new HTTPRoute.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CreateGatewayApi {
    /// Host names that clients use.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 253), regex(pattern = name::HOST)))]
    pub hosts: Vec<String>,
    /// Gateways to attach to, as `namespace/name`.
    #[schemars(
        length(min = 1, max = 8),
        inner(length(min = 3, max = 317), regex(pattern = name::PLACE))
    )]
    pub gateways: Vec<String>,
}

/// An HTTPProxy: `name` adopts one, `create` creates one.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name an HTTPProxy to adopt, or use create; one of the two"))]
pub struct ContourRoute {
    /// The HTTPProxy to adopt: only the services of its routes change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub name: Option<String>,
    /// The entries of `spec.routes` to adopt, `#0` for the first. Default: the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 2, max = 4), regex(pattern = "^#[0-9]{1,3}$")))]
    pub rules: Vec<String>,
    /// Creates an HTTPProxy with the name of the service; the hub owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateContour>,
}

/// Settings of a new HTTPProxy.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CreateContour {
    /// Host name that clients use.
    #[schemars(length(min = 1, max = 253), regex(pattern = name::HOST))]
    pub host: String,
    /// Ingress class, if the installation has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub ingress_class: Option<String>,
}

/// A RouteGroup or Ingress: `name` adopts one, `create` creates one.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name an object to adopt, or use create; one of the two"))]
pub struct SkipperRoute {
    /// The kind of object that holds the weights.
    #[serde(default)]
    pub form: SkipperForm,
    /// The object to adopt. Form `IngressPerMember`: the Ingress of each member is `<name>-<member>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub name: Option<String>,
    /// Creates the objects with the name of the service; the hub owns them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateSkipper>,
}

/// The kind of object that holds Skipper's weights.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkipperForm {
    /// One RouteGroup with a `TrafficSegment` route per member.
    #[default]
    RouteGroup,
    /// One Ingress with the annotation `zalando.org/backend-weights`; not for ExternalName backends, whose weights
    /// Skipper ignores.
    Ingress,
    /// One Ingress per member with a `TrafficSegment` predicate.
    IngressPerMember,
}

/// Settings of new Skipper objects.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CreateSkipper {
    /// Host names that clients use.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 253), regex(pattern = name::HOST)))]
    pub hosts: Vec<String>,
}

/// An existing Ingress. It points to one member; the Ingress `<name>-canary`, which the hub creates and owns, points
/// to the other.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct StableIngress {
    /// The Ingress to adopt: only its paths that point to a member of the service change.
    #[schemars(length(min = 1, max = 246), regex(pattern = name::SUBDOMAIN))]
    pub name: String,
}

/// A Service of type ExternalName: `name` adopts one, `create` creates one.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name a Service to adopt, or use create; one of the two"))]
pub struct KubernetesRoute {
    /// The Service to adopt: only its `externalName` changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: Option<String>,
    /// Creates the Service with the name of the service; the hub owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateService>,
}

/// Settings of a new Service: none, beyond the service's name and port.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateService {}
