//! One round of measurements over all members.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::future::join_all;
use tokio::time::{Instant, timeout_at};

use super::{
    Answer, Missing, Prometheus,
    template::{Variables, render},
};
use crate::{
    api::{Analysis, Metric, analysis::MetricKind},
    member::Registry,
    rollout::input::{Sample, Sampled, Wanted, WantedMetric},
};

/// The time that a whole round may take; who has not answered by then is missing this time.
const ROUND: Duration = Duration::from_secs(5);

/// Where each member's metrics are, or why they cannot be asked for.
type Sources = BTreeMap<String, Result<Prometheus, String>>;
/// Answers by member and query.
type Answers = BTreeMap<(String, String), Result<Answer, Missing>>;

/// Measures what is wanted, at all members at once, within five seconds. What could not be measured is a
/// [`Sample::Missing`], so there is one sample for each metric, service and member.
pub async fn measure(wanted: &Wanted, analysis: &Analysis, namespace: &str, registry: &Registry) -> Vec<Sampled> {
    let source = |member: &String| match registry.member(member) {
        Some(found) => found.prometheus().map_err(|problem| problem.message),
        None => Err(format!("there is no MemberCluster {member}")),
    };
    let sources = wanted.members.iter().map(|member| (member.clone(), source(member))).collect();
    round(wanted, analysis, namespace, &sources).await
}

async fn round(wanted: &Wanted, analysis: &Analysis, namespace: &str, sources: &Sources) -> Vec<Sampled> {
    let asks = asks(wanted, analysis, namespace);
    let until = Instant::now() + ROUND;
    let answers = distinct(&asks).into_iter().map(async |(member, query)| {
        let answer = ask_one(sources.get(&member), &query, wanted, until).await;
        ((member, query), answer)
    });
    let answers: Answers = join_all(answers).await.into_iter().collect();
    asks.into_iter().map(|ask| ask.sampled(wanted, &answers)).collect()
}

/// A query that several metrics share is asked once.
fn distinct(asks: &[Ask<'_>]) -> BTreeSet<(String, String)> {
    let queries = |ask: &Ask<'_>| ask.queries.clone().unwrap_or_default();
    asks.iter().flat_map(|ask| queries(ask).into_iter().map(|query| (ask.member.to_owned(), query))).collect()
}

async fn ask_one(
    source: Option<&Result<Prometheus, String>>,
    query: &str,
    wanted: &Wanted,
    until: Instant,
) -> Result<Answer, Missing> {
    match source {
        Some(Ok(prometheus)) => timeout_at(until, prometheus.query(query, wanted.evaluate_at))
            .await
            .unwrap_or_else(|_| Err(Missing::Down(format!("no answer within {} s", ROUND.as_secs())))),
        Some(Err(why)) => Err(Missing::Down(why.clone())),
        None => Err(Missing::Down("not asked".to_owned())),
    }
}

/// One metric of one service at one member, and the queries that it takes.
struct Ask<'a> {
    metric: &'a Metric,
    window: &'a WantedMetric,
    service: &'a str,
    member: &'a str,
    queries: Result<Vec<String>, Missing>,
}

fn asks<'a>(wanted: &'a Wanted, analysis: &'a Analysis, namespace: &str) -> Vec<Ask<'a>> {
    let mut asks = Vec::new();
    for window in &wanted.windows {
        let Some(metric) = analysis.metrics.iter().find(|metric| metric.name == window.metric) else { continue };
        for service in &wanted.services {
            for member in &wanted.members {
                let variables = Variables { service, namespace, member, window: window.window };
                let queries = queries(metric, &variables);
                asks.push(Ask { metric, window, service, member, queries });
            }
        }
    }
    asks
}

fn queries(metric: &Metric, variables: &Variables<'_>) -> Result<Vec<String>, Missing> {
    let templates = match metric.kind() {
        MetricKind::Ratio(ratio) => vec![ratio.numerator.as_str(), &ratio.denominator],
        MetricKind::Histogram(histogram) => vec![histogram.buckets.as_str()],
        MetricKind::Query(query) => vec![query],
    };
    templates.into_iter().map(|template| Ok(render(template, variables)?)).collect()
}

impl Ask<'_> {
    fn sampled(self, wanted: &Wanted, answers: &Answers) -> Sampled {
        let sample = self.sample(wanted, answers).unwrap_or_else(|missing| Sample::Missing(missing.to_string()));
        Sampled {
            service: self.service.to_owned(),
            metric: self.metric.name.clone(),
            member: self.member.to_owned(),
            whole: self.window.whole,
            sample,
        }
    }

    fn sample(&self, wanted: &Wanted, answers: &Answers) -> Result<Sample, Missing> {
        let at = wanted.evaluate_at;
        let queries = self.queries.as_ref().map_err(Clone::clone)?;
        let answer = |place: usize| {
            let query = queries.get(place).cloned().unwrap_or_default();
            answers.get(&(self.member.to_owned(), query)).cloned().unwrap_or(Err(Missing::NoSeries))
        };
        match self.metric.kind() {
            MetricKind::Ratio(_) => {
                Ok(Sample::Ratio { numerator: answer(0)?.number(at)?, denominator: answer(1)?.number(at)? })
            }
            MetricKind::Histogram(_) => Ok(Sample::Buckets(answer(0)?.buckets(at)?)),
            MetricKind::Query(_) => Ok(Sample::Value(answer(0)?.number(at)?.ok_or(Missing::NoSeries)?)),
        }
    }
}
