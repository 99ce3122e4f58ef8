//! Servers that are slow, fail, redirect, flood or are gone.

use std::{sync::Arc, time::Duration};

use secrecy::SecretString;
use serde_json::json;
use tokio::time::Instant;

use super::{SECRET, alert, credentials, deliver, loopback, receiver, render, send, target};
use crate::{
    http::{
        AddressRules, Network,
        fixtures::{Manner, Server, response},
    },
    notify::Failure,
};

/// What is said where a server does this.
async fn said(server: &Server) -> String {
    let failure = send(server, json!({"webhook": {}}), &alert(&json!({})), &credentials()).await.unwrap_err();
    assert!(!failure.message.contains(SECRET), "{failure:?}");
    failure.message
}

#[tokio::test]
async fn a_server_that_never_answers_costs_no_more_than_the_timeout() {
    for manner in [Manner::Hangs, Manner::Trickles] {
        let server = Server::start(manner).await;
        let began = Instant::now();
        assert_eq!(said(&server).await, "no answer within 2 s");
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn of_a_flood_no_more_than_the_begin_is_read() {
    let server = Server::start(Manner::Floods).await;
    let began = Instant::now();
    assert_eq!(send(&server, json!({"webhook": {}}), &alert(&json!({})), &credentials()).await, Ok(()));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_answer_that_is_no_success_is_named_by_its_status_alone() {
    for (status, expected) in [
        (302, "HTTP 302: redirects are not followed; correct the URL"),
        (400, "HTTP 400"),
        (401, "HTTP 401: the credential was refused; renew it in the Secret"),
        (404, "HTTP 404: there is no such place; correct the URL"),
        (429, "HTTP 429: too many messages"),
        (500, "HTTP 500"),
    ] {
        let server = Server::fixed(status, "a body that nobody repeats").await;
        assert_eq!(said(&server).await, expected);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::fixed(200, "").await;
    let location = format!("HTTP/1.1 307 X\r\nlocation: {}/\r\ncontent-length: 0\r\n\r\n", other.url());
    let server = Server::start(Manner::Answers(Arc::new(move |_| location.clone()))).await;
    assert_eq!(said(&server).await, "HTTP 307: redirects are not followed; correct the URL");
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn the_time_that_a_service_wants_to_be_left_alone_is_kept() {
    let answer = "HTTP/1.1 429 X\r\nretry-after: 30\r\ncontent-length: 0\r\n\r\n";
    let server = Server::start(Manner::Answers(Arc::new(|_| answer.to_owned()))).await;
    let failure = send(&server, json!({"webhook": {}}), &alert(&json!({})), &credentials()).await.unwrap_err();
    assert_eq!(failure.retry_after, Some(Duration::from_secs(30)));
}

#[tokio::test]
async fn a_server_that_is_gone_or_no_http_server_is_a_failure_without_the_url() {
    let server = Server::start(Manner::Babbles).await;
    assert!(said(&server).await.starts_with("the connection failed: "));
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let request =
        render(&receiver(json!({"webhook": {}})), &alert(&json!({})), &credentials(), super::AT.parse().unwrap());
    let failure = deliver(&loopback(), &target(format!("http://{gone}/{SECRET}")), request).await.unwrap_err();
    assert_eq!(failure, Failure::new("the connection failed: Connection refused (os error 111)"));
}

#[tokio::test]
async fn an_address_of_the_hub_is_not_called_and_a_bad_url_is_not_repeated() {
    let forbidden = Network::new(AddressRules::default());
    for (url, expected) in [
        (
            format!("http://127.0.0.1:9/{SECRET}"),
            "its host leads to loopback, which the hub does not call; start the hub with --allow-addresses",
        ),
        (format!("xoxb-{SECRET}"), "the URL cannot be used: not an http or https URL without credentials and fragment"),
        (
            format!("https://user:{SECRET}@chat.example.com/"),
            "the URL cannot be used: not an http or https URL without credentials and fragment",
        ),
        (format!("https://{SECRET}.invalid/"), "its host does not resolve; correct the URL"),
    ] {
        let request =
            render(&receiver(json!({"webhook": {}})), &alert(&json!({})), &credentials(), super::AT.parse().unwrap());
        let mut target = target(String::new());
        target.url = SecretString::from(url);
        assert_eq!(deliver(&forbidden, &target, request).await, Err(Failure::new(expected)));
    }
}

#[tokio::test]
async fn slack_says_in_the_body_whether_it_took_a_message() {
    let slack = || json!({"slack": {"channel": "#shop"}});
    for (body, expected) in [
        (r#"{"ok":true,"ts":"1"}"#, Ok(())),
        (r#"{"ok":false,"error":"not_in_channel"}"#, Err("the bot is not in the channel; invite it")),
        (r#"{"ok":false,"error":"T0KEN-xyzzy"}"#, Err("Slack did not take it")),
        ("<html>", Err("Slack did not take it")),
    ] {
        let server = Server::start(Manner::Answers(Arc::new(move |_| response(200, body)))).await;
        let sent = send(&server, slack(), &alert(&json!({})), &credentials()).await;
        assert_eq!(sent, expected.map_err(Failure::new), "{body}");
    }
}
