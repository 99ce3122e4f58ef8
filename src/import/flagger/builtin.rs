//! Flagger's built-in metrics. Behind a name they become the built-in metrics of the member's ingress; in the same cluster,
//! queries about the Service that the route names.

use std::str::FromStr;

use super::{Provider, canary::Context};
use crate::{
    api::{
        Metric,
        analysis::{Builtin, BuiltinType, Histogram, Ingress, Limits, Ratio},
    },
    import::{metric::Range, remarks::shown, services::Reached},
};

const P99: f64 = 0.99;
const MILLISECONDS: f64 = 1000.0;

/// What Flagger can measure by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BuiltIn {
    /// In percent, without 5xx.
    SuccessRate,
    /// In milliseconds.
    Duration,
}

impl FromStr for BuiltIn {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "request-success-rate" => Ok(Self::SuccessRate),
            "request-duration" => Ok(Self::Duration),
            _ => Err(()),
        }
    }
}

impl BuiltIn {
    /// What passes without a range: a success rate without a threshold never fails, and a duration of more than 0 does.
    pub(super) fn without_range(self, threshold: Option<f64>) -> Range {
        match self {
            Self::SuccessRate => Range { min: threshold, max: None },
            Self::Duration => Range { min: None, max: Some(threshold.unwrap_or(0.0)) },
        }
    }
}

/// Where Flagger's router of a provider counts requests.
struct Counted {
    requests: &'static str,
    status: &'static str,
    selector: String,
    durations: Durations,
}

