//! The client for the hub's own kinds: it obeys an API server that says after what time to call again, and asks for no more
//! than it needs.

use std::{sync::Arc, time::Duration};

use ::http::{HeaderMap, Method, Request, StatusCode, Uri, header::RETRY_AFTER};
use kube::{Client, client::Body};
use tower::service_fn;

use crate::hub::turns::Turns;

/// A client that tells the turns for how long the API server wants to be left alone.
pub(super) fn client(client: Client, turns: &Arc<Turns>) -> Client {
    let (namespace, turns) = (client.default_namespace().to_owned(), Arc::clone(turns));
    let send = move |request: Request<Body>| {
        let (client, turns) = (client.clone(), Arc::clone(&turns));
        async move {
            let response = client.send(unvalidated(request)).await?;
            if let Some(time) = wanted_pause(response.status(), response.headers()) {
                turns.pause(time);
            }
            Ok::<_, kube::Error>(response)
        }
    };
    Client::new(service_fn(send), namespace)
}

/// The same request; the API server looks for no unknown or repeated fields in what it writes, for nobody reads its warnings.
/// The schema is checked all the same.
fn unvalidated(mut request: Request<Body>) -> Request<Body> {
    let uri = request.uri();
    if matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH) {
        let query = uri.query().filter(|query| !query.is_empty()).map(|query| format!("{query}&")).unwrap_or_default();
        let changed = format!("{}?{query}fieldValidation=Ignore", uri.path());
        if let Ok(changed) = changed.parse::<Uri>() {
            *request.uri_mut() = changed;
        }
    }
    request
}

/// Only whole seconds: the form with a date is not one that an API server uses.
fn wanted_pause(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let puts_off = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let seconds = headers.get(RETRY_AFTER).filter(|_| puts_off)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_writes_ask_for_no_warnings() {
        let sent = |method: Method, uri: &str| {
            let request = Request::builder().method(method).uri(uri).body(Body::empty()).unwrap();
            unvalidated(request).uri().to_string()
        };
        assert_eq!(sent(Method::PUT, "/a/b"), "/a/b?fieldValidation=Ignore");
        assert_eq!(sent(Method::PATCH, "/a?dryRun=All"), "/a?dryRun=All&fieldValidation=Ignore");
        assert_eq!(sent(Method::GET, "/a?watch=true"), "/a?watch=true");
        assert_eq!(sent(Method::DELETE, "/a"), "/a");
    }

    #[test]
    fn a_pause_is_read_where_the_api_server_puts_a_call_off() {
        let said = |code: u16, value: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
            wanted_pause(StatusCode::from_u16(code).unwrap(), &headers).map(|time| time.as_secs())
        };
        assert_eq!((said(429, "1"), said(503, " 7 ")), (Some(1), Some(7)));
        for (code, value) in [(200, "1"), (409, "1"), (429, "-1"), (429, "soon"), (429, "99999999999999999999")] {
            assert_eq!(said(code, value), None, "{code} {value}");
        }
        assert_eq!(wanted_pause(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new()), None);
    }
}
