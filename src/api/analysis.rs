//! What must hold while weights move: metrics, limits, and how much a failure counts.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Duration;

/// How a run is judged.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("duration(self.interval) >= duration('1s') && duration(self.interval) <= duration('1h')")
    .message("spec.analysis.interval: from 1s to 1h"))]
pub struct Analysis {
    /// Time between checks, 1s to 1h; also the window of a metric that sets none.
    #[serde(default = "default_interval")]
    pub interval: Duration,
    /// How many failed checks roll back.
    #[serde(default)]
    pub failures: Failures,
    /// Time after a weight change in which samples are ignored. Service mode: a Service has had no traffic for as
    /// long before it is changed, and gets none for as long after, so that the data plane learns of it first.
    #[serde(default = "default_settle")]
    pub settle: Duration,
    /// What not knowing does.
    #[serde(default)]
    pub unknown: Unknown,
    /// What is measured. Every metric is judged for every service by itself; the worst decides.
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub metrics: Vec<Metric>,
    /// Compare the share that members received with the one asked for: the rollout owns all traffic of these services.
    /// Not compared while a step chooses requests or mirrors them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Metrics are evaluated at now minus this, in all members alike.
    #[serde(default = "default_lag")]
    pub lag: Duration,
}

/// The failed checks, among the last ones, that roll back.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.limit <= self.within").message("limit must not be more than within"))]
pub struct Failures {
    /// So many failed checks …
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: u32,
    /// … among so many, for each service and metric.
    #[serde(default = "default_within")]
    #[schemars(range(min = 1, max = 100))]
    pub within: u32,
}

/// What not knowing does.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Unknown {
    /// After so many Unknown checks in a row …
    #[serde(default = "default_unknown_limit")]
    #[schemars(range(min = 1, max = 10000))]
    pub limit: u32,
    /// … this is done.
    #[serde(default)]
    pub action: UnknownAction,
}

/// What too many Unknown checks do.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownAction {
    /// Weights stay as they are.
    #[default]
    Hold,
    /// Back to the last known good distribution.
    Rollback,
}

/// How far the received share may be from the weight.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
// For a whole number the API server rounds a schema's bounds to whole numbers, and takes 0.
#[x_kube(validation = Rule::new("self.within >= 0.1").message("within: from 0.1 to 100 points"))]
pub struct Share {
    /// In percentage points.
    #[schemars(range(min = 0.1, max = 100.0))]
    pub within: f64,
}

/// One thing that is measured; exactly one of `ratio`, `histogram`, `query`, `templateRef` and `builtin`.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("[has(self.ratio), has(self.histogram), has(self.query), has(self.templateRef), has(self.builtin)].filter(k, k).size() == 1")
        .message("a metric has exactly one of ratio, histogram, query, templateRef and builtin"),
    validation = Rule::new("!has(self.variables) || has(self.templateRef)")
        .message("variables are those of a template; give templateRef"),
    validation = Rule::new("has(self.max) || has(self.min) || has(self.perMember)")
        .message("a metric needs a limit: max, min, or perMember"),
    validation = Rule::new("!has(self.query) || (!has(self.max) && !has(self.min))")
        .message("a query is judged per member only; put its limits under perMember"),
    validation = Rule::new("!has(self.min) || !has(self.max) || self.min <= self.max").message("min must not be more than max"),
    validation = Rule::new("!has(self.window) || (duration(self.window) >= duration('1s') && duration(self.window) <= duration('24h'))")
        .message("window: from 1s to 24h")
)]
pub struct Metric {
    /// Its name, for people and status.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// A share in percent, merged exactly: sum of numerators over sum of denominators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// A quantile, merged exactly: buckets are added per `le` first. In the unit of the series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// Any query that gives one number. It cannot be merged, so it is judged per member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8192))]
    pub query: Option<String>,
    /// A `MetricTemplate` of the same namespace, which says what is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_ref: Option<TemplateRef>,
    /// Values for the template's variables, as texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16, "additionalProperties" = {"type": "string", "maxLength": 1024}))]
    pub variables: BTreeMap<String, String>,
    /// What every ingress counts: success rate or duration of the service's requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<Builtin>,
    /// The time that `{{ window }}` covers; default: the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
    /// Over all canary members together: more than this fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Over all canary members together: less than this fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Limits on each canary member by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_member: Option<Limits>,
    /// A limit so bad that one check beyond it rolls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
    /// Requests that must have been counted, or the check is Unknown.
    #[serde(default = "default_min_samples")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub min_samples: u64,
}

/// A share in percent.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Ratio {
    /// PromQL for what is counted, such as failed requests. `{{ service }}`, `{{ window }}` and `{{ member }}` are filled in.
    #[schemars(length(min = 1, max = 8192))]
    pub numerator: String,
    /// PromQL for all requests.
    #[schemars(length(min = 1, max = 8192))]
    pub denominator: String,
}

