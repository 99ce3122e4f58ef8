//! Metrics in words: units, limits and values. Pure.

use super::text::number;
use crate::api::{
    Metric,
    analysis::{BuiltinType, MetricKind},
};

/// The unit of the values; empty where only the query knows it.
pub(super) fn unit(metric: &Metric) -> &'static str {
    match metric.kind() {
        MetricKind::Ratio(_) => "%",
        MetricKind::Histogram(histogram) if histogram.milliseconds => "s",
        MetricKind::Histogram(histogram) => of_series(&histogram.buckets),
        MetricKind::Builtin(builtin) => match builtin.type_ {
            BuiltinType::RequestSuccessRate => "%",
            BuiltinType::RequestDuration => "s",
        },
        MetricKind::Query(_) | MetricKind::Template(_) => "",
    }
}

/// By the name of the series, which ends with its unit wherever Prometheus' conventions are kept.
fn of_series(query: &str) -> &'static str {
    let units = [("milliseconds", "ms"), ("seconds", "s"), ("bytes", "B")];
    units.iter().find(|(name, _)| query.contains(name)).map_or("", |(_, unit)| unit)
}

/// A value with its unit: `0.07 %`.
pub(super) fn value(metric: Option<&Metric>, value: f64) -> String {
    with_unit(number(value), metric.map_or("", unit))
}

/// The limit over all canaries, else the one on each of them, as it was declared: `<= 1 %`.
pub(super) fn limit(metric: &Metric) -> String {
    let each = metric.per_member.unwrap_or_default();
    let unit = unit(metric);
    match (metric.max.or(each.max), metric.min.or(each.min)) {
        (Some(max), None) => with_unit(format!("<= {max}"), unit),
        (None, Some(min)) => with_unit(format!(">= {min}"), unit),
        (Some(max), Some(min)) => with_unit(format!("{min}..{max}"), unit),
        (None, None) => unit.to_owned(),
    }
}

/// Whether larger values are worse.
pub(super) fn larger_is_worse(metric: &Metric) -> bool {
    let each = metric.per_member.unwrap_or_default();
    metric.max.or(each.max).is_some() || metric.min.or(each.min).is_none()
}

/// Whether a value is beyond the limit over all canaries or the one on each of them.
pub(super) fn is_beyond(metric: &Metric, value: f64) -> bool {
    let each = metric.per_member.unwrap_or_default();
    let mut most = [metric.max, each.max].into_iter().flatten();
    let mut least = [metric.min, each.min].into_iter().flatten();
    most.any(|max| value > max) || least.any(|min| value < min)
}

fn with_unit(text: String, unit: &str) -> String {
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Metric, limit, value};

    fn metric(fields: &serde_json::Value) -> Metric {
        let mut metric = json!({"name": "m"});
        json_patch::merge(&mut metric, fields);
        serde_json::from_value(metric).unwrap()
    }

    #[test]
    fn limits_stand_as_declared_with_the_unit_of_the_metric() {
        let limits = [
            json!({"ratio": {"numerator": "a", "denominator": "b"}, "max": 0.00001}),
            json!({"histogram": {"buckets": "request_duration_seconds_bucket", "quantile": 0.99}, "max": 0.25}),
            json!({"histogram": {"buckets": "x_milliseconds_bucket", "quantile": 0.99, "milliseconds": true}, "max": 1.0}),
            json!({"histogram": {"buckets": "x_milliseconds_bucket", "quantile": 0.99}, "max": 250.0}),
            json!({"builtin": {"type": "RequestSuccessRate", "ingress": "Istio"}, "min": 99.5}),
            json!({"query": "up", "perMember": {"min": 1.0, "max": 2.0}}),
        ];
        let shown = limits.map(|fields| limit(&metric(&fields)));
        assert_eq!(shown, ["<= 0.00001 %", "<= 0.25 s", "<= 1 s", "<= 250 ms", ">= 99.5 %", "1..2"]);
    }

    #[test]
    fn a_value_has_three_digits_and_its_unit() {
        let ratio = metric(&json!({"ratio": {"numerator": "a", "denominator": "b"}, "max": 1.0}));
        assert_eq!((value(Some(&ratio), 31.04), value(None, 0.2049)), ("31 %".to_owned(), "0.205".to_owned()));
    }
}
