//! Everything but the hub: the API server, the true time, the members, and what the hub called.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicI64, Ordering},
};

use axum::body::Body;
use cutover::sandbox::api::ApiServer;
use futures::FutureExt;
use http::{Method, Request};
use jiff::Timestamp;
use serde_json::Value;
use tower::ServiceExt;

use super::{members::Members, server::Calls};

/// When the world begins.
pub const GENESIS: Timestamp = Timestamp::constant(1_795_000_000, 0);

pub struct World {
    pub api: ApiServer,
    pub seed: u64,
    millis: Arc<AtomicI64>,
    members: Mutex<Members>,
    calls: Mutex<Calls>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub fn new(seed: u64) -> Arc<Self> {
        let millis = Arc::new(AtomicI64::new(GENESIS.as_millisecond()));
        let shown = millis.clone();
        let time = move || Timestamp::from_millisecond(shown.load(Ordering::Relaxed)).unwrap_or(GENESIS);
        let api = ApiServer::new(Arc::new(time), seed);
        Arc::new(Self { api, seed, millis, members: Mutex::default(), calls: Mutex::new(Calls::new(seed)) })
    }

    /// The true time.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.millis.load(Ordering::Relaxed)).unwrap_or(GENESIS)
    }

    pub fn set_now(&self, now: Timestamp) {
        self.millis.store(now.as_millisecond(), Ordering::Relaxed);
    }

    pub fn members(&self) -> MutexGuard<'_, Members> {
        lock(&self.members)
    }

    pub fn calls(&self) -> MutexGuard<'_, Calls> {
        lock(&self.calls)
    }

    /// A call of somebody else than the hub, which must succeed.
    pub fn call(&self, method: Method, path: &str, body: Option<&Value>) {
        let (status, said) = self.try_call(method, path, body);
        assert!(status < 300, "{path}: {status} {said}");
    }

    /// A call of somebody else than the hub.
    pub fn try_call(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let uri = format!("{path}?fieldManager=world");
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = Request::builder().method(method).uri(uri).header("content-type", kind).body(body);
        let answered = self.api.clone().oneshot(request.expect("a request")).now_or_never();
        let Ok(response) = answered.expect("the API server answers at once");
        let status = response.status().as_u16();
        let read = axum::body::to_bytes(response.into_body(), usize::MAX).now_or_never();
        let bytes = read.and_then(Result::ok).unwrap_or_default();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}