/// A quantile of a classic histogram.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.quantile >= 0.01").message("quantile: from 0.01 to 0.9999"))]
pub struct Histogram {
    /// PromQL that gives one series per `le`.
    #[schemars(length(min = 1, max = 8192))]
    pub buckets: String,
    /// Which quantile, 0.99 for p99.
    #[schemars(range(min = 0.01, max = 0.9999))]
    pub quantile: f64,
    /// The bounds are milliseconds: they are divided by a thousand, so that limits are in seconds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub milliseconds: bool,
}

/// A template by its name.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TemplateRef {
    /// Name of a `MetricTemplate` of the rollout's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// What every ingress counts, under the names that one gives it. The service has the rollout's namespace and its own
/// name in the member, too.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.quantile) || self.type == 'RequestDuration'").message("only a RequestDuration has a quantile"),
    validation = Rule::new("!has(self.quantile) || self.quantile >= 0.01").message("quantile: from 0.01 to 0.9999")
)]
pub struct Builtin {
    /// What is measured.
    #[serde(rename = "type")]
    pub type_: BuiltinType,
    /// What serves the requests in the members, and counts them.
    pub ingress: Ingress,
    /// Of a `RequestDuration`: which quantile; 0.99 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 0.9999))]
    pub quantile: Option<f64>,
}

/// What is measured.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinType {
    /// The share of requests without a 5xx answer, in percent; limit it with `min`.
    RequestSuccessRate,
    /// A quantile of the time that requests take, in seconds; limit it with `max`.
    RequestDuration,
}

/// What counts requests in a member.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ingress {
    /// Skipper with `-serve-route-metrics`: the routes of Ingresses to the service, and of the `RouteGroup` of its name.
    Skipper,
    /// Envoy as Contour configures it.
    Contour,
    /// The ingress-nginx controller.
    IngressNginx,
    /// Istio's proxies at the service.
    Istio,
}

/// Bounds on a value.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.max) || has(self.min)").message("perMember needs max or min"),
    validation = Rule::new("!has(self.min) || !has(self.max) || self.min <= self.max").message("min must not be more than max")
)]
pub struct Limits {
    /// More than this fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Less than this fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Requests that a member must have counted; below it the member is left out of this verdict and named. Default: the metric's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub min_samples: Option<u64>,
}

/// A limit so bad that one check beyond it rolls back.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.max) || has(self.min)").message("a guard needs max or min"),
    validation = Rule::new("!has(self.min) || !has(self.max) || self.min <= self.max").message("min must not be more than max")
)]
pub struct Guard {
    /// More than this rolls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Less than this rolls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Requests that must have been counted.
    #[serde(default = "default_guard_samples")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub min_samples: u64,
}

/// The ways to measure.
#[derive(Clone, Copy, Debug)]
pub enum MetricKind<'a> {
    /// See [`Ratio`].
    Ratio(&'a Ratio),
    /// See [`Histogram`].
    Histogram(&'a Histogram),
    /// A query that gives one number.
    Query(&'a str),
    /// What a template says; it is not known yet.
    Template(&'a TemplateRef),
    /// See [`Builtin`].
    Builtin(&'a Builtin),
}

impl Metric {
    /// What is measured; none or several keys are refused before this is asked, and then the first counts.
    #[must_use]
    pub fn kind(&self) -> MetricKind<'_> {
        if let Some(ratio) = &self.ratio {
            MetricKind::Ratio(ratio)
        } else if let Some(histogram) = &self.histogram {
            MetricKind::Histogram(histogram)
        } else if let Some(template) = &self.template_ref {
            MetricKind::Template(template)
        } else if let Some(builtin) = &self.builtin {
            MetricKind::Builtin(builtin)
        } else {
            MetricKind::Query(self.query.as_deref().unwrap_or_default())
        }
    }
}

impl Default for Failures {
    fn default() -> Self {
        Self { limit: default_limit(), within: default_within() }
    }
}

impl Default for Unknown {
    fn default() -> Self {
        Self { limit: default_unknown_limit(), action: UnknownAction::default() }
    }
}

const fn default_interval() -> Duration {
    Duration::from_secs(60)
}

const fn default_settle() -> Duration {
    Duration::from_secs(30)
}

const fn default_lag() -> Duration {
    Duration::from_secs(15)
}

const fn default_limit() -> u32 {
    3
}

const fn default_within() -> u32 {
    10
}

const fn default_unknown_limit() -> u32 {
    10
}

const fn default_min_samples() -> u64 {
    100
}

const fn default_guard_samples() -> u64 {
    20
}
