//! What several services, rollouts and members ask at once.

use futures::future::join_all;

use super::*;

/// Counts by service: 10 for storefront, 20 for checkout, nothing for shop.
async fn by_service() -> Server {
    let answer = |_: &str| {
        let counts = [("storefront", 10), ("checkout", 20)];
        let one = |(service, count): (&str, u32)| json!({"metric": {"service": service}, "value": [1_795_262_400, count.to_string()]});
        let result = counts.map(one);
        response(200, &json!({"status": "success", "data": {"resultType": "vector", "result": result}}).to_string())
    };
    Server::start(Manner::Answers(Arc::new(answer))).await
}

fn all_services(metrics: &[&str]) -> MeasurementRequest {
    let services = ["shop", "storefront", "checkout"].map(str::to_owned).to_vec();
    MeasurementRequest { services, ..request_for(metrics, &["eu-3"]) }
}

fn metrics(metrics: &serde_json::Value) -> Resolved {
    resolve(&serde_json::from_value(json!({"metrics": metrics})).unwrap(), &|_| None)
}

#[tokio::test]
async fn one_query_serves_all_services_where_it_says_so() {
    let server = by_service().await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let query = r#"sum by (service) (load{service=~"{{ services }}"})"#;
    let analysis = metrics(&json!([
        {"name": "load", "perMember": {"max": 1}, "query": query},
        {"name": "part", "max": 1, "ratio": {"numerator": query, "denominator": query}}]));
    let request = all_services(&["load", "part"]);
    let samples = measure(&request, &analysis, "shop", &themselves(), &sources, Timestamp::UNIX_EPOCH).await;
    let samples: Vec<_> = samples.into_iter().map(|sampled| (sampled.service, sampled.sample)).collect();
    let part = |count| Sample::Ratio { numerator: count, denominator: count };
    let expected = [
        ("shop", Sample::Missing("no series".to_owned())),
        ("storefront", Sample::Value(10.0)),
        ("checkout", Sample::Value(20.0)),
        ("shop", part(None)),
        ("storefront", part(Some(10.0))),
        ("checkout", part(Some(20.0))),
    ];
    assert_eq!(samples, expected.map(|(service, sample)| (service.to_owned(), sample)));
    let heads = server.heads.lock().await;
    assert_eq!(heads.len(), 1);
    assert!(heads[0].contains("%22shop%7Cstorefront%7Ccheckout%22"), "{heads:?}");
}

#[tokio::test]
async fn an_answer_that_does_not_say_whose_it_is_is_missing_for_all() {
    let server = giving(&["7"]).await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let analysis =
        metrics(&json!([{"name": "load", "perMember": {"max": 1}, "query": "sum(load{s=~\"{{ services }}\"})"}]));
    let request = all_services(&["load"]);
    let samples = measure(&request, &analysis, "shop", &themselves(), &sources, Timestamp::UNIX_EPOCH).await;
    let why = "the query is for all services, but its series have no label service; sum by (service)";
    assert_eq!(samples.len(), 3);
    assert!(samples.iter().all(|one| one.sample == Sample::Missing(why.to_owned())), "{samples:?}");
}

#[tokio::test]
async fn equal_queries_of_several_rollouts_are_sent_once_a_second() {
    let server = counting().await;
    let sources = Sources::from([("eu-3".to_owned(), Ok(source(&server)))]);
    let (analysis, clusters) =
        (metrics(&json!([{"name": "load", "perMember": {"max": 1}, "query": "load"}])), themselves());
    let rounds = (0..20).map(|place| {
        let mut request = request_for(&["load"], &["eu-3"]);
        request.evaluate_at += jiff::SignedDuration::from_millis(place * 50);
        let (analysis, clusters, sources) = (&analysis, &clusters, &sources);
        let namespace = format!("tenant-{place}");
        let now = request.evaluate_at + jiff::SignedDuration::from_secs(15);
        async move { measure(&request, analysis, &namespace, clusters, sources, now).await }
    });
    let samples: Vec<_> = join_all(rounds).await.into_iter().flatten().map(|sampled| sampled.sample).collect();
    assert_eq!(samples, vec![Sample::Value(700.0); 20]);
    // From 0.25 to 1 s it is the query for one second, from 1.05 s on for the next.
    assert_eq!(server.heads.lock().await.len(), 2);
}

#[tokio::test]
async fn two_rollouts_with_sixty_members_know_everything() {
    let server = counting().await;
    let members: Vec<_> = (0..60).map(|place| format!("m{place:02}")).collect();
    let sources: Sources = members.iter().map(|member| (member.clone(), Ok(source(&server)))).collect();
    let clusters = members.iter().map(|member| {
        let destination = Destination { cluster: member.clone(), backend: String::new() };
        (("checkout".to_owned(), member.clone()), destination)
    });
    let clusters: Clusters = clusters.collect();
    let names: Vec<_> = members.iter().map(String::as_str).collect();
    let request = request_for(&["errors", "again", "latency", "load"], &names);
    let analysis = analysis();
    let round = |namespace| measure(&request, &analysis, namespace, &clusters, &sources, Timestamp::UNIX_EPOCH);
    let (one, other) = tokio::join!(round("shop"), round("bank"));
    let missing = one.iter().chain(&other).filter(|one| matches!(one.sample, Sample::Missing(_))).count();
    assert_eq!((one.len(), other.len(), missing), (240, 240, 0));
}
