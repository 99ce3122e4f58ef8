//! The API server that a plan runs against: one in memory, or a real one behind a face like it.

use std::sync::Arc;

use axum::body::Body;
use cutover::sandbox::api::{ApiServer, Change};
use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use jiff::Timestamp;
use tower::ServiceExt;

/// Tells the world's time.
pub type Time = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    Hub,
    /// People, tools, the data plane: everybody else.
    World,
}

/// What the fault layer stands in front of. An answer is there at once: no time of the world passes meanwhile.
pub trait Server: Send + Sync {
    fn answer(&self, caller: Caller, request: Request<Body>) -> BoxFuture<'static, Response<Body>>;

    /// Every committed change but the first `seen` ones, in order.
    fn history(&self, seen: usize) -> Vec<Arc<Change>>;
}

impl Server for ApiServer {
    fn answer(&self, _: Caller, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let answered = self.clone().oneshot(request);
        answered.map(|Ok(response)| response).boxed()
    }

    fn history(&self, seen: usize) -> Vec<Arc<Change>> {
        Self::history(self, seen)
    }
}
