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
/// What stands behind each service and member of the distribution: in service mode the members are primary and canary.
pub(crate) type Clusters = BTreeMap<(String, String), Behind>;

/// What stands behind one member of the distribution for one service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Behind {
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

/// Measures what is wanted, at all members at once, within five seconds. What could not be measured is a
/// [`Sample::Missing`], so there is one sample for each metric, service and member.
pub(crate) async fn measure(
    wanted: &MeasurementRequest,
    analysis: &Resolved,
    namespace: &str,
    clusters: &Clusters,
    sources: &Sources,
) -> Vec<Sampled> {
    let asks = asks(wanted, analysis, namespace, clusters);
    let until = Instant::now() + ROUND;
    let answers = distinct(&asks).into_iter().map(async |(member, query)| {
        let answer = ask_one(sources.get(&member), &query, wanted, until).await;
        ((member, query), answer)
    });
    let answers: Answers = join_all(answers).await.into_iter().collect();
    asks.into_iter().map(|ask| ask.sampled(wanted, &answers)).collect()
}

/// A query that several metrics share is sent once.
fn distinct(asks: &[Ask<'_>]) -> BTreeSet<(String, String)> {
    let queries = |ask: &Ask<'_>| ask.queries.clone().unwrap_or_default();
    asks.iter().flat_map(|ask| queries(ask).into_iter().map(|query| (ask.cluster.clone(), query))).collect()
}

async fn ask_one(
    source: Option<&Result<Prometheus, String>>,
    query: &str,
    wanted: &MeasurementRequest,
    until: Instant,
) -> Result<Answer, Unmeasured> {
    match source {
        Some(Ok(prometheus)) => timeout_at(until, prometheus.query(query, wanted.evaluate_at))
            .await
            .unwrap_or(Err(Missing::Down(HttpError::Late(ROUND))))
            .map_err(Unmeasured::Missing),
        Some(Err(why)) => Err(Unmeasured::NoSource(why.clone())),
        None => Err(Unmeasured::NoSource("not queried".to_owned())),
    }
}

/// One metric of one service at one member, and the queries that it takes.
struct Ask<'a> {
    metric: &'a Metric,
    window: &'a MetricWindow,
    service: &'a str,
    member: &'a str,
    cluster: String,
    queries: Result<Vec<String>, Unmeasured>,
}

fn asks<'a>(
    wanted: &'a MeasurementRequest,
    resolved: &'a Resolved,
    namespace: &str,
    clusters: &'a Clusters,
) -> Vec<Ask<'a>> {
    let mut asks = Vec::new();
    let nothing = Behind::default();
    for window in &wanted.windows {
        let Some(metric) = resolved.analysis.metrics.iter().find(|metric| metric.name == window.metric) else {
            continue;
        };
        for service in &wanted.services {
            for member in &wanted.members {
                let Behind { cluster, backend } = clusters.get(&(service.clone(), member.clone())).unwrap_or(&nothing);
                let variables = Variables { service, namespace, member: cluster, backend, window: window.window };
                let queries = match resolved.unusable.get(&metric.name) {
                    Some(problem) => Err(Unmeasured::Unusable(problem.message.clone())),
                    None => queries(metric, &variables),
                };
                asks.push(Ask { metric, window, service, member, cluster: cluster.clone(), queries });
            }
        }
    }
    asks
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

impl Ask<'_> {
    fn sampled(self, wanted: &MeasurementRequest, answers: &Answers) -> Sampled {
        let sample = self.sample(wanted, answers).unwrap_or_else(|missing| Sample::Missing(missing.to_string()));
        Sampled {
            service: self.service.to_owned(),
            metric: self.metric.name.clone(),
            member: self.member.to_owned(),
            whole: self.window.whole,
            sample,
        }
    }

    fn sample(&self, wanted: &MeasurementRequest, answers: &Answers) -> Result<Sample, Unmeasured> {
        let at = wanted.evaluate_at;
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
