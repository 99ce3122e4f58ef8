//! The client of one Prometheus, reached by URL or through a member's API server.

use std::{borrow::Cow, sync::Arc, time::Duration};

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use tokio::time::{Instant, timeout_at};

use super::{
    Answer, Began, Missing, namespace_label::limited, parse, recent::Recent, refusals::Refusals, turns::Turns,
};
use crate::http::{self, Client, Limits, METRIC_BODY};

/// A query of a round that is not sent within this time of its begin is missing in it: the verdict on one member does not
/// wait until another one has let every query run into its deadline.
pub(super) const SENT_WITHIN: Duration = Duration::from_secs(5);
/// The time that a query may take once it is sent.
const LIMITS: Limits = Limits { deadline: Duration::from_secs(5), body: METRIC_BODY };

/// A Prometheus. Cheap to clone; clones share the limit of queries under way, what was refused and what was just answered.
#[derive(Clone, Debug)]
pub(crate) struct Prometheus {
    client: Client,
    path: String,
    /// The label that holds the namespace of a series, where queries are limited by it.
    namespace_label: Option<String>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    turns: Turns,
    refusals: Refusals,
    recent: Recent,
}

impl Prometheus {
    /// A Prometheus below `prefix` at the client's peer.
    pub(crate) fn new(client: Client, prefix: &str) -> Self {
        Self { client, path: format!("{prefix}/api/v1/query"), namespace_label: None, shared: Arc::default() }
    }

    /// Limits every query of a rollout to series that have its namespace in this label.
    pub(crate) fn limited_by(self, namespace_label: Option<String>) -> Self {
        Self { namespace_label, ..self }
    }

    /// The answer to a query of a rollout in this namespace, evaluated at an instant: limited to the namespace where the member
    /// wants that, sent when it is the namespace's turn, if that comes soon enough after the round `began`, and not sent at all
    /// while it is known to be refused, or where another rollout has just sent the same one for the same second.
    ///
    /// # Errors
    /// Whatever keeps a whole answer from being there.
    pub(crate) async fn query_for(
        &self,
        namespace: &str,
        query: &str,
        at: Timestamp,
        began: Began,
    ) -> Result<Answer, Missing> {
        let query = match &self.namespace_label {
            Some(label) => Cow::from(limited(query, label, namespace)?),
            None => Cow::from(query),
        };
        let until = began.sent_until();
        let turn = timeout_at(until, self.shared.turns.wait(namespace)).await;
        // A turn that is free at once is given after the deadline as well.
        let Some(_turn) = turn.ok().filter(|_| Instant::now() < until) else {
            return Err(Missing::NotSent(SENT_WITHIN));
        };
        if let Some(missing) = self.shared.refusals.of(&query) {
            return Err(missing);
        }
        let at = evaluated_at(at, began);
        self.shared.recent.answer(&query, at, self.query(&query, at, began)).await
    }

    /// The answer to a query, evaluated at an instant; it waits for nobody.
    ///
    /// # Errors
    /// Whatever keeps a whole answer from being there.
    pub(crate) async fn query(&self, query: &str, at: Timestamp, began: Began) -> Result<Answer, Missing> {
        let millis = at.as_millisecond();
        let time = format!("{}.{:03}", millis.div_euclid(1000), millis.rem_euclid(1000));
        let parameters = [("query", query), ("time", time.as_str())];
        let read = |answer: &http::Answer| read(answer).and_then(|read| began.check(answer.date).map(|()| read));
        let answer =
            self.client.get(&self.path, &parameters, LIMITS, read).await.unwrap_or_else(|error| Err(error.into()));
        self.shared.refusals.note(query, &answer);
        answer
    }
}

/// The end of the second, where that is past already: so what several rollouts ask within a second is the same query, and
/// none covers anything from before its window. In a second that is not over samples would be missing.
fn evaluated_at(at: Timestamp, began: Began) -> Timestamp {
    let whole = at.round(TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Ceil));
    whole.ok().filter(|whole| *whole <= began.present()).unwrap_or(at)
}

