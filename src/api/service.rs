//! A service that a rollout moves: how its members are reached and which routes hold the weights.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Mode,
    http_settings::{Cors, Headers, Retries, Timeouts},
    istio::IstioRoute,
    mesh_backend::{Resolution, ServiceEntryBackend, SubsetBackend},
    name,
    track::Track,
};

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

impl ServiceSpec {
    /// The same with the form of its routes decided.
    #[must_use]
    pub fn in_mode(&self, mode: Mode) -> Self {
        let mut decided = self.clone();
        for route in &mut decided.routes {
            if let Route::Skipper(route) = route {
                route.form = Some(route.form_in(mode, &self.backend));
            }
        }
        decided
    }
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
    /// A ServiceEntry of Istio per member, with a DestinationRule for TLS; for routes that Istio serves.
    ServiceEntry(ServiceEntryBackend),
    /// A subset of one Service per member, in a mesh of Istio that spans the members.
    Subset(SubsetBackend),
}

impl Backend {
    /// The backends of members that exist already, by member; the hub never changes them.
    pub const fn existing(&self) -> &BTreeMap<String, String> {
        match self {
            Self::ExternalName(named) | Self::ClusterIp(named) | Self::EndpointSlice(named) => &named.existing,
            Self::ServiceEntry(entry) => &entry.existing,
            Self::Subset(subset) => &subset.existing,
        }
    }

    /// The hub resolves the names of members, and writes their addresses.
    pub const fn has_addresses(&self) -> bool {
        match self {
            Self::EndpointSlice(_) => true,
            Self::ServiceEntry(entry) => matches!(entry.resolution, Resolution::Static),
            Self::ExternalName(_) | Self::ClusterIp(_) | Self::Subset(_) => false,
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
    /// A VirtualService of Istio.
    Istio(IstioRoute),
    /// A RouteGroup or Ingress of Skipper.
    Skipper(SkipperRoute),
    /// An Ingress of ingress-nginx, and a canary Ingress that the hub creates.
    Nginx(StableIngress),
    /// An Ingress of Alibaba Cloud's ALB, and a canary Ingress that the hub creates.
    #[serde(rename = "aliyunALB")]
    AliyunAlb(StableIngress),
    /// A Service that clients call: no weights, all traffic is switched at once. Of type ExternalName it is switched from
    /// one member to another; in service mode, of any type, from where the primary leads to where the canary does.
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

/// Settings of a new HTTPRoute. They count when it is made: later the hub changes its backends only.
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
    /// How long requests may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// Headers that are changed on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Headers>,
    /// Which pages of other origins may call. The Gateway must support the filter `CORS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cors: Option<Cors>,
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

/// Settings of a new HTTPProxy. They count when it is made: later the hub changes its services only.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.retries) || !has(self.timeouts) || !has(self.timeouts.backendRequest)")
        .message("an HTTPProxy bounds an attempt only where it retries; write retries too"),
    validation = Rule::new("!has(self.headers) || !((has(self.headers.request) && has(self.headers.request.add)) || (has(self.headers.response) && has(self.headers.response.add)))")
        .message("an HTTPProxy adds no value beside those that a header has; write set")
)]
pub struct CreateContour {
    /// Host name that clients use.
    #[schemars(length(min = 1, max = 253), regex(pattern = name::HOST))]
    pub host: String,
    /// Ingress class, if the installation has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub ingress_class: Option<String>,
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

/// A RouteGroup or Ingress: `name` adopts one, `create` creates one.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.name) != has(self.create)").message("name an object to adopt, or use create; one of the two"),
    validation = Rule::new("!has(self.create) || !has(self.form) || self.form != 'CanaryIngress'").message("form CanaryIngress goes beside an Ingress that is there: name it")
)]
pub struct SkipperRoute {
    /// The kind of object that holds the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<SkipperForm>,
    /// The object to adopt. Form `IngressPerMember`: the Ingress of each member is `<name>-<member>`. Form
    /// `CanaryIngress`: the apex Ingress, which is read and never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub name: Option<String>,
    /// Creates the objects with the name of the service; the hub owns them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateSkipper>,
}

impl SkipperRoute {
    /// The form that is declared, or the default: in service mode an Ingress beside that of the user, where it can hold
    /// the weights of such backends.
    const fn form_in(&self, mode: Mode, backend: &Backend) -> SkipperForm {
        match (self.form, mode, backend) {
            (Some(form), ..) => form,
            (None, Mode::Service, Backend::ClusterIp(_) | Backend::EndpointSlice(_)) if self.name.is_some() => {
                SkipperForm::CanaryIngress
            }
            (None, Mode::Service | Mode::Member, _) => SkipperForm::RouteGroup,
        }
    }
}

/// The kind of object that holds Skipper's weights. Default: `RouteGroup`; in service mode `CanaryIngress`, where the
/// route has a `name` and the service's `backend` is `clusterIP` or `endpointSlice`.
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
    /// The Ingress `<name>-canary`, which the hub makes and owns beside the user's own Ingress `<name>`, and before which
    /// Skipper tries it; not for ExternalName backends. The user's own Ingress is never written.
    CanaryIngress,
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

/// A Service that is switched: `name` adopts one, `create` creates one.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.name) != has(self.create)").message("name a Service to adopt, or use create; one of the two"))]
pub struct KubernetesRoute {
    /// The Service to adopt: only its `externalName` changes, or its selector and the target ports. In service mode it is
    /// another one than that of `spec.services`, which declares the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: Option<String>,
    /// Creates the Service; the hub owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateService>,
}

/// Settings of a new Service. Its ports are those of the service.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct CreateService {
    /// Its name. Default: that of the service. Required in service mode, where the service's own declares the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: Option<String>,
}

impl KubernetesRoute {
    /// The name of the Service that is switched.
    pub fn switched<'r>(&'r self, service: &'r str) -> &'r str {
        let created = self.create.as_ref().and_then(|create| create.name.as_deref());
        self.name.as_deref().or(created).unwrap_or(service)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The form of a route of Skipper, as far as it is declared.
    fn form(backend: &str, route: &Value, mode: Mode) -> Option<SkipperForm> {
        let service = json!({"name": "shop", "port": 80, "backend": {backend: {}}, "routes": [{"skipper": route}]});
        let service: ServiceSpec = serde_json::from_value(service).unwrap();
        let Route::Skipper(route) = service.in_mode(mode).routes.remove(0) else { panic!("{route}") };
        route.form
    }

    #[test]
    fn a_form_that_is_not_declared_is_one_that_can_hold_the_weights() {
        let (named, created) = (json!({"name": "public"}), json!({"create": {"hosts": ["shop.example.com"]}}));
        for (backend, route, in_service_mode) in [
            ("externalName", &named, SkipperForm::RouteGroup),
            ("clusterIP", &named, SkipperForm::CanaryIngress),
            ("endpointSlice", &named, SkipperForm::CanaryIngress),
            ("clusterIP", &created, SkipperForm::RouteGroup),
        ] {
            assert_eq!(form(backend, route, Mode::Service), Some(in_service_mode), "{backend} {route}");
            assert_eq!(form(backend, route, Mode::Member), Some(SkipperForm::RouteGroup), "{backend} {route}");
        }
        let declared = json!({"form": "Ingress", "name": "public"});
        assert_eq!(form("clusterIP", &declared, Mode::Service), Some(SkipperForm::Ingress));
    }
}
