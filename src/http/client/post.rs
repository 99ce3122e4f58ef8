//! A POST of which the status counts: to services that take messages.

use std::time::Duration;

use http::{
    HeaderMap, Method, Request,
    header::{HeaderName, HeaderValue, RETRY_AFTER},
};
use reqwest::{Body, Response};

use super::{Client, Limits, Way, within};
use crate::http::HttpError;

/// A POST with headers of its own.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    /// Below the prefix of the peer; may be empty.
    pub path: String,
    /// Its headers; a secret one is marked as sensitive.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Vec<u8>,
}

impl Post {
    /// A POST with these headers.
    ///
    /// # Errors
    /// If the value of one cannot be sent.
    pub(crate) fn new(path: &str, headers: &[(&'static str, String)], body: Vec<u8>) -> Result<Self, HttpError> {
        let header = |(name, value): &(&'static str, String)| {
            let bad = |_| HttpError::Failed(format!("{name}: not the value of a header"));
            Ok((HeaderName::from_static(name), HeaderValue::from_str(value).map_err(bad)?))
        };
        let headers = headers.iter().map(header).collect::<Result<HeaderMap, HttpError>>()?;
        Ok(Self { path: path.to_owned(), headers, body })
    }
}

/// What was answered to a POST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The status code.
    pub status: u16,
    /// When it may be tried again, if the answer says so in seconds.
    pub retry_after: Option<Duration>,
    /// The begin of the body, within the limit. It must never be shown or logged.
    pub body: Vec<u8>,
}

impl Client {
    /// Sends a POST and reads the status, and of the body no more than its limit: what comes after that is not read.
    ///
    /// # Errors
    /// If there is no answer within the deadline. Any status is an answer.
    pub(crate) async fn deliver(&self, post: Post, limits: Limits) -> Result<Reply, HttpError> {
        let mut call: Request<Body> = self.call(Method::POST, &post.path, &[], Some(post.body))?;
        for (name, value) in post.headers {
            if let Some(name) = name {
                call.headers_mut().insert(name, value);
            }
        }
        let reply = async {
            match &self.way {
                Way::Sockets(client) => begin(client.execute(call.try_into()?).await?, limits.body).await,
                Way::Peers(peers) => {
                    let mut answer = peers.answer(call.map(drop)).await?;
                    answer.body.truncate(limits.body);
                    Ok(Reply { status: answer.status, retry_after: None, body: answer.body })
                }
            }
        };
        within(limits.deadline, reply).await
    }
}

async fn begin(mut response: Response, limit: usize) -> Result<Reply, HttpError> {
    let status = response.status().as_u16();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(seconds);
    let mut body = Vec::new();
    while body.len() < limit
        && let Some(chunk) = response.chunk().await?
    {
        body.extend_from_slice(&chunk[..chunk.len().min(limit - body.len())]);
    }
    Ok(Reply { status, retry_after, body })
}

fn seconds(value: &HeaderValue) -> Option<Duration> {
    value.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