fn read(answer: &http::Answer) -> Result<Answer, Missing> {
    match answer.status {
        200 => parse(&answer.body),
        // Prometheus says in the body what is wrong with a query.
        400 | 422 => Err(parse(&answer.body).err().unwrap_or(Missing::Status(answer.status))),
        401 => Err(Missing::Unauthorized),
        403 => Err(Missing::Forbidden),
        status => Err(Missing::Status(status)),
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
        Prometheus::new(client, "")
            .query("up", Timestamp::UNIX_EPOCH, Began::now(Timestamp::UNIX_EPOCH))
            .await
            .unwrap_err()
            .to_string()
    }

    #[tokio::test]
    async fn whatever_is_wrong_is_said_without_the_body() {
        let secret = r#"{"status":"error","errorType":"bad_data","error":"1:1: parse error","other":"s3cret"}"#;
        let refused = "Prometheus refused the query (bad_data: 1:1: parse error); correct the query";
        let unexpected = "UnexpectedResponse: not an answer of the Prometheus query API";
        assert_eq!(missing(400, secret).await, refused);
        assert_eq!(missing(422, secret).await, refused);
        assert_eq!(missing(400, "<html>").await, unexpected);
        assert_eq!(missing(200, "<html>log in").await, unexpected);
        assert_eq!(missing(503, secret).await, "Prometheus answered with status 503");
        let unknown = "Prometheus answered with status 401: it does not know the credentials; renew their Secret";
        let not_allowed =
            "Prometheus answered with status 403: the credentials may not query; extend the role of their account";
        assert_eq!(missing(401, secret).await, unknown);
        assert_eq!(missing(403, secret).await, not_allowed);
        assert_eq!(missing(302, "").await, "Prometheus answered with status 302");
        assert_eq!(missing(200, &"x".repeat(2 << 20)).await, "source down: the answer is larger than 1024 KiB");
    }

    #[tokio::test]
    async fn a_refused_query_of_a_rollout_is_not_sent_again_and_a_health_check_always_is() {
        let server =
            Server::fixed(400, r#"{"status":"error","errorType":"bad_data","error":"1:4: parse error"}"#).await;
        let client = Client::new(&Peer::at(&server.url()).unwrap(), &loopback()).unwrap();
        let prometheus = Prometheus::new(client, "");
        for _ in 0..3 {
            let said = prometheus
                .query_for("shop", "sum(", Timestamp::UNIX_EPOCH, Began::now(Timestamp::UNIX_EPOCH))
                .await
                .unwrap_err()
                .to_string();
            assert_eq!(said, "Prometheus refused the query (bad_data: 1:4: parse error); correct the query");
        }
        assert_eq!(server.heads.lock().await.len(), 1);
        assert!(prometheus.query("sum(", Timestamp::UNIX_EPOCH, Began::now(Timestamp::UNIX_EPOCH)).await.is_err());
        assert_eq!(server.heads.lock().await.len(), 2);
    }

    #[tokio::test]
    async fn a_rollouts_query_is_limited_to_its_namespace_and_one_that_cannot_be_is_not_sent() {
        let result = r#"{"status":"success","data":{"resultType":"scalar","result":[0,"1"]}}"#;
        let server = Server::fixed(200, result).await;
        let client = Client::new(&Peer::at(&server.url()).unwrap(), &loopback()).unwrap();
        let prometheus = Prometheus::new(client, "").limited_by(Some("namespace".to_owned()));
        let query = async |namespace: &str, query: &str| {
            let began = Began::now(Timestamp::UNIX_EPOCH);
            prometheus.query_for(namespace, query, Timestamp::UNIX_EPOCH, began).await.map(drop)
        };
        assert_eq!(query("shop", "sum(up)").await, Ok(()));
        assert_eq!(query("bank", "sum(up)").await, Ok(()));
        let refused = query("shop", "sum(info(up))").await.unwrap_err().to_string();
        let expected = "the query is not sent, for it cannot be limited to the rollout's namespace: info() reads series that no \
                        selector names; join them with group_left";
        assert_eq!(refused, expected);
        let heads = server.heads.lock().await;
        assert_eq!(heads.len(), 2);
        for (head, sent) in
            heads.iter().zip(["sum%28up%7Bnamespace%3D%22shop%22%7D%29", "sum%28up%7Bnamespace%3D%22bank%22%7D%29"])
        {
            assert!(head.contains(&format!("query={sent}&")), "{head}");
        }
    }

    #[test]
    fn a_query_is_for_a_whole_second_that_is_over_or_for_the_very_time() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let at = |now: &str| evaluated_at(time("2026-01-01T00:00:07.25Z"), Began::now(time(now)));
        assert_eq!(at("2026-01-01T00:00:22.25Z"), time("2026-01-01T00:00:08Z"));
        assert_eq!(at("2026-01-01T00:00:07.5Z"), time("2026-01-01T00:00:07.25Z"));
        let whole = time("2026-01-01T00:00:07Z");
        assert_eq!(evaluated_at(whole, Began::now(whole)), whole);
    }

    #[tokio::test]
    async fn nobody_there_is_a_source_that_is_down() {
        let client = Client::new(&Peer::at("http://127.77.0.1:9").unwrap(), &loopback()).unwrap();
        let missing = Prometheus::new(client, "")
            .query("up", Timestamp::UNIX_EPOCH, Began::now(Timestamp::UNIX_EPOCH))
            .await
            .unwrap_err()
            .to_string();
        assert!(missing.starts_with("source down: Connection refused"), "{missing}");
    }
}
