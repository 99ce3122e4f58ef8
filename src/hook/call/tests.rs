//! Calls to real servers, honest and hostile.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use super::*;
use crate::http::fixtures::{Manner, Server, loopback, response};

const BODY: &str = r#"{"name":"shop"}"#;

fn receiver(url: &str, declared: &serde_json::Value) -> Receiver {
    let mut hook = serde_json::json!({"name": "smoke", "type": "PreRollout", "url": url, "timeout": "300ms"});
    json_patch::merge(&mut hook, declared);
    let hook = serde_json::from_value(hook).unwrap();
    Receiver { hook, key: "uid/run-1/step-0/1/smoke".to_owned(), body: BODY.into(), signing_key: None }
}

async fn called(url: &str, declared: serde_json::Value) -> (Verdict, String) {
    call(&receiver(url, &declared), &loopback(), &Clock::default()).await
}

/// Answers these statuses in turn, the last one for ever.
async fn in_turn(statuses: &'static [u16]) -> Server {
    let count = AtomicUsize::new(0);
    let answer = move |_: &str| {
        let at = count.fetch_add(1, Ordering::Relaxed).min(statuses.len() - 1);
        response(statuses[at], "")
    };
    Server::start(Manner::Answers(Arc::new(answer))).await
}

#[tokio::test]
async fn only_three_statuses_are_a_yes() {
    for (status, verdict) in [
        (200, Verdict::Pass),
        (201, Verdict::Pass),
        (202, Verdict::Pass),
        (204, Verdict::Fail),
        (301, Verdict::Fail),
        (403, Verdict::Fail),
        (418, Verdict::Fail),
        (500, Verdict::Fail),
    ] {
        let server = Server::fixed(status, r#"{"approved":"yes"}"#).await;
        assert_eq!(called(&server.url(), serde_json::json!({})).await, (verdict, format!("it answered {status}")));
    }
}

#[tokio::test]
async fn a_call_carries_its_key_its_body_and_a_signature_of_both_time_and_body() {
    let server = Server::fixed(200, "").await;
    let mut receiver = receiver(&format!("{}/gate/shop/", server.url()), &serde_json::json!({}));
    receiver.signing_key = Some(SigningKey::of(b"0123456789abcdef").unwrap());
    let clock = Clock::starting_at("2026-03-02T10:00:00Z".parse().unwrap());
    call(&receiver, &loopback(), &clock).await;
    let head = server.heads.lock().await[0].clone();
    let signature = SigningKey::of(b"0123456789abcdef").unwrap().sign(1_772_445_600, BODY.as_bytes());
    for part in [
        "POST /gate/shop/ HTTP/1.1\r\n",
        "content-type: application/json\r\n",
        "idempotency-key: uid/run-1/step-0/1/smoke\r\n",
        "cutover-timestamp: 1772445600\r\n",
        &format!("cutover-signature: {signature}\r\n"),
        &format!("\r\n\r\n{BODY}"),
    ] {
        assert!(head.contains(part), "{part} is not in {head}");
    }
}

#[tokio::test]
async fn who_fails_is_tried_again_with_the_same_key_and_who_says_no_is_not() {
    let server = in_turn(&[503, 429, 200]).await;
    let two = serde_json::json!({"retries": 2});
    assert_eq!(called(&server.url(), two.clone()).await.0, Verdict::Pass);
    let heads = server.heads.lock().await.clone();
    assert!(heads.len() == 3 && heads.iter().all(|head| head.contains("idempotency-key: uid/run-1/step-0/1/smoke")));
    let server = in_turn(&[403, 200]).await;
    assert_eq!(called(&server.url(), two).await.0, Verdict::Fail);
    let server = in_turn(&[503, 200]).await;
    assert_eq!(called(&server.url(), serde_json::json!({})).await, (Verdict::Fail, "it answered 503".to_owned()));
}

#[tokio::test]
async fn who_is_slow_floods_or_is_gone_takes_no_longer_than_the_timeout_and_no_memory() {
    for manner in [Manner::Hangs, Manner::Trickles, Manner::Babbles] {
        let server = Server::start(manner).await;
        let began = Instant::now();
        assert_eq!(called(&server.url(), serde_json::json!({})).await.0, Verdict::Unknown);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
    let server = Server::start(Manner::Floods).await;
    let began = Instant::now();
    assert_eq!(called(&server.url(), serde_json::json!({})).await, (Verdict::Pass, "it answered 200".to_owned()));
    assert!(began.elapsed() < Duration::from_secs(2), "the body is not read: {:?}", began.elapsed());
    let gone = format!("http://127.77.0.1:{}", server.address.port());
    let (verdict, why) = called(&gone, serde_json::json!({"retries": 1})).await;
    assert!(verdict == Verdict::Unknown && why.starts_with("Connection refused"), "{why}");
}

#[tokio::test]
async fn a_redirect_is_a_no_and_is_not_followed() {
    let target = Server::fixed(200, "").await;
    let location = format!("HTTP/1.1 307 X\r\nlocation: {}/\r\ncontent-length: 0\r\n\r\n", target.url());
    let server = Server::start(Manner::Answers(Arc::new(move |_| location.clone()))).await;
    assert_eq!(called(&server.url(), serde_json::json!({})).await, (Verdict::Fail, "it answered 307".to_owned()));
    assert!(target.heads.lock().await.is_empty());
}

#[tokio::test]
async fn a_certificate_must_be_trusted_and_the_bundle_says_which_are() {
    let server = Server::tls("localhost", Manner::Answers(Arc::new(|_| response(200, "")))).await;
    let url = server.url().replace("127.0.0.1", "localhost");
    let (verdict, why) = called(&url, serde_json::json!({})).await;
    assert!(verdict == Verdict::Unknown && why.contains("certificate"), "{why}");
    let trusted = serde_json::json!({"caBundle": server.certificate});
    assert_eq!(called(&url, trusted).await.0, Verdict::Pass);
    assert_eq!(called(&url, serde_json::json!({"caBundle": "no"})).await.1, "the CA certificates cannot be used");
}

#[tokio::test]
async fn an_address_of_the_hub_is_refused_and_not_tried_again() {
    let began = Instant::now();
    let network = Network::new(crate::http::AddressRules::default());
    for url in ["http://127.0.0.1:1/", "http://169.254.169.254/latest", "http://[::1]/", "http://localhost/"] {
        let receiver = receiver(url, &serde_json::json!({"retries": 5}));
        let (verdict, why) = call(&receiver, &network, &Clock::default()).await;
        let remedy = ", which the hub does not call; correct the url, or start the hub with --allow-addresses";
        assert!(verdict == Verdict::Unknown && why.ends_with(remedy), "{why}");
    }
    assert!(began.elapsed() < Duration::from_secs(1));
}
