//! Answers, and how they become HTTP.

use std::sync::Arc;

use axum::body::Body;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::Value;

use super::{status::Failure, watch::Watch};

/// What a request gets.
pub(super) enum Answer {
    /// One document, and the warnings for the client.
    Json { code: StatusCode, body: Arc<Value>, warnings: Vec<String> },
    /// A word.
    Text(StatusCode, &'static str),
    /// A stream of events.
    Watch(Box<Watch>),
}

impl Answer {
    pub(super) fn json(code: StatusCode, body: impl Into<Arc<Value>>) -> Self {
        Self::Json { code, body: body.into(), warnings: Vec::new() }
    }

    pub(super) fn ok(body: impl Into<Arc<Value>>) -> Self {
        Self::json(StatusCode::OK, body)
    }

    /// With words that `kubectl` prints as warnings.
    pub(super) fn warned(mut self, said: Vec<String>) -> Self {
        if let Self::Json { warnings, .. } = &mut self {
            *warnings = said;
        }
        self
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        let code = StatusCode::from_u16(failure.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        failure.body.map_or(Self::Text(code, "404 page not found\n"), |body| Self::json(code, body))
    }
}

impl From<Answer> for Response<Body> {
    fn from(answer: Answer) -> Self {
        let (code, kind, body, warnings) = match answer {
            Answer::Json { code, body, warnings } => (code, "application/json", Body::from(body.to_string()), warnings),
            Answer::Text(code, text) => (code, "text/plain; charset=utf-8", Body::from(text), Vec::new()),
            Answer::Watch(watch) => {
                (StatusCode::OK, "application/json", Body::from_stream(watch.into_stream()), Vec::new())
            }
        };
        let mut response = Self::new(body);
        *response.status_mut() = code;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        for warning in warnings {
            let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
                response.headers_mut().append(header::WARNING, value);
            }
        }
        response
    }
}
