//! One round of measurements over all members.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::{
    possible::possible,
    resolve::Resolved,
    template::{TemplateError, Variables, alternatives, is_for_all_services, render},
};
use crate::{
    api::{Metric, analysis::MetricKind},
    prometheus::{Answer, Began, Missing, Prometheus},
    rollout::input::{MeasurementRequest, MetricWindow, Sample, Sampled},
};

/// Queries of a round that are under way at one member at a time, or wait there for the turn of their namespace. So the
/// rollouts of one namespace have the same share, however many queries each has.
const AT_ONCE: usize = 4;
/// Queries of a round that are sent to one member.
pub(crate) const QUERIES: usize = 512;

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
    /// The rollout has more queries than one may send.
    #[error(
        "the rollout has {0} queries for this member, of which {QUERIES} are sent in a round; declare fewer metrics or services"
    )]
    TooMany(usize),
    /// Prometheus gave no number.
    #[error(transparent)]
    Missing(#[from] Missing),
}

/// Answers by cluster and query.
type Answers = BTreeMap<(String, String), Result<Answer, Unmeasured>>;

/// Measures what is requested, at all members at once, within ten seconds from `now` on. What could not be measured is a [`Sample::Missing`], so there is one
/// sample for each metric, service and member.
pub(crate) async fn measure(
    request: &MeasurementRequest,
    analysis: &Resolved,
    namespace: &str,
    clusters: &Clusters,
    sources: &Sources,
    now: Timestamp,
) -> Vec<Sampled> {
    let measurements = measurements(request, analysis, namespace, clusters);
    let (at, began) = (request.evaluate_at, Began::now(now));
    let of_members = distinct(&measurements).into_iter().map(async |(member, queries)| {
        let answers = answers_of(sources.get(&member), namespace, queries, at, began).await;
        answers.into_iter().map(move |(query, answer)| ((member.clone(), query), answer)).collect::<Vec<_>>()
    });
    let answers: Answers = join_all(of_members).await.into_iter().flatten().collect();
    measurements.into_iter().map(|one| one.sampled(request, &answers)).collect()
}

/// The queries for each member. One that several metrics share is sent once.
fn distinct(measurements: &[Measurement<'_>]) -> BTreeMap<String, BTreeSet<String>> {
    let mut queries = BTreeMap::<_, BTreeSet<_>>::new();
    for one in measurements {
        let texts = one.queries.iter().flatten().map(|query| query.text.clone());
        queries.entry(one.cluster.clone()).or_default().extend(texts);
    }
    queries
}

async fn answers_of(
    source: Option<&Result<Prometheus, String>>,
    namespace: &str,
    queries: BTreeSet<String>,
    at: Timestamp,
    began: Began,
) -> Vec<(String, Result<Answer, Unmeasured>)> {
    let (count, line) = (queries.len(), Semaphore::new(AT_ONCE));
    let answers = queries.into_iter().enumerate().map(async |(place, query)| {
        let answer = match source {
            Some(Ok(_)) if place >= QUERIES => Err(Unmeasured::TooMany(count)),
            Some(Ok(prometheus)) => {
                // Nobody closes the line.
                let _place = line.acquire().await;
                prometheus.query_for(namespace, &query, at, began).await.map_err(Unmeasured::Missing)
            }
            Some(Err(why)) => Err(Unmeasured::NoSource(why.clone())),
            None => Err(Unmeasured::NoSource("not queried".to_owned())),
        };
        (query, answer)
    });
    join_all(answers).await
}

/// One metric of one service at one member, and the queries that it takes.
struct Measurement<'a> {
    metric: &'a Metric,
    window: &'a MetricWindow,
    service: &'a str,
    member: &'a str,
    cluster: String,
    queries: Result<Vec<Query>, Unmeasured>,
}

struct Query {
    text: String,
    /// It is for all services, and its answer has a series for each.
    by_service: bool,
}

fn measurements<'a>(
    request: &'a MeasurementRequest,
    resolved: &'a Resolved,
    namespace: &str,
    clusters: &'a Clusters,
) -> Vec<Measurement<'a>> {
    let mut measurements = Vec::new();
    let (nothing, services) = (Destination::default(), alternatives(&request.services));
    for window in &request.windows {
        let Some(metric) = resolved.analysis.metrics.iter().find(|metric| metric.name == window.metric) else {
            continue;
        };
        for service in &request.services {
            for member in &request.members {
                let Destination { cluster, backend } =
                    clusters.get(&(service.clone(), member.clone())).unwrap_or(&nothing);
                let (services, window_length) = (services.as_str(), window.window);
                let variables =
                    Variables { service, services, namespace, member: cluster, backend, window: window_length };
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

fn queries(metric: &Metric, variables: &Variables<'_>) -> Result<Vec<Query>, Unmeasured> {
    let templates = match metric.kind() {
        MetricKind::Ratio(ratio) => vec![ratio.numerator.as_str(), &ratio.denominator],
        MetricKind::Histogram(histogram) => vec![histogram.buckets.as_str()],
        MetricKind::Query(query) => vec![query],
        MetricKind::Template(_) | MetricKind::Builtin(_) => Vec::new(),
    };
    let query = |template| Ok(Query { text: render(template, variables)?, by_service: is_for_all_services(template) });
    templates.into_iter().map(query).collect()
}

impl Measurement<'_> {
    fn sampled(self, request: &MeasurementRequest, answers: &Answers) -> Sampled {
        let sample = self.sample(request, answers).and_then(|sample| Ok(possible(sample)?));
        let sample = sample.unwrap_or_else(|missing| Sample::Missing(missing.to_string()));
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
            let query = queries.get(place).ok_or(Missing::NoSeries)?;
            let answer = answers.get(&(self.cluster.clone(), query.text.clone())).cloned();
            let answer = answer.unwrap_or(Err(Missing::NoSeries.into()))?;
            if query.by_service { Ok(answer.of(self.service)?) } else { Ok::<_, Unmeasured>(answer) }
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
