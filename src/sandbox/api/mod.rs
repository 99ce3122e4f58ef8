//! A Kubernetes API server in memory: the semantics that controllers depend on, and the words of the real one.
//!
//! One request is one function call on the state behind a lock, so requests are served one after the other, in the
//! order in which they arrive. Nothing is random and no time passes but by the clock that the server was given: the
//! same requests, seed and clock give the same bytes.
//!
//! | file | what it is |
//! |---|---|
//! | `request`, `selectors`, `decode`, `protobuf` | what is requested |
//! | `state`, `store` | what is known: kinds, objects, every change |
//! | `read`, `watch`, `table` | what is shown |
//! | `admit`, `write`, `delete`, `commit` | what is changed |
//! | `patch`, `meta`, `managed_fields` | … and how |
//! | `kind`, `builtin`, `completion`, `events` | the kinds that are known from the start |
//! | `crd`, `schema`, `violation` | the kinds that definitions add, and their rules |
//! | `discovery`, `openapi`, `review` | what clients ask before |
//! | `answer`, `status`, `field_error` | how it is said |
//! | `json` | fields of objects |
//!
//! There is no server-side apply (415), no admission beyond schemas, no authorization, no controller: a namespace that
//! is deleted stays `Terminating`, and what is owned stays when its owner goes.

mod admit;
mod answer;
mod builtin;
mod commit;
mod completion;
mod crd;
mod decode;
mod delete;
mod discovery;
mod events;
mod field_error;
mod json;
mod kind;
mod managed_fields;
mod meta;
mod openapi;
mod patch;
mod protobuf;
mod read;
mod request;
mod review;
mod schema;
mod selectors;
mod state;
mod status;
mod store;
mod table;
#[cfg(test)]
mod tests;
mod violation;
mod watch;
mod write;

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use axum::body::{Body, Bytes, HttpBody};
use http::{Method, Request as HttpRequest, Response};
use jiff::Timestamp;
use tokio::sync::Notify;

use answer::Answer;
use request::{Request, Target};
use state::{Call, State};
use status::Failure;
pub use store::{Author, Change, Verb};

/// Tells the time that objects get.
type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Bytes of a request's body that are taken; the real server takes as many.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// One server. Clones are the same one.
#[derive(Clone)]
pub struct ApiServer {
    state: Arc<Mutex<State>>,
    /// Wakes the watches.
    changed: Arc<Notify>,
}

impl ApiServer {
    /// A server with the namespaces `default` and `kube-system`. `clock` tells the time that objects get; `seed`
    /// decides every uid and generated name.
    pub fn new(clock: Arc<dyn Fn() -> Timestamp + Send + Sync>, seed: u64) -> Self {
        Self { state: Arc::new(Mutex::new(State::new(clock, seed))), changed: Arc::new(Notify::new()) }
    }

    /// A client in this process, without sockets: it works on tokio's paused time. It must be made within a runtime.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    /// Every committed change but the first `seen` ones, in order, as far as it was not forgotten.
    pub fn history(&self, seen: usize) -> Vec<Arc<Change>> {
        self.lock().store.history(seen).to_vec()
    }

    /// Forgets the past: a watch or a list at an earlier revision gets 410 Gone from now on. `history` keeps it.
    pub fn compact(&self) {
        self.lock().store.compact();
    }

    /// The same for what was before a time, and `history` drops it too, so that memory holds what is there and little
    /// more. A watch that has not sent such a change yet ends with 410 Gone.
    pub fn forget(&self, before: Timestamp) {
        self.lock().store.forget(before);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: Request) -> Result<Answer, Failure> {
        let mut state = self.lock();
        if let Some(answer) = discovery::answer(&state.kinds, &request.path) {
            return answer;
        }
        let target = Target::of(&request.path).ok_or(Failure::NO_PATH)?;
        if let Some(answer) = review::answer(&request, &target) {
            return answer;
        }
        let kind = state::resolve(&state.kinds, &request, &target)?;
        request.options.check(&request.method)?;
        let reading = request.method == Method::GET;

        if reading && target.name.is_none() && request.options.is("watch") {
            let watch = watch::begin(self, &state, request, target, kind)?;
            return Ok(Answer::Watch(Box::new(watch)));
        }
        let version = kind.version(&target.version).ok_or(Failure::NO_PATH)?;
        let call = Call { request: &request, target: &target, kind: &kind, version };
        match (reading, target.name.is_some()) {
            (true, true) => read::get(&state, &call),
            (true, false) => read::list(&state, &call),
            (false, _) => {
                let answer = write::answer(&mut state, &call);
                self.changed.notify_waiters();
                answer
            }
        }
    }
}

impl<B> tower::Service<HttpRequest<B>> for ApiServer
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let answer = match axum::body::to_bytes(Body::new(body), BODY_LIMIT).await {
                Ok(body) => server.answer(Request::new(head.method, &head.uri, &head.headers, body)),
                Err(_) => Err(Failure::too_large(BODY_LIMIT)),
            };
            Ok(answer.unwrap_or_else(Answer::from).into())
        })
    }
}
