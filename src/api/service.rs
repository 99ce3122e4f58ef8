//! A service that a rollout moves: how its members are reached and which routes hold the weights.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named thing that clients call.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSpec {
    /// The name that clients and routes know.
    #[schemars(length(min = 1, max = 61), regex(pattern = "^[a-z]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// The port that routes send to.
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// How a member is reached from the hub's data plane.
    #[serde(default)]
    pub backend: Backend,
    /// Where the weights live.
    #[schemars(length(min = 1, max = 8))]
    pub routes: Vec<Route>,
}

/// The kind of hub object that leads to a member; exactly one key. Default: `externalName`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Backend {
    /// A Service of type ExternalName per member, named `<service>-<member>`.
    ExternalName(Named),
    /// A ClusterIP Service per member that exists already; the hub makes none.
    #[serde(rename = "clusterIP")]
    ClusterIp(Named),
    /// A Service without selector and an EndpointSlice per member, with addresses that the hub resolves and refreshes.
    EndpointSlice(Named),
}

impl Backend {
    /// The Services that are there already and stand for members.
    #[must_use]
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

/// Names of Services that are there already.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// Member to Service name, where it is not `<service>-<member>`. The hub never changes a Service that is named here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
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
    /// An Ingress of ingress-nginx, and a canary Ingress beside it that the hub makes.
    Nginx(StableIngress),
    /// An Ingress of Alibaba Cloud's ALB, and a canary Ingress beside it that the hub makes.
    #[serde(rename = "aliyunALB")]
    AliyunAlb(StableIngress),
    /// A Service of type ExternalName that clients call: no weights, all traffic is switched from one member to another.
    Kubernetes(KubernetesRoute),
}

/// An HTTPRoute, adopted by `name` or made by `create`.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name an HTTPRoute to adopt, or say create; one of the two"))]
pub struct GatewayApiRoute {
    /// The HTTPRoute to adopt: only the backends of its rules change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Which rules: a rule's name, or `#0` for the first. Left out: its only rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 63)))]
    pub rules: Vec<String>,
    /// Make an HTTPRoute, named as the service, and own it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateGatewayApi>,
}

/// What a new HTTPRoute needs to know.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CreateGatewayApi {
    /// Host names that clients use.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 253)))]
    pub hosts: Vec<String>,
    /// Gateways to attach to, as `namespace/name`.
    #[schemars(
        length(min = 1, max = 8),
        inner(length(min = 3, max = 317), regex(pattern = "^[a-z0-9.-]+/[a-z0-9.-]+$"))
    )]
    pub gateways: Vec<String>,
}

/// An HTTPProxy, adopted by `name` or made by `create`.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name an HTTPProxy to adopt, or say create; one of the two"))]
pub struct ContourRoute {
    /// The HTTPProxy to adopt: only the services of its routes change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Which entries of `spec.routes`: `#0` for the first. Left out: the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 2, max = 4), regex(pattern = "^#[0-9]{1,3}$")))]
    pub rules: Vec<String>,
    /// Make an HTTPProxy, named as the service, and own it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateContour>,
}

/// What a new HTTPProxy needs to know.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CreateContour {
    /// Host name that clients use.
    #[schemars(length(min = 1, max = 253))]
    pub host: String,
    /// Ingress class, where the installation has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub ingress_class: Option<String>,
}

/// A RouteGroup or Ingress, adopted by `name` or made by `create`.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name an object to adopt, or say create; one of the two"))]
pub struct SkipperRoute {
    /// Which object holds the weights.
    #[serde(default)]
    pub form: SkipperForm,
    /// The object to adopt. Form `IngressPerMember`: the Ingress of each member is `<name>-<member>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Make the objects, named as the service, and own them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateSkipper>,
}

/// The object in which Skipper's weights are kept.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkipperForm {
    /// One RouteGroup with a `TrafficSegment` route per member.
    #[default]
    RouteGroup,
    /// One Ingress with the annotation `zalando.org/backend-weights`; not for ExternalName backends, whose weights Skipper ignores.
    Ingress,
    /// One Ingress per member with a `TrafficSegment` predicate.
    IngressPerMember,
}

/// What new Skipper objects need to know.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CreateSkipper {
    /// Host names that clients use.
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 253)))]
    pub hosts: Vec<String>,
}

/// The Ingress that is there. It keeps one member; the Ingress `<name>-canary`, which the hub makes and owns, has the other.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct StableIngress {
    /// The Ingress to adopt: its paths that lead to a member of the service.
    #[schemars(length(min = 1, max = 246))]
    pub name: String,
}

/// A Service of type ExternalName, adopted by `name` or made by `create`.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name a Service to adopt, or say create; one of the two"))]
pub struct KubernetesRoute {
    /// The Service to adopt: only its `externalName` changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub name: Option<String>,
    /// Make the Service, named as the service, and own it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateService>,
}

/// What a new Service needs to know: nothing beyond the service's name and port.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateService {}
