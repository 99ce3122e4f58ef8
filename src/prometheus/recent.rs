//! What was just answered: queries that are equal are sent once, also those of several rollouts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::OnceCell;

use super::{Answer, Missing};

/// How long an answer is kept, by the times of evaluation; rounds that ask for the same time come within it.
const KEPT: SignedDuration = SignedDuration::from_secs(2);
/// Answers that are kept.
const ANSWERS: usize = 256;
/// Series of an answer that is kept.
const SERIES: usize = 64;

/// A query and the time for which it is evaluated.
type Key = (Timestamp, String);
type Cell = Arc<OnceCell<Result<Answer, Missing>>>;

/// The answers of one Prometheus for the last seconds.
#[derive(Debug, Default)]
pub(super) struct Recent(Mutex<BTreeMap<Key, Cell>>);

impl Recent {
    /// The answer to a query for a time: one that is kept, the one that is under way, or that of `ask`. A failure is that
    /// of those who waited for it, and nobody else's.
    pub(super) async fn answer(
        &self,
        query: &str,
        at: Timestamp,
        ask: impl Future<Output = Result<Answer, Missing>>,
    ) -> Result<Answer, Missing> {
        let key = (at, query.to_owned());
        let cell = self.cell(&key);
        let answer = cell.get_or_init(|| ask).await.clone();
        if !is_kept(&answer) {
            self.forget(&key, &cell);
        }
        answer
    }

    /// Where the answer will be. Beyond what is kept, equal queries are sent each.
    fn cell(&self, key: &Key) -> Cell {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cells.retain(|(at, _), _| at.duration_since(key.0).abs() <= KEPT);
        match cells.get(key) {
            Some(cell) => Arc::clone(cell),
            None if cells.len() >= ANSWERS => Cell::default(),
            None => Arc::clone(cells.entry(key.clone()).or_default()),
        }
    }

    fn forget(&self, key: &Key, cell: &Cell) {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cells.get(key).is_some_and(|kept| Arc::ptr_eq(kept, cell)) {
            cells.remove(key);
        }
    }
}

fn is_kept(answer: &Result<Answer, Missing>) -> bool {
    match answer {
        Ok(Answer::Scalar(_)) => true,
        Ok(Answer::Vector(vector)) => vector.series.len() <= SERIES,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use futures::future::join_all;

    use super::*;
    use crate::prometheus::parse;

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    fn series(count: usize) -> Answer {
        let series = vec![r#"{"metric":{},"value":[7,"1"]}"#; count].join(",");
        let body = format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}"#);
        parse(body.as_bytes()).unwrap()
    }

    /// How many queries are sent for these, all at once and then once more, each after the other.
    async fn sent(queries: &[(&str, i64)], answer: Result<Answer, Missing>) -> [usize; 2] {
        let (recent, sent) = (Recent::default(), AtomicUsize::new(0));
        let ask = async || {
            sent.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(50)).await;
            answer.clone()
        };
        join_all(queries.iter().map(|(query, second)| recent.answer(query, at(*second), ask()))).await;
        let at_once = sent.load(Ordering::Relaxed);
        for (query, second) in queries {
            assert_eq!(recent.answer(query, at(*second), ask()).await, answer);
        }
        [at_once, sent.load(Ordering::Relaxed)]
    }

    #[tokio::test(start_paused = true)]
    async fn equal_queries_for_one_time_are_sent_once() {
        assert_eq!(sent(&[("up", 7), ("up", 7), ("up", 8), ("down", 7)], Ok(series(1))).await, [3, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_and_a_flood_are_not_kept() {
        assert_eq!(sent(&[("up", 7), ("up", 7)], Err(Missing::Status(503))).await, [1, 3]);
        assert_eq!(sent(&[("up", 7), ("up", 7)], Ok(series(SERIES + 1))).await, [1, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_kept_is_bounded_in_time_and_number() {
        let recent = Recent::default();
        for query in 0..2 * ANSWERS {
            assert!(recent.answer(&query.to_string(), at(7), async { Ok(series(1)) }).await.is_ok());
        }
        assert_eq!(recent.0.lock().unwrap().len(), ANSWERS);
        assert!(recent.answer("up", at(10), async { Ok(series(1)) }).await.is_ok());
        assert_eq!(recent.0.lock().unwrap().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_query_that_was_given_up_is_sent_by_the_next_who_needs_it() {
        let recent = Recent::default();
        let given_up = recent.answer("up", at(7), std::future::pending());
        assert!(tokio::time::timeout(Duration::from_secs(1), given_up).await.is_err());
        assert_eq!(recent.answer("up", at(7), async { Ok(series(1)) }).await, Ok(series(1)));
    }
}
