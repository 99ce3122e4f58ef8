//! `MetricTemplate`: a metric that many rollouts use, with variables.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    analysis::{Histogram, Ratio},
    name,
};

/// A metric to which others refer by `templateRef`; exactly one of `ratio`, `histogram` and `query`.
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
    /// The variables that its queries use as `{{ variables.NAME }}`.
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
    /// A query that returns one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8192))]
    pub query: Option<String>,
}

/// A variable that a metric with this template can set.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// The name of the variable.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: String,
    /// The type of its values, which decides how they are substituted in a query.
    #[serde(rename = "type", default)]
    pub type_: VariableType,
    /// The value if a metric sets none; without a default a metric must set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub default: Option<String>,
}

/// The type of a variable.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VariableType {
    /// Any text, allowed only inside a PromQL string, where it is escaped.
    #[default]
    Text,
    /// A decimal number, such as 0.5.
    Number,
    /// A time in whole h, m, s or ms, such as 5m.
    Duration,
}
