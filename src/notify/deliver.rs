//! Sends an alert once, and says what became of it without a word of the answer.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::request::{Request, Taken};
use crate::http::{Client, HttpError, Limits, Network, Peer, Post, Reply};

/// Bytes of an answer that are read: Slack's says in a few whether it took the message.
const BODY: usize = 16 << 10;

/// Where an alert goes.
#[derive(Debug)]
pub(crate) struct Target {
    /// The URL; it may be a secret.
    pub url: SecretString,
    /// Certificates to trust, PEM. Default: those of the system.
    pub roots: Option<String>,
    /// From resolving the name to the answer.
    pub timeout: Duration,
}

/// Why an alert was not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// In words, with the remedy where there is one, and nothing secret.
    pub message: String,
    /// When it may be tried again, if the service says so.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure in these words.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry_after: None }
    }
}

/// Sends a request once. It never lasts longer than the target's timeout.
///
/// # Errors
/// If the service cannot be reached, or does not take it.
pub(crate) async fn deliver(network: &Network, target: &Target, request: Request) -> Result<(), Failure> {
    let mut peer = Peer::of_webhook(target.url.expose_secret()).map_err(|error| unreached(&error, ""))?;
    let host = peer.base.host_str().unwrap_or_default().to_owned();
    peer.roots = target.roots.as_ref().map(|pem| pem.clone().into_bytes());
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    if !query.is_empty() {
        peer.base.set_query(Some(query));
    }
    let client = Client::new(&peer, network).map_err(|error| unreached(&error, &host))?;
    let taken = request.taken;
    let post = Post { path: path.to_owned(), headers: headers(&request)?, body: request.body };
    let reply = client.deliver(post, Limits { deadline: target.timeout, body: BODY }).await;
    judged(&reply.map_err(|error| unreached(&error, &host))?, taken)
}

fn headers(request: &Request) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        let bad = |_| Failure::new(format!("the Secret's value cannot be sent as the header {name}; correct it"));
        let mut value = HeaderValue::from_str(value).map_err(bad)?;
        value.set_sensitive(*name == http::header::AUTHORIZATION);
        headers.insert(name.clone(), value);
    }
    Ok(headers)
}

/// No error repeats the URL or its host: they may be a secret.
fn unreached(error: &HttpError, host: &str) -> Failure {
    Failure::new(match error {
        HttpError::AddressNotAllowed { kind, .. } => {
            format!("its host leads to {kind}, which the hub does not call; start the hub with --allow-addresses")
        }
        HttpError::NotResolved(_) => "its host does not resolve; correct the URL".to_owned(),
        HttpError::BadAddress(why) => format!("the URL cannot be used: {why}"),
        HttpError::Late(_) | HttpError::BadCredentials(_) | HttpError::TooLarge(_) | HttpError::Flood => {
            error.to_string()
        }
        HttpError::Failed(why) if host.is_empty() => format!("the connection failed: {why}"),
        HttpError::Failed(why) => format!("the connection failed: {}", why.replace(host, "its host")),
    })
}

fn judged(reply: &Reply, taken: Taken) -> Result<(), Failure> {
    let failed = |words: &str| {
        let message = format!("HTTP {}{words}", reply.status);
        Err(Failure { message, retry_after: reply.retry_after })
    };
    match (reply.status, taken) {
        (200..=299, Taken::ByStatus) => Ok(()),
        (200..=299, Taken::ByOk) => said_ok(&reply.body),
        (300..=399, _) => failed(": redirects are not followed; correct the URL"),
        (401 | 403, _) => failed(": the credential was refused; renew it in the Secret"),
        (404 | 410, _) => failed(": there is no such place; correct the URL"),
        (429, _) => failed(": too many messages"),
        _ => failed(""),
    }
}

/// Errors of Slack's Web API that a person can act on. Nothing else of its answer is repeated.
const SLACK: &[(&str, &str)] = &[
    ("channel_not_found", "there is no such channel, or the bot cannot see it; correct spec.slack.channel"),
    ("not_in_channel", "the bot is not in the channel; invite it"),
    ("is_archived", "the channel is archived; correct spec.slack.channel"),
    ("invalid_auth", "the token was refused; renew it in the Secret"),
    ("token_revoked", "the token was revoked; renew it in the Secret"),
    ("token_expired", "the token has expired; renew it in the Secret"),
    ("missing_scope", "the token lacks the scope chat:write"),
    ("ratelimited", "too many messages"),
];

fn said_ok(body: &[u8]) -> Result<(), Failure> {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    if answer["ok"] == true {
        return Ok(());
    }
    let known = SLACK.iter().find(|(code, _)| answer["error"] == *code);
    Err(Failure::new(known.map_or("Slack did not take it", |(_, words)| words)))
}
