//! The way from the hub to its API server: every call is counted, and some of them fail.

use std::{
    collections::BTreeMap,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use cutover::clock::Clock;
use http::{HeaderValue, Request, Response, StatusCode};
use serde_json::json;
use tower::ServiceExt;

use super::{dice::Dice, world::World};

/// Of so many calls one fails.
const ONE_IN: u64 = 100;
/// How late an answer is that is late.
const LATE: Duration = Duration::from_secs(2);

/// What becomes of one call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    InternalError,
    TooManyRequests,
    /// It is done, and the answer is lost.
    Reset,
    Late,
}

/// What the hub called.
pub struct Calls {
    dice: Dice,
    /// Some calls fail.
    pub fail: bool,
    pub failed: u64,
    /// Calls but for watches and the Lease, by method and kind.
    pub by_kind: BTreeMap<String, u64>,
    pub watches: u64,
}

impl Calls {
    pub const fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), fail: false, failed: 0, by_kind: BTreeMap::new(), watches: 0 }
    }

    /// All calls but for watches and the Lease.
    pub fn requests(&self) -> u64 {
        self.by_kind.values().sum()
    }

    fn count<B>(&mut self, request: &Request<B>) {
        let plural = plural(request.uri().path());
        if request.uri().query().is_some_and(|query| query.contains("watch=true")) {
            self.watches += 1;
        } else if plural != "leases" {
            *self.by_kind.entry(format!("{} {plural}", request.method())).or_default() += 1;
        }
    }

    fn fate(&mut self) -> Fate {
        if !self.fail || self.dice.below(ONE_IN) > 0 {
            return Fate::Passes;
        }
        self.failed += 1;
        match self.dice.below(4) {
            0 => Fate::InternalError,
            1 => Fate::TooManyRequests,
            2 => Fate::Reset,
            _ => Fate::Late,
        }
    }
}

/// The kind that a path is about.
fn plural(path: &str) -> &str {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let rest = if parts.first() == Some(&"api") { parts.get(2..) } else { parts.get(3..) };
    match rest.unwrap_or_default() {
        ["namespaces", _, plural, ..] | [plural, ..] => plural,
        [] => "",
    }
}

/// For one instance of the hub.
#[derive(Clone)]
pub struct Layer {
    pub world: Arc<World>,
    /// The world's time, as it goes on while the instance is stepped.
    pub clock: Clock,
}

impl tower::Service<Request<kube::client::Body>> for Layer {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let layer = self.clone();
        Box::pin(async move { layer.pass(request).await })
    }
}

impl Layer {
    async fn pass(self, request: Request<kube::client::Body>) -> Result<Response<Body>, io::Error> {
        self.world.set_now(self.clock.now());
        let fate = {
            let mut calls = self.world.calls();
            calls.count(&request);
            calls.fate()
        };
        match fate {
            Fate::InternalError => return Ok(refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")),
            Fate::TooManyRequests => return Ok(refusal(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests")),
            Fate::Passes | Fate::Reset | Fate::Late => {}
        }
        let Ok(response) = self.world.api.clone().oneshot(request).await;
        match fate {
            Fate::Reset => return Err(io::ErrorKind::ConnectionReset.into()),
            Fate::Late => tokio::time::sleep(LATE).await,
            Fate::Passes | Fate::InternalError | Fate::TooManyRequests => {}
        }
        Ok(response)
    }
}

fn refusal(code: StatusCode, reason: &str) -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": "injected", "reason": reason, "code": code.as_u16()});
    let mut response = Response::new(Body::from(status.to_string()));
    *response.status_mut() = code;
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    if code == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
    }
    response
}
