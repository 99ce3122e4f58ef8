//! The receiver, as a hook reaches it: by HTTP.

use std::time::{Duration, Instant};

use axum::{body::Body, http::Request};
use tower::ServiceExt;

use super::*;
use crate::http::fixtures::{Server, loopback};

fn receiver(signing_key: Option<SigningKey>, targets: &[&str]) -> Router {
    let targets = targets.iter().map(|target| (*target).to_owned()).collect();
    router(Options { signing_key, targets, target_roots: None, network: loopback(), clock: Clock::default() })
}

async fn post(receiver: &Router, path: &str, body: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let mut request = Request::post(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = receiver.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
    let status = answer.status().as_u16();
    let body = axum::body::to_bytes(answer.into_body(), 4096).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_gate_is_closed_until_it_is_opened_and_again_when_it_is_closed() {
    let receiver = receiver(None, &[]);
    assert_eq!(post(&receiver, "/gate/shop", "{}", &[]).await.0, 403);
    assert_eq!(post(&receiver, "/gate/shop/open", "", &[]).await.0, 200);
    assert_eq!(post(&receiver, "/gate/shop", "{}", &[]).await.0, 200);
    assert_eq!(post(&receiver, "/gate/other", "{}", &[]).await.0, 403);
    assert_eq!(post(&receiver, "/gate/shop/close", "", &[]).await.0, 200);
    assert_eq!(post(&receiver, "/gate/shop", "{}", &[]).await.0, 403);
}

#[tokio::test]
async fn with_a_key_only_what_is_signed_and_new_is_taken() {
    let key = || SigningKey::of(b"0123456789abcdef").unwrap();
    let receiver = receiver(Some(key()), &[]);
    let now = Clock::default().now().as_second();
    for (seconds, body, expected) in [(now, "{}", 403), (now - 301, "{}", 401), (now + 301, "{}", 401)] {
        let headers = [(TIMESTAMP_HEADER, seconds.to_string()), (SIGNATURE_HEADER, key().sign(seconds, b"{}"))];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(post(&receiver, "/gate/shop", body, &headers).await.0, expected, "{seconds}");
        assert_eq!(post(&receiver, "/gate/shop", "{ }", &headers).await.0, 401, "another body");
    }
    for path in ["/gate/shop", "/gate/shop/open", "/gate/shop/close", "/load"] {
        assert_eq!(post(&receiver, path, "{}", &[]).await.0, 401, "{path}");
    }
}

#[tokio::test]
async fn a_load_goes_to_its_target_once_for_each_key() {
    let server = Server::fixed(200, "").await;
    let receiver = receiver(None, &[&server.address.to_string()]);
    let body = |key: &str| {
        let url = server.url();
        format!(r#"{{"key":"{key}","metadata":{{"url":"{url}/x","rate":"50","duration":"200ms","host":"shop.test"}}}}"#)
    };
    assert_eq!(post(&receiver, "/load", &body("a"), &[]).await, (202, "50 requests a second for 0.2 s\n".to_owned()));
    assert_eq!(post(&receiver, "/load", &body("a"), &[]).await, (202, "that key began a load already\n".to_owned()));
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.heads.lock().await.len() < 8 {
        assert!(Instant::now() < deadline, "{:?}", server.heads.lock().await.len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let heads = server.heads.lock().await.clone();
    assert!(heads.len() <= 12, "{}", heads.len());
    assert!(heads[0].starts_with("GET /x HTTP/1.1\r\n") && heads[0].contains("host: shop.test\r\n"), "{}", heads[0]);
}

#[tokio::test]
async fn no_load_is_made_against_others_or_beyond_its_limits() {
    let receiver = receiver(None, &["127.0.0.1:1"]);
    for (metadata, why) in [
        (r#"{"url":"http://127.0.0.1:2/"}"#, "metadata.url: 127.0.0.1:2 is no --allow-target of this receiver\n"),
        (r#"{"url":"http://127.0.0.1:1/","rate":"1001"}"#, "metadata.rate: write a number from 1 to 1000\n"),
        (r#"{"url":"http://127.0.0.1:1/","rate":"many"}"#, "metadata.rate: write a number from 1 to 1000\n"),
        (r#"{"url":"http://127.0.0.1:1/","duration":"11m"}"#, "metadata.duration: write a time of at most 10m\n"),
        (
            r#"{"url":"file:///etc/passwd"}"#,
            "metadata.url: file:///etc/passwd: https required; write https://host:port\n",
        ),
        ("{}", "the body is no call of a hook whose metadata has a url\n"),
    ] {
        let body = format!(r#"{{"key":"k","metadata":{metadata}}}"#);
        assert_eq!(post(&receiver, "/load", &body, &[]).await, (400, why.to_owned()));
    }
}
