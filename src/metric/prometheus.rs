//! One member's Prometheus, reached by URL or through the member's API server.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::{Answer, Missing, parse};
use crate::http::{Client, DEADLINE, Limits, METRIC_BODY};

/// Queries that are under way at one member at a time; a small Prometheus serves four well.
const AT_ONCE: usize = 4;

/// One member's Prometheus. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Prometheus {
    client: Client,
    path: String,
    turns: Arc<Semaphore>,
}

impl Prometheus {
    /// A Prometheus below `prefix` at the client's peer.
    #[must_use]
    pub fn new(client: Client, prefix: &str) -> Self {
        Self { client, path: format!("{prefix}/api/v1/query"), turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The answer to a query, evaluated at an instant.
    ///
    /// # Errors
    /// Whatever keeps a whole answer from being there.
    pub async fn query(&self, query: &str, at: Timestamp) -> Result<Answer, Missing> {
        let down = |why: String| Missing::Down(why);
        let _turn = self.turns.acquire().await.map_err(|error| down(error.to_string()))?;
        let millis = at.as_millisecond();
        let time = format!("{}.{:03}", millis.div_euclid(1000), millis.rem_euclid(1000));
        let limits = Limits { deadline: DEADLINE, body: METRIC_BODY };
        let parameters = [("query", query), ("time", time.as_str())];
        let answer = self.client.get(&self.path, &parameters, limits).await.map_err(|error| down(error.to_string()))?;
        match answer.status {
            200 => parse(&answer.body),
            // Prometheus says in the body what is wrong with a query.
            400 | 422 => Err(parse(&answer.body).err().unwrap_or(Missing::Status(answer.status))),
            status => Err(Missing::Status(status)),
        }
    }
}
