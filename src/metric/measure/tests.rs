//! Rounds against servers that answer well or badly.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::{
    api,
    http::{
        Client, Peer,
        fixtures::{Manner, Server, loopback, response},
    },
    metric::resolve::resolve,
};

/// In member mode every member is its own cluster.
fn themselves() -> Clusters {
    let services = ["shop", "storefront", "checkout"].into_iter();
    let pair = |service: &str, member: &str| {
        let destination = Destination { cluster: member.to_owned(), backend: format!("{service}-{member}") };
        ((service.to_owned(), member.to_owned()), destination)
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
        {"name": "shared", "max": 1, "templateRef": {"name": "latency"}},
        {"name": "success", "min": 99, "builtin": {"type": "RequestSuccessRate", "ingress": "Contour"}},
    ]}));
    let latency = json!({"histogram": {"buckets": "buckets", "quantile": 0.9}});
    let template = |name: &str| serde_json::from_value(latency.clone()).ok().filter(|_| name == "latency");
    resolve(&analysis.unwrap(), &template)
}

fn request_for(metrics: &[&str], members: &[&str]) -> MeasurementRequest {
    let at: Timestamp = "2026-11-21T12:00:00.25Z".parse().unwrap();
    let window =
        |name: &&str| MetricWindow { metric: (*name).to_owned(), window: api::Duration::from_secs(60), whole: true };
    MeasurementRequest {
        at,
        sequence: 1,
        evaluate_at: at,
        windows: metrics.iter().map(window).collect(),
        services: vec!["checkout".to_owned()],
        members: members.iter().map(|member| (*member).to_owned()).collect(),
    }
}

/// What the metrics of [`analysis`] are for a rollout in member mode.
async fn measured(request: &MeasurementRequest, sources: &Sources) -> Vec<Sampled> {
    measure(request, &analysis(), "shop", &themselves(), sources, Timestamp::UNIX_EPOCH).await
}

#[tokio::test]
async fn every_kind_of_metric_is_read_at_one_time() {
    let server = counting().await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let metrics = ["errors", "latency", "load", "typo", "slow", "gone", "shared", "success"];
    let request = request_for(&metrics, &["eu-3"]);
    let samples = measured(&request, &sources).await;
    let samples: Vec<_> = samples.into_iter().map(|sampled| sampled.sample).collect();
    let typo = "{{ interval }} is not a variable; there are service, services, namespace, member, backend, window, service.word, namespace.word and backend.word";
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
            Sample::Buckets(vec![(0.5, 4.0), (f64::INFINITY, 9.0)]),
            Sample::Ratio { numerator: Some(700.0), denominator: Some(700.0) },
        ]
    );
    let heads = server.heads.lock().await;
    assert!(heads.iter().all(|head| head.contains("time=1795262400.250 ")), "{heads:?}");
    assert!(heads.iter().any(|head| head.contains("query=load%7Bm%3D%22eu-3%22%7D")), "{heads:?}");
    assert!(heads.iter().any(|head| head.contains("envoy_cluster_upstream_rq")), "{heads:?}");
}

#[tokio::test]
async fn a_query_names_the_service_that_stands_behind_a_member() {
    let server = counting().await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let analysis =
        serde_json::from_value(json!({"metrics": [{"name": "load", "max": 1, "query": "load{b=\"{{ backend }}\"}"}]}));
    let destination = Destination { cluster: "eu-3".to_owned(), backend: "checkout-gateway".to_owned() };
    let clusters = Clusters::from([(("checkout".to_owned(), "eu-3".to_owned()), destination)]);
    let analysis = resolve(&analysis.unwrap(), &|_| None);
    measure(&request_for(&["load"], &["eu-3"]), &analysis, "shop", &clusters, &sources, Timestamp::UNIX_EPOCH).await;
    let heads = server.heads.lock().await.join("");
    assert!(heads.contains("query=load%7Bb%3D%22checkout-gateway%22%7D"), "{heads}");
}

