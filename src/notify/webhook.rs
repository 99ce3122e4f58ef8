//! Any service that takes a POST of JSON, signed where a key is given.

use http::HeaderName;
use jiff::Timestamp;

use super::{
    Alert,
    request::{Credentials, Request},
};
use crate::http::{SIGNATURE_HEADER, TIMESTAMP_HEADER};

pub(super) fn render(alert: &Alert, credentials: &Credentials, now: Timestamp) -> Request {
    let request = Request::json(&alert.data()).authorized("Bearer", credentials);
    let Some(key) = &credentials.signing_key else { return request };
    let seconds = now.as_second();
    let signature = key.sign(seconds, &request.body);
    request
        .with(HeaderName::from_static(TIMESTAMP_HEADER), seconds.to_string())
        .with(HeaderName::from_static(SIGNATURE_HEADER), signature)
}
