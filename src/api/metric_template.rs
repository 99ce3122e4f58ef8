//! `MetricTemplate`: a metric that many rollouts use, with variables.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::analysis::{Histogram, Ratio};

/// What is measured, for metrics that refer to it by `templateRef`; exactly one of `ratio`, `histogram` and `query`.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "cutover.dev",
    version = "v1alpha1",
    kind = "MetricTemplate",
    doc = "A metric that many rollouts use, with variables.",
    plural = "metrictemplates",
    namespaced,
    shortname = "mt",
    category = "cutover",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("[has(self.ratio), has(self.histogram), has(self.query)].filter(k, k).size() == 1")
        .message("a template has exactly one of ratio, histogram and query")
)]
pub struct MetricTemplateSpec {
    /// What its queries name as `{{ variables.NAME }}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub variables: Vec<Variable>,
    /// A share in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// A quantile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// Any query that gives one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8192))]
    pub query: Option<String>,
}

/// What a metric may say that uses the template.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Its name.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// What values it takes, and how they are written into a query.
    #[serde(rename = "type", default)]
    pub type_: VariableType,
    /// Its value where a metric gives none; without one it must be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub default: Option<String>,
}

/// What values a variable takes.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VariableType {
    /// Any text, for a place inside a PromQL string; it is escaped there.
    #[default]
    Text,
    /// A decimal number, such as 0.5.
    Number,
    /// A time in whole h, m, s or ms, such as 5m.
    Duration,
}
