//! A receiver of hooks for trying: gates that are opened and closed by hand, and a load generator.

mod gates;
mod load;

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, StatusCode},
    routing::{get, post},
};

use self::{gates::Gates, load::Loads};
use crate::{
    clock::Clock,
    http::{Network, SIGNATURE_HEADER, SigningKey, TIMESTAMP_HEADER},
};

/// Bytes of a request's body.
const BODY: usize = 256 << 10;
/// A signature that is older, or from further in the future, is refused. In seconds.
const SIGNED_WITHIN: u64 = 300;

/// What a receiver is given.
pub(crate) struct Options {
    /// It takes only what is signed with this key.
    pub(crate) signing_key: Option<SigningKey>,
    /// It makes load against these hosts alone: `host:port`.
    pub(crate) targets: Vec<String>,
    /// Certificates that it trusts of them, PEM. Default: those of the system.
    pub(crate) target_roots: Option<Vec<u8>>,
    pub(crate) network: Network,
    pub(crate) clock: Clock,
}

struct Receiver {
    signing_key: Option<SigningKey>,
    clock: Clock,
    gates: Gates,
    loads: Loads,
}

type Shared = State<Arc<Receiver>>;

/// An answer, in words for whoever reads a log.
type Answer = (StatusCode, String);

/// What a receiver serves.
pub(crate) fn router(options: Options) -> Router {
    let Options { signing_key, targets, target_roots, network, clock } = options;
    let loads = Loads::new(network, targets, target_roots);
    let receiver = Arc::new(Receiver { signing_key, clock, gates: Gates::default(), loads });
    Router::new()
        .route("/gates", get(|State(receiver): Shared| async move { receiver.gates.all() }))
        .route("/gate/{name}", post(is_open))
        .route("/gate/{name}/open", post(opened))
        .route("/gate/{name}/close", post(closed))
        .route("/load", post(load))
        .layer(DefaultBodyLimit::max(BODY))
        .with_state(receiver)
}

impl Receiver {
    /// Whether whoever sent this has the key, in time.
    fn check(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), Answer> {
        let Some(key) = &self.signing_key else { return Ok(()) };
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let seconds = text(TIMESTAMP_HEADER).parse::<i64>().unwrap_or_default();
        let is_timely = seconds.abs_diff(self.clock.now().as_second()) <= SIGNED_WITHIN;
        let is_signed = key.verifies(seconds, body, text(SIGNATURE_HEADER));
        let refused =
            || (StatusCode::UNAUTHORIZED, "not signed with this receiver's key, or too long ago\n".to_owned());
        (is_timely && is_signed).then_some(()).ok_or_else(refused)
    }
}

async fn is_open(State(receiver): Shared, Path(name): Path<String>, headers: HeaderMap, body: Bytes) -> Answer {
    if let Err(refused) = receiver.check(&headers, &body) {
        return refused;
    }
    if receiver.gates.is_open(&name) {
        (StatusCode::OK, "open\n".to_owned())
    } else {
        (StatusCode::FORBIDDEN, "closed\n".to_owned())
    }
}

async fn opened(State(receiver): Shared, Path(name): Path<String>, headers: HeaderMap, body: Bytes) -> Answer {
    set(&receiver, &name, &headers, &body, true)
}

async fn closed(State(receiver): Shared, Path(name): Path<String>, headers: HeaderMap, body: Bytes) -> Answer {
    set(&receiver, &name, &headers, &body, false)
}

fn set(receiver: &Receiver, name: &str, headers: &HeaderMap, body: &[u8], open: bool) -> Answer {
    let set = receiver.check(headers, body).and_then(|()| {
        receiver.gates.set(name, open).map_err(|why| (StatusCode::INSUFFICIENT_STORAGE, format!("{why}\n")))
    });
    set.err().unwrap_or_else(|| (StatusCode::OK, format!("{}\n", if open { "open" } else { "closed" })))
}

async fn load(State(receiver): Shared, headers: HeaderMap, body: Bytes) -> Answer {
    if let Err(refused) = receiver.check(&headers, &body) {
        return refused;
    }
    match receiver.loads.begin(&body) {
        Ok(said) => (StatusCode::ACCEPTED, format!("{said}\n")),
        Err(why) => (StatusCode::BAD_REQUEST, format!("{why}\n")),
    }
}

#[cfg(test)]
mod tests;