#[tokio::test]
async fn equal_queries_to_one_member_are_sent_once() {
    let server = counting().await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let samples = measured(&request_for(&["errors", "again"], &["eu-3"]), &sources).await;
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
    let samples = measured(&request_for(&["load"], &["eu-1", "eu-2", "eu-3"]), &sources).await;
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

/// Metrics with a query each.
fn many(count: usize, query: &str) -> (Resolved, MeasurementRequest) {
    let names: Vec<_> = (0..count).map(|place| format!("m{place}")).collect();
    let metrics: Vec<_> =
        names.iter().map(|name| json!({"name": name, "max": 1, "query": format!("{query}_{name}")})).collect();
    let analysis = resolve(&serde_json::from_value(json!({"metrics": metrics})).unwrap(), &|_| None);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    (analysis, request_for(&names, &["eu-3"]))
}

#[tokio::test]
async fn slow_queries_of_one_namespace_delay_no_other() {
    let answer = |head: &str| {
        if head.contains("slow") {
            return "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".to_owned();
        }
        response(200, r#"{"status":"success","data":{"resultType":"scalar","result":[1795262400,"7"]}}"#)
    };
    let server = Server::start(Manner::Answers(Arc::new(answer))).await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let ((slow, many_queries), clusters) = (many(40, "slow"), themselves());
    let flood = measure(&many_queries, &slow, "greedy", &clusters, &sources, Timestamp::UNIX_EPOCH);
    let (quick, few_queries) = many(8, "quick");
    let healthy = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        measure(&few_queries, &quick, "shop", &clusters, &sources, Timestamp::UNIX_EPOCH).await
    };
    let samples = tokio::select! {
        biased;
        samples = healthy => samples,
        _ = flood => panic!("forty slow queries were answered before eight quick ones"),
    };
    assert!(samples.iter().all(|sampled| sampled.sample == Sample::Value(7.0)), "{samples:?}");
    assert!(server.heads.lock().await.iter().filter(|head| head.contains("slow")).count() <= 4);
}

#[tokio::test]
async fn a_member_that_hangs_does_not_hold_a_round_up_by_its_number_of_queries() {
    let server = Server::start(Manner::Hangs).await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let ((analysis, request), began) = (many(40, "load"), std::time::Instant::now());
    let samples = measure(&request, &analysis, "shop", &themselves(), &sources, Timestamp::UNIX_EPOCH).await;
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    let count = |why: &str| samples.iter().filter(|one| one.sample == Sample::Missing(why.to_owned())).count();
    let unsent = "the query was not sent within 5 s: others to this member were before it";
    assert_eq!((count("source down: no answer within 5 s"), count(unsent)), (4, 36));
}

#[tokio::test]
async fn a_rollout_sends_a_member_a_bounded_number_of_queries() {
    let server = counting().await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let (analysis, request) = many(QUERIES + 1, "load");
    let samples = measure(&request, &analysis, "shop", &themselves(), &sources, Timestamp::UNIX_EPOCH).await;
    let why = "the rollout has 513 queries for this member, of which 512 are sent in a round; \
        declare fewer metrics or services";
    let unsent: Vec<_> = samples.iter().filter(|sampled| sampled.sample == Sample::Missing(why.to_owned())).collect();
    assert_eq!((unsent.len(), server.heads.lock().await.len()), (1, QUERIES));
}

/// A Prometheus that gives every query these values, one a series.
async fn giving(values: &[&str]) -> Server {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    let answer = move |_: &str| {
        let series = |(place, value)| json!({"metric": {"pod": format!("p{place}")}, "value": [1_795_262_400, value]});
        let result: Vec<_> = values.iter().enumerate().map(series).collect();
        response(200, &json!({"status": "success", "data": {"resultType": "vector", "result": result}}).to_string())
    };
    Server::start(Manner::Answers(Arc::new(answer))).await
}

#[tokio::test]
async fn what_is_not_one_number_is_missing_whichever_kind_asks() {
    for (values, kinds, why) in [
        (&["1", "2"][..], 2, "Ambiguous: 2 series, where one number is wanted; sum them or select one"),
        (&["NaN"], 2, "the value is NaN, not a number to judge"),
        (&["-Inf"], 2, "the value is -inf, not a number to judge"),
        (&["many"], 3, "a series without a readable value"),
        (&["7"], 0, ""),
    ] {
        let server = giving(values).await;
        let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
        let request = request_for(&["again", "load", "latency"], &["eu-3"]);
        let samples = measured(&request, &sources).await;
        let said = |sampled: &Sampled| sampled.sample == Sample::Missing(why.to_owned());
        let missing: Vec<bool> = samples.iter().map(said).collect();
        assert_eq!(missing, [kinds > 0, kinds > 0, kinds > 2], "{values:?}: {samples:?}");
    }
}

#[tokio::test]
async fn no_series_is_nothing_counted_for_a_ratio_and_missing_for_all_others() {
    let server = giving(&[]).await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let mut request = request_for(&["errors", "load", "latency", "dropped"], &["eu-2", "eu-3"]);
    request.windows[0].whole = false;
    let samples = measured(&request, &sources).await;
    let (unknown, none) =
        (Sample::Missing("source down: not queried".to_owned()), Sample::Missing("no series".to_owned()));
    let nothing = Sample::Ratio { numerator: None, denominator: None };
    let seen: Vec<_> = samples.into_iter().map(|sampled| (sampled.whole, sampled.sample)).collect();
    let expected = [(false, nothing), (true, none.clone()), (true, none)];
    let expected = expected.into_iter().flat_map(|(whole, sample)| [(whole, unknown.clone()), (whole, sample)]);
    assert_eq!(seen, expected.collect::<Vec<_>>(), "a metric that is no longer declared is not measured");
}

mod shared;
