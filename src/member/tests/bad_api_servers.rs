//! Members' API servers that are slow, sick, foreign or hostile, and the words for each, written by hand.

use std::time::{Duration, Instant};

use super::*;

/// What a check says of a server that answers everything in one way.
async fn health_with(answer: String) -> Health {
    let server = api_server(move |_| answer.clone()).await;
    let began = Instant::now();
    let health = check(&member(&spec(), Some(&kubeconfig(&server)), loopback()), Timestamp::now()).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    health
}

fn with_header(status: u16, header: &str) -> String {
    response(status, "").replacen("\r\n", &format!("\r\n{header}\r\n"), 1)
}

#[tokio::test]
async fn an_answer_that_is_none_of_an_api_server_is_reported_and_never_repeated() {
    let foreign = |what: &str| {
        let message = format!("this is no Kubernetes API server: {what}; correct clusters[0].cluster.server");
        (ConditionStatus::False, Reason::UnexpectedResponse, message)
    };
    for (case, answer, expected) in [
        (
            "a login page with status 200",
            response(200, "<html>s3cret, please log in</html>"),
            foreign("/version is no JSON object"),
        ),
        ("truncated JSON", response(200, r#"{"gitVersion": "v1.3"#), foreign("/version is no JSON object")),
        ("an empty body", response(200, ""), foreign("/version is no JSON object")),
        ("JSON of another kind", response(200, r#"{"kind": "Secret"}"#), foreign("/version has no gitVersion")),
        ("a list of nothing", response(200, r#"{"items": null}"#), foreign("/version has no gitVersion")),
        ("a version that is a number", response(200, r#"{"gitVersion": 1}"#), foreign("/version has no gitVersion")),
        ("a page that is not there", response(404, "s3cret"), foreign("it answered 404 to GET /version")),
        ("a teapot", response(418, "s3cret"), foreign("it answered 418 to GET /version")),
    ] {
        assert_eq!(finding(&health_with(answer).await, "Reachable"), expected, "{case}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let metadata = Server::fixed(200, r#"{"gitVersion": "v1.34.1"}"#).await;
    let health = health_with(with_header(302, &format!("location: {}/latest/meta-data/", metadata.url()))).await;
    let expected =
        "this is no Kubernetes API server: it answered 302 to GET /version; correct clusters[0].cluster.server";
    assert_eq!(finding(&health, "Reachable").2, expected);
    assert_eq!(metadata.connections(), 0);
}

#[tokio::test]
async fn a_busy_server_is_not_called_again_in_the_same_check_whatever_it_proposes() {
    for retry_after in ["999999999999", "-1", "NaN", "Wed, 21 Oct 2099 07:28:00 GMT", "0"] {
        for status in [429, 503] {
            let expected = format!("the API server answered {status} to GET /version; the next check tries again");
            let health = health_with(with_header(status, &format!("retry-after: {retry_after}"))).await;
            assert_eq!(
                finding(&health, "Reachable"),
                (ConditionStatus::False, Reason::ApiServerUnreachable, expected),
                "retry-after: {retry_after}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_that_hangs_or_trickles_costs_ten_seconds_and_no_other_member_waits() {
    let slow = async |manner| {
        let server = Server::tls("api.eu-3", manner).await;
        let began = Instant::now();
        let health = check(&member(&spec(), Some(&kubeconfig(&server)), loopback()), Timestamp::now()).await;
        (finding(&health, "Reachable"), began.elapsed())
    };
    let quick = async {
        let server = api_server(healthy).await;
        let began = Instant::now();
        let health = check(&member(&spec(), Some(&kubeconfig(&server)), loopback()), Timestamp::now()).await;
        (finding(&health, "Reachable").1, began.elapsed())
    };
    let (hangs, trickles, quick) = futures::join!(slow(Manner::Hangs), slow(Manner::Trickles), quick);
    for (case, (found, took)) in [("hangs", hangs), ("trickles", trickles)] {
        let expected = "the API server: no answer within 10 s".to_owned();
        assert_eq!(found, (ConditionStatus::False, Reason::ApiServerUnreachable, expected), "{case}");
        assert!(took < Duration::from_secs(12), "{case}: {took:?}");
    }
    assert_eq!(quick.0, Reason::ApiServerAnswers);
    assert!(quick.1 < Duration::from_secs(5), "{:?}", quick.1);
}

#[tokio::test]
async fn any_version_will_do_and_the_members_clock_does_not_matter() {
    for (version, shown) in [
        ("v1.16.0", "the API server is v1.16.0"),
        ("v9.99.0", "the API server is v9.99.0"),
        (r"v1.34.1\u202e\n", r"the API server is v1.34.1\u{202e}\u{a}"),
    ] {
        let answer = format!(r#"{{"gitVersion": "{version}"}}"#);
        let cluster =
            r#"{"kind": "Namespace", "metadata": {"uid": "0b-1", "creationTimestamp": "2999-01-01T00:00:00Z"}}"#;
        let server = api_server(move |head| match head.split(' ').nth(1).unwrap_or_default() {
            "/version" => response(200, &answer),
            _ => response(200, cluster),
        })
        .await;
        let health = check(&member(&spec(), Some(&kubeconfig(&server)), loopback()), Timestamp::now()).await;
        assert_eq!(finding(&health, "Reachable"), (ConditionStatus::True, Reason::ApiServerAnswers, shown.to_owned()));
        assert_eq!(finding(&health, "CredentialsValid").1, Reason::CredentialsGood);
        assert_eq!(health.cluster_id.as_deref(), Some("0b-1"));
    }
}
