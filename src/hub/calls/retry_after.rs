//! An API server that says after what time to call again gets no call before.

use std::{sync::Arc, time::Duration};

use ::http::{HeaderMap, Request, StatusCode, header::RETRY_AFTER};
use kube::{Client, client::Body};
use tower::service_fn;

use crate::hub::turns::Turns;

/// A client that tells the turns for how long the API server wants to be left alone.
pub(super) fn obeying(client: Client, turns: &Arc<Turns>) -> Client {
    let (namespace, turns) = (client.default_namespace().to_owned(), Arc::clone(turns));
    let send = move |request: Request<Body>| {
        let (client, turns) = (client.clone(), Arc::clone(&turns));
        async move {
            let response = client.send(request).await?;
            if let Some(time) = wanted_pause(response.status(), response.headers()) {
                turns.pause(time);
            }
            Ok::<_, kube::Error>(response)
        }
    };
    Client::new(service_fn(send), namespace)
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
