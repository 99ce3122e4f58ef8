//! Backends that only a mesh knows: entries of Istio's own registry, and subsets of a Service of a mesh of several clusters.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name;

/// A ServiceEntry of Istio per member, with a DestinationRule where the member is reached by TLS.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ServiceEntryBackend {
    /// Host by member, of a ServiceEntry that exists already. The hub never changes it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = name::host()))]
    pub existing: BTreeMap<String, String>,
    /// Who resolves the names of members.
    #[serde(default, skip_serializing_if = "Resolution::is_dns")]
    pub resolution: Resolution,
    /// For members that are reached by TLS: the Secret with the certificates that the gateway trusts (`ca.crt`), in the
    /// gateway's namespace. Default: those of its system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub credential_name: Option<String>,
}

/// Who resolves the name of a member's endpoint.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// The proxies do.
    #[default]
    #[serde(rename = "DNS")]
    Dns,
    /// The hub does, and writes the addresses.
    Static,
}

/// A subset of one Service per member, for a mesh that spans the members. The hub makes a DestinationRule with the subset.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SubsetBackend {
    /// Name of an existing subset by member. The hub makes no DestinationRule for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = name::service()))]
    pub existing: BTreeMap<String, String>,
    /// Host of the Service whose endpoints all members have. Default: the service's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub host: Option<String>,
    /// The label of endpoints by which members differ.
    #[serde(default = "cluster", skip_serializing_if = "is_cluster")]
    #[schemars(length(min = 1, max = 316), regex(pattern = name::LABEL_KEY))]
    pub label: String,
    /// Value of the label by member, where it is not the member's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = name::label_value()))]
    pub values: BTreeMap<String, String>,
}

/// The label with the name of an endpoint's cluster, which Istio itself puts on every endpoint.
const CLUSTER: &str = "topology.istio.io/cluster";

fn cluster() -> String {
    CLUSTER.to_owned()
}

fn is_cluster(label: &str) -> bool {
    label == CLUSTER
}

impl Resolution {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde hands a reference
    const fn is_dns(&self) -> bool {
        matches!(self, Self::Dns)
    }
}
