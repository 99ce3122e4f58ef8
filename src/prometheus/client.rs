//! The client of one Prometheus, reached by URL or through a member's API server.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::{Answer, Missing, parse};
use crate::http::{Client, DEADLINE, Limits, METRIC_BODY};

/// Queries that are under way at one member at a time; a small Prometheus serves four well.
const AT_ONCE: usize = 4;

/// A Prometheus. Cheap to clone; clones share the limit of queries under way.
#[derive(Clone, Debug)]
pub(crate) struct Prometheus {
    client: Client,
    path: String,
    permits: Arc<Semaphore>,
}

impl Prometheus {
    /// A Prometheus below `prefix` at the client's peer.
    pub(crate) fn new(client: Client, prefix: &str) -> Self {
        Self { client, path: format!("{prefix}/api/v1/query"), permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// The answer to a query, evaluated at an instant.
    ///
    /// # Errors
    /// Whatever keeps a whole answer from being there.
    pub(crate) async fn query(&self, query: &str, at: Timestamp) -> Result<Answer, Missing> {
        // Nobody closes the semaphore, so there is always a permit to wait for.
        let _permit = self.permits.acquire().await;
        let millis = at.as_millisecond();
        let time = format!("{}.{:03}", millis.div_euclid(1000), millis.rem_euclid(1000));
        let limits = Limits { deadline: DEADLINE, body: METRIC_BODY };
        let parameters = [("query", query), ("time", time.as_str())];
        let answer = self.client.get(&self.path, &parameters, limits).await?;
        match answer.status {
            200 => parse(&answer.body),
            // Prometheus says in the body what is wrong with a query.
            400 | 422 => Err(parse(&answer.body).err().unwrap_or(Missing::Status(answer.status))),
            status @ (401 | 403) => Err(Missing::Credentials(status)),
            status => Err(Missing::Status(status)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{
        Peer,
        fixtures::{Server, loopback},
    };

    async fn missing(status: u16, body: &str) -> String {
        let server = Server::fixed(status, body).await;
        let client = Client::new(&Peer::at(&server.url()).unwrap(), &loopback()).unwrap();
        Prometheus::new(client, "").query("up", Timestamp::UNIX_EPOCH).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn whatever_is_wrong_is_said_without_the_body() {
        let secret = r#"{"status":"error","errorType":"bad_data","error":"s3cret"}"#;
        let refused = "Prometheus refused the query (bad_data); try the query there";
        let unexpected = "UnexpectedResponse: not an answer of the Prometheus query API";
        assert_eq!(missing(400, secret).await, refused);
        assert_eq!(missing(422, secret).await, refused);
        assert_eq!(missing(400, "<html>").await, unexpected);
        assert_eq!(missing(200, "<html>log in").await, unexpected);
        assert_eq!(missing(503, secret).await, "Prometheus answered with status 503");
        for status in [401, 403] {
            let expected = format!("Prometheus answered with status {status}; renew the credentials or their role");
            assert_eq!(missing(status, secret).await, expected);
        }
        assert_eq!(missing(302, "").await, "Prometheus answered with status 302");
        assert_eq!(missing(200, &"x".repeat(2 << 20)).await, "source down: the answer is larger than 1024 KiB");
    }

    #[tokio::test]
    async fn nobody_there_is_a_source_that_is_down() {
        let client = Client::new(&Peer::at("http://127.77.0.1:9").unwrap(), &loopback()).unwrap();
        let missing = Prometheus::new(client, "").query("up", Timestamp::UNIX_EPOCH).await.unwrap_err().to_string();
        assert!(missing.starts_with("source down: Connection refused"), "{missing}");
    }
}