/// What is known of durations.
enum Durations {
    /// Buckets, in milliseconds or seconds.
    Buckets { series: &'static str, milliseconds: bool },
    /// A sum and a count, in seconds: an average.
    Average { series: &'static str },
}

/// The metric, and what is to be said of it.
pub(super) fn metric(
    kind: BuiltIn,
    context: &Context<'_, '_>,
    metric: Metric,
    range: Range,
) -> (Metric, Option<String>) {
    let (counted, ingress) = counted(context);
    let by_name = context.target.reached == Reached::ByName;
    let builtin = |type_| Some(Builtin { type_, ingress: ingress?, quantile: None }).filter(|_| by_name);
    let seconds = range.scaled(MILLISECONDS.recip());
    match (kind, &counted.durations) {
        (BuiltIn::SuccessRate, _) => {
            let metric = Metric { min: range.min, max: range.max, ..metric };
            let builtin = builtin(BuiltinType::RequestSuccessRate);
            let said = builtin.is_none().then(|| pods(context)).flatten();
            let ratio = builtin.is_none().then(|| counted.ratio());
            (Metric { ratio, builtin, ..metric }, said)
        }
        (BuiltIn::Duration, Durations::Average { series }) => {
            let query = counted.average(series);
            let said = "Flagger measures an average here, which cannot be merged: judged for each member by itself, in milliseconds. \
                        For a quantile over all of them write builtin or histogram.";
            let per_member = Some(Limits { min: range.min, max: range.max, min_samples: None });
            (Metric { query: Some(query), per_member, ..metric }, Some(said.to_owned()))
        }
        (BuiltIn::Duration, Durations::Buckets { series, milliseconds }) => {
            let metric = Metric { min: seconds.min, max: seconds.max, ..metric };
            let builtin = builtin(BuiltinType::RequestDuration);
            let said = builtin.is_none().then(|| pods(context)).flatten();
            let histogram = builtin.is_none().then(|| counted.quantile(series, *milliseconds));
            (Metric { histogram, builtin, ..metric }, said)
        }
    }
}

/// What is said of series that do not tell primary and canary apart.
fn pods(context: &Context<'_, '_>) -> Option<String> {
    let by_pods = matches!(context.provider, Provider::GatewayApi | Provider::Kubernetes);
    let one_cluster = context.target.reached == Reached::BySelector;
    by_pods.then(|| {
        if one_cluster {
            "Counts the Pods named after the Service, those of primary and canary alike, as Flagger does: a failure holds \
             the run and does not roll back. Count what is behind {{ backend }} instead."
                .to_owned()
        } else {
            "Counts what the Pods themselves report, as Flagger does with this provider; where the member's ingress is \
             known, builtin is shorter."
                .to_owned()
        }
    })
}

/// How the data plane counts the requests of the canary; and, where a member has the same ingress, which one that is.
fn counted(context: &Context<'_, '_>) -> (Counted, Option<Ingress>) {
    let by_name = context.target.reached == Reached::ByName;
    let ingress_name = context.ingress.as_deref().map(shown).unwrap_or_default();
    match context.provider {
        Provider::Contour => {
            let selector = r#"envoy_cluster_name=~"{{ namespace }}_{{ backend }}_[0-9a-zA-Z-]+""#.to_owned();
            let durations = Durations::Buckets { series: "envoy_cluster_upstream_rq_time_bucket", milliseconds: true };
            let counted =
                Counted { requests: "envoy_cluster_upstream_rq", status: "envoy_response_code", selector, durations };
            (counted, Some(Ingress::Contour))
        }
        Provider::Nginx => {
            let selector = if by_name {
                r#"namespace="{{ namespace }}",service="{{ service }}""#.to_owned()
            } else {
                format!(
                    r#"namespace="{{{{ namespace }}}}",ingress="{ingress_name}",canary=~"{{{{ namespace }}}}-{{{{ backend }}}}-[0-9a-zA-Z-]+""#
                )
            };
            let durations = Durations::Average { series: "nginx_ingress_controller_response_duration_seconds" };
            let counted =
                Counted { requests: "nginx_ingress_controller_requests", status: "status", selector, durations };
            (counted, Some(Ingress::IngressNginx))
        }
        Provider::Skipper => {
            let selector = if by_name {
                r#"route=~"kube(ew)?_{{ namespace.word }}__.*__{{ service.word }}(_[0-9]+)?""#.to_owned()
            } else {
                r#"route=~"kube(ew)?_{{ namespace.word }}__.*__{{ backend.word }}(_[0-9]+)?""#.to_owned()
            };
            let durations = Durations::Average { series: "skipper_serve_route_duration_seconds" };
            let counted =
                Counted { requests: "skipper_serve_route_duration_seconds_count", status: "code", selector, durations };
            (counted, Some(Ingress::Skipper))
        }
        Provider::Istio => {
            let service = if by_name { "service" } else { "backend" };
            let selector = format!(
                r#"reporter="destination",destination_service_namespace="{{{{ namespace }}}}",destination_service_name="{{{{ {service} }}}}""#
            );
            let durations =
                Durations::Buckets { series: "istio_request_duration_milliseconds_bucket", milliseconds: true };
            let counted = Counted { requests: "istio_requests_total", status: "response_code", selector, durations };
            (counted, Some(Ingress::Istio))
        }
        // What the Pods count; the others have no route, and their Canaries are refused.
        Provider::GatewayApi
        | Provider::Kubernetes
        | Provider::Apisix
        | Provider::AppMesh
        | Provider::Gloo
        | Provider::Knative
        | Provider::Kuma
        | Provider::Linkerd
        | Provider::Osm
        | Provider::Smi
        | Provider::Traefik => {
            let selector = concat!(
                r#"kubernetes_namespace="{{ namespace }}","#,
                r#"kubernetes_pod_name=~"{{ service }}-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)""#
            );
            let durations = Durations::Buckets { series: "http_request_duration_seconds_bucket", milliseconds: false };
            let requests = "http_request_duration_seconds_count";
            (Counted { requests, status: "status", selector: selector.to_owned(), durations }, None)
        }
    }
}

impl Counted {
    fn ratio(&self) -> Ratio {
        let Self { requests, status, selector, .. } = self;
        Ratio {
            numerator: format!(r#"sum(increase({requests}{{{selector},{status}!~"5.."}}[{{{{ window }}}}]))"#),
            denominator: format!("sum(increase({requests}{{{selector}}}[{{{{ window }}}}]))"),
        }
    }

    fn quantile(&self, series: &str, milliseconds: bool) -> Histogram {
        let buckets = format!("sum by (le) (increase({series}{{{}}}[{{{{ window }}}}]))", self.selector);
        Histogram { buckets, quantile: P99, milliseconds }
    }

    fn average(&self, series: &str) -> String {
        let rate = |part: &str| format!("sum(rate({series}_{part}{{{}}}[{{{{ window }}}}]))", self.selector);
        format!("{} / {} * 1000", rate("sum"), rate("count"))
    }
}
