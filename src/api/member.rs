//! `MemberCluster`: a cluster that carries traffic, and how it is reached and measured.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{name, status::Condition};

/// A cluster that carries traffic.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "cutover.dev",
    version = "v1alpha1",
    kind = "MemberCluster",
    doc = "A cluster that carries traffic: how it is reached and measured.",
    plural = "memberclusters",
    shortname = "mc",
    category = "cutover",
    status = "MemberClusterStatus",
    printcolumn(name = "Healthy", type_ = "string", json_path = ".status.conditions[?(@.type==\"Healthy\")].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Healthy\")].reason"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.kubernetesVersion"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,59}[a-z0-9])?$')")
        .message("metadata.name: a DNS label of at most 61 characters")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.prometheus.service) || has(self.kubeconfigSecretRef)")
    .message("spec.prometheus.service is reached through the member's API server and needs kubeconfigSecretRef; or give prometheus.url"))]
pub struct MemberClusterSpec {
    /// The kubeconfig, in a Secret with the label `cutover.dev/purpose: kubeconfig`. The hub renews the token of a service
    /// account in it where the member's role allows that. Omit it for a member that is only measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_ref: Option<SecretKeyRef>,
    /// Where the hub's data plane reaches this member; the only names that backends may use.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(validation = Rule::new("self.filter(e, !has(e.service)).size() <= 1").message("spec.endpoints: at most one endpoint without service, the default"))]
    pub endpoints: Vec<Endpoint>,
    /// The request that probes each endpoint.
    #[serde(default)]
    pub probe: Probe,
    /// The Prometheus with its metrics.
    pub prometheus: Prometheus,
    /// Namespaces whose rollouts may use this member: `{from: All}`, or `{from: Names, names: [shop]}`. There is no
    /// default.
    pub allowed_namespaces: AllowedNamespaces,
}

/// A key of a Secret in the hub's own namespace.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub name: String,
    /// The key in the Secret.
    #[schemars(length(min = 1, max = 253), regex(pattern = name::KEY))]
    pub key: String,
}

/// Where the hub's data plane reaches a member.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The service that this endpoint is for. Default: all services without an endpoint of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceRef>,
    /// A DNS name; `{{ service }}` and `{{ namespace }}` are substituted.
    #[schemars(length(min = 1, max = 253))]
    pub host: String,
    /// TCP port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// Use TLS to reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<EndpointTls>,
    /// The Host header of requests to the member.
    #[serde(default)]
    pub host_header: HostHeader,
}

/// A service by name.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRef {
    /// Namespace of the rollout.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub namespace: String,
    /// Name of the service in the rollout.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: String,
}

/// TLS towards a member.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct EndpointTls {
    /// Name in the SNI extension, for which the certificate must be valid.
    #[schemars(length(min = 1, max = 253))]
    pub server_name: String,
    /// Certificates that the probe trusts, PEM, in a Secret with the label `cutover.dev/purpose: ca`. Default: those of the
    /// system. The data plane has its own configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<SecretKeyRef>,
}

/// The Host header of requests to a member.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostHeader {
    /// The one that the client sent.
    #[default]
    Preserve,
    /// The endpoint's host.
    Endpoint,
}

/// The request that probes each endpoint, with the host, port and TLS that the backend uses.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Probe {
    /// The path; an answer with a status below 500 is good.
    #[schemars(length(min = 1, max = 1024), regex(pattern = "^/"))]
    pub path: String,
}

/// The Prometheus of a member.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Prometheus {
    /// How it is reached; exactly one key.
    #[serde(flatten)]
    pub source: PrometheusSource,
    /// The label that holds the namespace of each series, such as `namespace`. Every selector of a rollout's queries is
    /// limited to the rollout's own namespace by it. Default: queries may read all series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = "^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$"))]
    pub namespace_label: Option<String>,
}

/// How a member's Prometheus is reached; exactly one key.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum PrometheusSource {
    /// A Service, reached through the member's API server with the kubeconfig alone.
    Service(PrometheusService),
    /// An address that the hub reaches directly.
    Url(PrometheusUrl),
}

/// A Prometheus behind a member's API server.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct PrometheusService {
    /// Its namespace.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub namespace: String,
    /// Name of the Service.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: String,
    /// Its port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
}

/// A Prometheus at an address.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!(has(self.bearerTokenSecretRef) && has(self.basicAuthSecretRef))")
    .message("bearerTokenSecretRef or basicAuthSecretRef, not both"))]
pub struct PrometheusUrl {
    /// `https://host[:port][/prefix]`; plain `http` is allowed without credentials only.
    #[schemars(length(min = 8, max = 1024), regex(pattern = "^https?://"))]
    pub address: String,
    /// Certificates to trust, PEM, in a Secret with the label `cutover.dev/purpose: ca`. Default: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<SecretKeyRef>,
    /// A bearer token, in a Secret with the label `cutover.dev/purpose: prometheus` whose annotation `cutover.dev/hosts` lists
    /// the host of `address`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_token_secret_ref: Option<SecretKeyRef>,
    /// `user:password`, in such a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic_auth_secret_ref: Option<SecretKeyRef>,
}

/// The namespaces whose rollouts may use a member.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(self.from == 'Names') == has(self.names)").message("names is required with from: Names, and only then"))]
pub struct AllowedNamespaces {
    /// All, or those in `names`. There is no default.
    pub from: NamespacesFrom,
    /// The namespaces, with `from: Names` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63), regex(pattern = name::LABEL)))]
    pub names: Vec<String>,
}

/// The choice of namespaces.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespacesFrom {
    /// All namespaces.
    All,
    /// The namespaces in `names`.
    Names,
}

/// The observed state of a member. Written when something changes; there is no heartbeat.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct MemberClusterStatus {
    /// The generation that the conditions refer to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Reachable, `EndpointsReady`, `MetricsAvailable`, `CredentialsValid`, Healthy; and `InUse` while a deletion waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Vec<Condition>,
    /// Version of its API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// UID of its namespace kube-system, which identifies the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
}

impl Default for Probe {
    fn default() -> Self {
        Self { path: "/".to_owned() }
    }
}
