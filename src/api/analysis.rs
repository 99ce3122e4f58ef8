//! What must hold while weights move: metrics, limits, and how much a failure counts.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, name};

/// The analysis of a run.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("duration(self.interval) >= duration('1s') && duration(self.interval) <= duration('1h')")
    .message("spec.analysis.interval: from 1s to 1h"))]
pub struct Analysis {
    /// Time between checks, 1s to 1h; also the default window of a metric.
    #[serde(default = "default_interval")]
    pub interval: Duration,
    /// The number of failed checks that rolls back.
    #[serde(default)]
    pub failures: Failures,
    /// Time after a weight change in which samples are ignored. Service mode: for this time before and after a change
    /// of a Service it gets no traffic, so that the data plane learns of the change first.
    #[serde(default = "default_settle")]
    pub settle: Duration,
    /// What happens on Unknown checks.
    #[serde(default)]
    pub unknown: Unknown,
    /// The metrics. Each is judged for each service separately; the worst verdict decides. An empty list says that nothing is
    /// measured: then only the endpoint probes and the time judge.
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".to_owned()]))]
    pub metrics: Vec<Metric>,
    /// Compares the observed share of each member with the desired one. Declare it only if the rollout owns all
    /// traffic of these services. Steps that match or mirror requests are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Metrics are evaluated at the present time minus this, in all members alike.
    #[serde(default = "default_lag")]
    pub lag: Duration,
}

/// The number of failed checks, among the last ones, that rolls back.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.limit <= self.within").message("limit must not be more than within"))]
pub struct Failures {
    /// The number of failed checks that rolls back.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: u32,
    /// The number of last checks that are counted, for each service and metric.
    #[serde(default = "default_within")]
    #[schemars(range(min = 1, max = 100))]
    pub within: u32,
}

/// What happens on Unknown checks.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Unknown {
    /// The number of Unknown checks in a row after which `action` happens.
    #[schemars(range(min = 1, max = 10000))]
    pub limit: u32,
    /// What happens then.
    pub action: UnknownAction,
    /// A hold because metrics are missing or say too little is announced by `spec.alerts` once it has lasted so long. Default: 5m.
    #[serde(skip_serializing_if = "is_five_minutes")]
    pub alert_after: Duration,
}

/// What happens on too many Unknown checks.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownAction {
    /// The weights hold.
    #[default]
    Hold,
    /// Roll back to the last known good distribution.
    Rollback,
}

/// How far the observed share may be from the desired one.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
// For a whole number the API server rounds a schema's bounds to whole numbers, and takes 0.
#[x_kube(validation = Rule::new("self.within >= 0.1").message("within: from 0.1 to 100 points"))]
pub struct Share {
    /// In percentage points.
    #[schemars(range(min = 0.1, max = 100.0))]
    pub within: f64,
}

/// A metric and its limits; exactly one of `ratio`, `histogram`, `query`, `templateRef` and `builtin`.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("[has(self.ratio), has(self.histogram), has(self.query), has(self.templateRef), has(self.builtin)].filter(k, k).size() == 1")
        .message("a metric has exactly one of ratio, histogram, query, templateRef and builtin"),
    validation = Rule::new("!has(self.variables) || has(self.templateRef)")
        .message("variables belong to a template; give templateRef"),
    validation = Rule::new("has(self.max) || has(self.min) || has(self.perMember)")
        .message("a metric needs a limit: max, min, or perMember"),
    validation = Rule::new("!has(self.query) || (!has(self.max) && !has(self.min))")
        .message("a query is judged per member only; put its limits under perMember"),
    validation = Rule::new("!has(self.min) || !has(self.max) || self.min <= self.max").message("min must not be more than max"),
    validation = Rule::new("!has(self.window) || (duration(self.window) >= duration('1s') && duration(self.window) <= duration('24h'))")
        .message("window: from 1s to 24h")
)]
pub struct Metric {
    /// The name of the metric in the status.
    #[schemars(length(min = 1, max = 63), regex(pattern = name::LABEL))]
    pub name: String,
    /// A share in percent, merged exactly: sum of numerators over sum of denominators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Ratio>,
    /// A quantile in the unit of the series, merged exactly: buckets are first added per `le`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// A query that returns one number. It cannot be merged, so it is judged per member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 8192))]
    pub query: Option<String>,
    /// A `MetricTemplate` of the same namespace, which defines the metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_ref: Option<TemplateRef>,
    /// Values of the template's variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16, "additionalProperties" = {"type": "string", "maxLength": 1024}))]
    pub variables: BTreeMap<String, String>,
    /// A metric that every ingress provides: success rate or duration of the service's requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<Builtin>,
    /// The time that `{{ window }}` covers. Default: the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
    /// A larger value over all canary members together fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// A smaller value over all canary members together fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Limits on each canary member separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_member: Option<Limits>,
    /// A limit so bad that one check beyond it rolls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
    /// Minimum number of counted requests of all canaries together; with fewer, or none of one of them, the check is Unknown.
    #[serde(default = "default_min_samples")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub min_samples: u64,
}

