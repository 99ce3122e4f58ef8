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
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use serde_json::json;

    use super::{super::resolve::resolve, *};
    use crate::{
        api,
        http::{
            Client, Peer,
            server::{Manner, Server, loopback, response},
        },
    };

    /// In member mode every member is its own cluster.
    fn themselves() -> Clusters {
        let services = ["shop", "storefront", "checkout"].into_iter();
        let pair = |service: &str, member: &str| {
            let behind = Behind { cluster: member.to_owned(), backend: format!("{service}-{member}") };
            ((service.to_owned(), member.to_owned()), behind)
        };
        services.flat_map(|service| ["eu-1", "eu-2", "eu-3"].map(|member| pair(service, member))).collect()
    }

    /// Counts by what the query contains, evaluated at the time that it names.
    async fn counting() -> Server {
        let answer = |head: &str| {
            let time = head.split("time=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("0").to_owned();
            let value = |le: &str, value: u32| json!({"metric": {"le": le}, "value": [time.parse::<f64>().unwrap(), value.to_string()]});
            let result = match head {
                head if head.contains("errors") => vec![],
                head if head.contains("buckets") => vec![value("+Inf", 9), value("0.5", 4)],
                _ => vec![value("", 700)],
            };
            response(200, &json!({"status": "success", "data": {"resultType": "vector", "result": result}}).to_string())
        };
        Server::start(Manner::Answers(Arc::new(answer))).await
    }

    fn source(server: &Server) -> Prometheus {
        let client = Client::new(&Peer::at(&server.url()).unwrap(), &loopback()).unwrap();
        Prometheus::new(client, "")
    }

    fn analysis() -> Resolved {
        let analysis = serde_json::from_value(json!({"metrics": [
            {"name": "errors", "max": 1, "ratio": {"numerator": "errors[{{ window }}]", "denominator": "all[{{ window }}]"}},
            {"name": "again", "max": 1, "ratio": {"numerator": "all[{{ window }}]", "denominator": "all[{{ window }}]"}},
            {"name": "latency", "max": 1, "histogram": {"buckets": "buckets", "quantile": 0.99}},
            {"name": "load", "perMember": {"max": 1}, "query": "load{m=\"{{ member }}\"}"},
            {"name": "typo", "perMember": {"max": 1}, "query": "load[{{ interval }}]"},
            {"name": "slow", "max": 1, "histogram": {"buckets": "buckets", "quantile": 0.99, "milliseconds": true}},
            {"name": "gone", "max": 1, "templateRef": {"name": "errors"}},
        ]}));
        resolve(&analysis.unwrap(), &|_| None)
    }

    fn wanted(metrics: &[&str], members: &[&str]) -> MeasurementRequest {
        let at: Timestamp = "2026-11-21T12:00:00.25Z".parse().unwrap();
        let window = |name: &&str| MetricWindow {
            metric: (*name).to_owned(),
            window: api::Duration::from_secs(60),
            whole: true,
        };
        MeasurementRequest {
            at,
            sequence: 1,
            evaluate_at: at,
            windows: metrics.iter().map(window).collect(),
            services: vec!["checkout".to_owned()],
            members: members.iter().map(|member| (*member).to_owned()).collect(),
        }
    }

    #[tokio::test]
    async fn every_kind_of_metric_is_read_at_one_time() {
        let server = counting().await;
        let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
        let wanted = wanted(&["errors", "latency", "load", "typo", "slow", "gone"], &["eu-3"]);
        let samples = measure(&wanted, &analysis(), "shop", &themselves(), &sources).await;
        let samples: Vec<_> = samples.into_iter().map(|sampled| sampled.sample).collect();
        let typo = "{{ interval }} is not a variable; there are service, namespace, member, backend, window, service.word and namespace.word";
        assert_eq!(
            samples,
            [
                Sample::Ratio { numerator: None, denominator: Some(700.0) },
                Sample::Buckets(vec![(0.5, 4.0), (f64::INFINITY, 9.0)]),
                Sample::Value(700.0),
                Sample::Missing(typo.to_owned()),
                Sample::Buckets(vec![(0.0005, 4.0), (f64::INFINITY, 9.0)]),
                Sample::Missing(
                    "MetricTemplate errors does not exist in this namespace; make it, or correct the name".to_owned()
                ),
            ]
        );
        let heads = server.heads.lock().await;
        assert!(heads.iter().all(|head| head.contains("time=1795262400.250 ")), "{heads:?}");
        assert!(heads.iter().any(|head| head.contains("query=load%7Bm%3D%22eu-3%22%7D")), "{heads:?}");
    }

    #[tokio::test]
    async fn a_query_names_the_service_that_stands_behind_a_member() {
        let server = counting().await;
        let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
        let analysis = serde_json::from_value(
            json!({"metrics": [{"name": "load", "max": 1, "query": "load{b=\"{{ backend }}\"}"}]}),
        );
        let behind = Behind { cluster: "eu-3".to_owned(), backend: "checkout-gateway".to_owned() };
        let clusters = Clusters::from([(("checkout".to_owned(), "eu-3".to_owned()), behind)]);
        let analysis = resolve(&analysis.unwrap(), &|_| None);
        measure(&wanted(&["load"], &["eu-3"]), &analysis, "shop", &clusters, &sources).await;
        let heads = server.heads.lock().await.join("");
        assert!(heads.contains("query=load%7Bb%3D%22checkout-gateway%22%7D"), "{heads}");
    }

    #[tokio::test]
    async fn equal_queries_to_one_member_are_sent_once() {
        let server = counting().await;
        let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
        let samples =
            measure(&wanted(&["errors", "again"], &["eu-3"]), &analysis(), "shop", &themselves(), &sources).await;
        assert_eq!(samples.len(), 2);
        assert_eq!(server.heads.lock().await.len(), 2, "the numerator of one, and what is equal in both");
    }

    #[tokio::test]
    async fn a_member_that_hangs_delays_no_other_and_is_missing() {
        let (good, hung) = (counting().await, Server::start(Manner::Hangs).await);
        let sources = Sources::from([
            ("eu-1".to_owned(), Ok(source(&good))),
            ("eu-2".to_owned(), Ok(source(&hung))),
            ("eu-3".to_owned(), Err("no kubeconfig".to_owned())),
        ]);
        let began = std::time::Instant::now();
        let samples =
            measure(&wanted(&["load"], &["eu-1", "eu-2", "eu-3"]), &analysis(), "shop", &themselves(), &sources).await;
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        let samples: Vec<_> = samples.into_iter().map(|sampled| (sampled.member, sampled.sample)).collect();
        assert_eq!(
            samples,
            [
                ("eu-1".to_owned(), Sample::Value(700.0)),
                ("eu-2".to_owned(), Sample::Missing("source down: no answer within 5 s".to_owned())),
                ("eu-3".to_owned(), Sample::Missing("source down: no kubeconfig".to_owned())),
            ]
        );
    }
}
