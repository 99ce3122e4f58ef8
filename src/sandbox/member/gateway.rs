//! A member's ingress: answers every request as configured, and counts it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use http::{Request, header};
use hyper::body::Incoming;

use super::{Behaviour, counters::Counters, locked};
use crate::sandbox::server::{Answer, text};

/// The path that probes ask. It is not counted: only what clients ask is traffic.
pub const HEALTH: &str = "/healthz";

#[derive(Default)]
pub(super) struct Gateway {
    behaviour: Mutex<Behaviour>,
    seen: AtomicU64,
    pub(super) counters: Counters,
}

impl Gateway {
    pub(super) fn behave(&self, behaviour: Behaviour) {
        *locked(&self.behaviour) = behaviour;
    }

    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Answer {
        if request.uri().path() == HEALTH {
            return text(200, "ok\n");
        }
        let since = Instant::now();
        let host = request.headers().get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let service = host.split(['.', ':']).next().unwrap_or_default();
        self.counters.arrive(service);
        let (code, delay) = self.next();
        if delay > Duration::ZERO {
            tokio::time::sleep(delay).await;
        }
        self.counters.count(service, code, since.elapsed());
        text(code, "")
    }

    /// Status and delay of the next answer.
    fn next(&self) -> (u16, Duration) {
        let behaviour = *locked(&self.behaviour);
        let seen = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        let fails = behaviour.fail_every.is_some_and(|every| seen.is_multiple_of(every));
        (if fails { 500 } else { 200 }, behaviour.delay)
    }
}