/// A share in percent.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Ratio {
    /// PromQL for the counted requests, such as failed ones. `{{ service }}`, `{{ namespace }}`, `{{ member }}`,
    /// `{{ backend }}` (the Service that routes name) and `{{ window }}` are substituted, and `{{ services }}`: a regular
    /// expression for all services of the rollout. A query with it is sent once for all of them, and returns a series for
    /// each, with the label `service`.
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
    /// PromQL that returns one series per `le`.
    #[schemars(length(min = 1, max = 8192))]
    pub buckets: String,
    /// The quantile, such as 0.99.
    #[schemars(range(min = 0.01, max = 0.9999))]
    pub quantile: f64,
    /// The bounds are in milliseconds. They are divided by a thousand, so that limits are in seconds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub milliseconds: bool,
}

/// A template by its name.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TemplateRef {
    /// Name of a `MetricTemplate` of the rollout's namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = name::SUBDOMAIN))]
    pub name: String,
}

/// A metric that every ingress provides. In the members the service must have the same namespace and name as here.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.quantile) || self.type == 'RequestDuration'").message("only a RequestDuration has a quantile"),
    validation = Rule::new("!has(self.quantile) || self.quantile >= 0.01").message("quantile: from 0.01 to 0.9999")
)]
pub struct Builtin {
    /// The kind of metric.
    #[serde(rename = "type")]
    pub type_: BuiltinType,
    /// The ingress that serves and counts the requests in the members.
    pub ingress: Ingress,
    /// The quantile of a `RequestDuration`. Default: 0.99.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 0.9999))]
    pub quantile: Option<f64>,
}

/// The kind of metric.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinType {
    /// The share of requests without a 5xx answer, in percent; limit it with `min`.
    RequestSuccessRate,
    /// A quantile of the duration of requests, in seconds; limit it with `max`.
    RequestDuration,
}

/// The ingress that counts requests in a member.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ingress {
    /// Skipper with `-serve-route-metrics`: the routes of Ingresses to the service, and of the `RouteGroup` with its
    /// name.
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
    /// A larger value fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// A smaller value fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Minimum number of requests that a member must have counted; with fewer it is excluded from this verdict and
    /// named. Default: the metric's `minSamples`.
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
    /// A larger value rolls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// A smaller value rolls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Minimum number of counted requests.
    #[serde(default = "default_guard_samples")]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub min_samples: u64,
}

/// The kinds of metrics.
#[derive(Clone, Copy, Debug)]
pub enum MetricKind<'a> {
    /// See [`Ratio`].
    Ratio(&'a Ratio),
    /// See [`Histogram`].
    Histogram(&'a Histogram),
    /// A query that returns one number.
    Query(&'a str),
    /// The metric of a template, before the template is read.
    Template(&'a TemplateRef),
    /// See [`Builtin`].
    Builtin(&'a Builtin),
}

impl Analysis {
    /// Whether metrics judge, and not the endpoint probes and the time alone.
    pub const fn measures(&self) -> bool {
        !self.metrics.is_empty()
    }
}

impl Metric {
    /// The kind of the metric. Validation refuses none or several keys; here the first one counts.
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
        Self { limit: 10, action: UnknownAction::default(), alert_after: FIVE_MINUTES }
    }
}

const FIVE_MINUTES: Duration = Duration::from_secs(300);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_five_minutes(time: &Duration) -> bool {
    *time == FIVE_MINUTES
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

const fn default_min_samples() -> u64 {
    100
}

const fn default_guard_samples() -> u64 {
    20
}
