//! Answers that the API server did not give, and answers about writes that did not happen.

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

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

/// A webhook with opinions: the canary gets half of what was written, the others the rest. Whether that is anything else.
pub fn mutate(bytes: &mut Vec<u8>) -> bool {
    let Ok(mut object) = serde_json::from_slice::<Value>(bytes) else { return false };
    let Some(backends) = object.pointer_mut("/spec/rules/0/backendRefs").and_then(Value::as_array_mut) else {
        return false;
    };
    let mut taken = 0;
    let is_canary = |backend: &&mut Value| {
        backend["name"].as_str().is_some_and(|name| CANARIES.iter().any(|canary| name.ends_with(canary)))
    };
    for backend in backends.iter_mut().filter(is_canary) {
        let weight = backend["weight"].as_u64().unwrap_or_default();
        taken += weight - weight / 2;
        backend["weight"] = (weight / 2).into();
    }
    if let Some(first) = backends.first_mut() {
        first["weight"] = (first["weight"].as_u64().unwrap_or_default() + taken).into();
    }
    *bytes = object.to_string().into_bytes();
    taken > 0
}
