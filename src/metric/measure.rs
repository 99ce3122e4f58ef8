//! One round of measurements over all members.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::future::join_all;
use tokio::time::{Instant, timeout_at};

use super::{
    resolve::Resolved,
    template::{TemplateError, Variables, render},
};
use crate::{
    api::{Metric, analysis::MetricKind},
    http::HttpError,
    prometheus::{Answer, Missing, Prometheus},
    rollout::input::{MeasurementRequest, MetricWindow, Sample, Sampled},
};

/// The time that a whole round may take; who has not answered by then is missing this time.
const ROUND: Duration = Duration::from_secs(5);

/// The Prometheus of each `MemberCluster`, or why it cannot be queried.
pub(crate) type Sources = BTreeMap<String, Result<Prometheus, String>>;
/// Where requests of each service and member of the distribution go: in service mode the members are primary and canary.
pub(crate) type Clusters = BTreeMap<(String, String), Destination>;

/// Where requests of one service at one member of the distribution go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Destination {
    /// The `MemberCluster` whose Prometheus is queried.
    pub cluster: String,
    /// The Service that routes name.
    pub backend: String,
}

/// Why there is no sample: neither a pass nor a failure.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum Unmeasured {
    /// What the metric refers to does not exist or does not fit.
    #[error("{0}")]
    Unusable(String),
    /// The query cannot be written.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// There is no Prometheus to ask.
    #[error("source down: {0}")]
    NoSource(String),
    /// Prometheus gave no number.
    #[error(transparent)]
    Missing(#[from] Missing),
}

/// Answers by cluster and query.
type Answers = BTreeMap<(String, String), Result<Answer, Unmeasured>>;

/// Measures what is requested, at all members at once, within five seconds. What could not be measured is a
/// [`Sample::Missing`], so there is one sample for each metric, service and member.
pub(crate) async fn measure(
    request: &MeasurementRequest,
    analysis: &Resolved,
    namespace: &str,
    clusters: &Clusters,
    sources: &Sources,
) -> Vec<Sampled> {
    let measurements = measurements(request, analysis, namespace, clusters);
    let until = Instant::now() + ROUND;
    let answers = distinct(&measurements).into_iter().map(async |(member, query)| {
        let answer = answer_of(sources.get(&member), &query, request, until).await;
        ((member, query), answer)
    });
    let answers: Answers = join_all(answers).await.into_iter().collect();
    measurements.into_iter().map(|one| one.sampled(request, &answers)).collect()
}

/// A query that several metrics share is sent once.
fn distinct(measurements: &[Measurement<'_>]) -> BTreeSet<(String, String)> {
    let queries = |one: &Measurement<'_>| one.queries.clone().unwrap_or_default();
    measurements.iter().flat_map(|one| queries(one).into_iter().map(|query| (one.cluster.clone(), query))).collect()
}

async fn answer_of(
    source: Option<&Result<Prometheus, String>>,
    query: &str,
    request: &MeasurementRequest,
    until: Instant,
) -> Result<Answer, Unmeasured> {
    match source {
        Some(Ok(prometheus)) => timeout_at(until, prometheus.query(query, request.evaluate_at))
            .await
            .unwrap_or(Err(Missing::Down(HttpError::Late(ROUND))))
            .map_err(Unmeasured::Missing),
        Some(Err(why)) => Err(Unmeasured::NoSource(why.clone())),
        None => Err(Unmeasured::NoSource("not queried".to_owned())),
    }
}

/// One metric of one service at one member, and the queries that it takes.
struct Measurement<'a> {
    metric: &'a Metric,
    window: &'a MetricWindow,
    service: &'a str,
    member: &'a str,
    cluster: String,
    queries: Result<Vec<String>, Unmeasured>,
}

fn measurements<'a>(
    request: &'a MeasurementRequest,
    resolved: &'a Resolved,
    namespace: &str,
    clusters: &'a Clusters,
) -> Vec<Measurement<'a>> {
    let mut measurements = Vec::new();
    let nothing = Destination::default();
    for window in &request.windows {
        let Some(metric) = resolved.analysis.metrics.iter().find(|metric| metric.name == window.metric) else {
            continue;
        };
        for service in &request.services {
            for member in &request.members {
                let Destination { cluster, backend } =
                    clusters.get(&(service.clone(), member.clone())).unwrap_or(&nothing);
                let variables = Variables { service, namespace, member: cluster, backend, window: window.window };
                let queries = match resolved.unusable.get(&metric.name) {
                    Some(problem) => Err(Unmeasured::Unusable(problem.message.clone())),
                    None => queries(metric, &variables),
                };
                measurements.push(Measurement { metric, window, service, member, cluster: cluster.clone(), queries });
            }
        }
    }
    measurements
}

fn queries(metric: &Metric, variables: &Variables<'_>) -> Result<Vec<String>, Unmeasured> {
    let templates = match metric.kind() {
        MetricKind::Ratio(ratio) => vec![ratio.numerator.as_str(), &ratio.denominator],
        MetricKind::Histogram(histogram) => vec![histogram.buckets.as_str()],
        MetricKind::Query(query) => vec![query],
        MetricKind::Template(_) | MetricKind::Builtin(_) => Vec::new(),
    };
    templates.into_iter().map(|template| Ok(render(template, variables)?)).collect()
}

impl Measurement<'_> {
    fn sampled(self, request: &MeasurementRequest, answers: &Answers) -> Sampled {
        let sample = self.sample(request, answers).unwrap_or_else(|missing| Sample::Missing(missing.to_string()));
        Sampled {
            service: self.service.to_owned(),
            metric: self.metric.name.clone(),
            member: self.member.to_owned(),
            whole: self.window.whole,
            sample,
        }
    }

    fn sample(&self, request: &MeasurementRequest, answers: &Answers) -> Result<Sample, Unmeasured> {
        let at = request.evaluate_at;
        let queries = self.queries.as_ref().map_err(Clone::clone)?;
        let answer = |place: usize| {
            let query = queries.get(place).cloned().unwrap_or_default();
            answers.get(&(self.cluster.clone(), query)).cloned().unwrap_or(Err(Missing::NoSeries.into()))
        };
        match self.metric.kind() {
            MetricKind::Ratio(_) => {
                Ok(Sample::Ratio { numerator: answer(0)?.number(at)?, denominator: answer(1)?.number(at)? })
            }
            MetricKind::Histogram(histogram) => {
                let buckets = answer(0)?.buckets(at)?;
                Ok(Sample::Buckets(if histogram.milliseconds { in_seconds(buckets) } else { buckets }))
            }
            MetricKind::Query(_) | MetricKind::Template(_) | MetricKind::Builtin(_) => {
                Ok(Sample::Value(answer(0)?.number(at)?.ok_or(Missing::NoSeries)?))
            }
        }
    }
}

fn in_seconds(buckets: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    buckets.into_iter().map(|(bound, count)| (bound / 1000.0, count)).collect()
}

#[cfg(test)]
mod tests;
