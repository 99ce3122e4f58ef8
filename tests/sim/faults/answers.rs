//! Answers that the API server did not give, and answers about writes that did not happen.

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use super::super::routes::{Form, plain};

/// How the names of backends end that a run may give weight to.
const CANARIES: [&str; 4] = ["eu-3", "eu-4", "eu-5", "canary"];

pub fn refusal(code: u16, words: &str) -> Response<Body> {
    let reason = match code {
        403 => "Forbidden",
        409 => "Conflict",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": words, "reason": reason, "code": code});
    let mut response = Response::new(Body::from(status.to_string()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/json"));
    if code == 429 {
        response.headers_mut().insert("retry-after", http::HeaderValue::from_static("2"));
    }
    response
}

/// A webhook with opinions: the canary gets half of what was written, another one the rest. Whether that is anything else.
pub fn mutate(form: &dyn Form, bytes: &mut Vec<u8>) -> bool {
    let Ok(mut object) = serde_json::from_slice::<Value>(bytes) else { return false };
    let mut weights = form.weights(&[&object]);
    weights.retain(|name, _| plain(name) == name);
    let is_canary = |name: &str| CANARIES.iter().any(|canary| name.ends_with(canary));
    // Where nobody else is named, nobody can get it.
    let Some(other) = weights.keys().find(|name| !is_canary(name)).cloned() else { return false };
    let mut taken = 0;
    for (_, weight) in weights.iter_mut().filter(|(name, _)| is_canary(name)) {
        taken += *weight - *weight / 2;
        *weight /= 2;
    }
    *weights.entry(other).or_default() += taken;
    form.put(&mut object, &weights);
    *bytes = object.to_string().into_bytes();
    taken > 0
}
