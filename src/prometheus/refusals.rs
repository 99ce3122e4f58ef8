//! What a Prometheus refused, and how long it is not queried again.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::Missing;

/// How long a query that Prometheus cannot read is not sent again: it stays wrong until somebody changes it, or the proxy
/// that refused it is repaired.
const REFUSED: Duration = Duration::from_mins(5);
/// Refused queries that are remembered.
const QUERIES: usize = 256;
/// How long nothing is queried after credentials were first refused; doubles each time.
const FIRST: Duration = Duration::from_secs(5);
/// The longest such time.
const LONGEST: Duration = Duration::from_mins(1);

/// What one Prometheus refused.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    queries: BTreeMap<String, (Instant, Missing)>,
    credentials: Option<Credentials>,
}

#[derive(Debug)]
struct Credentials {
    until: Instant,
    wait: Duration,
    missing: Missing,
}

impl Refusals {
    /// Why a query need not be sent now.
    pub(super) fn of(&self, query: &str) -> Option<Missing> {
        let (now, state) = (Instant::now(), self.state());
        let credentials = state.credentials.as_ref().filter(|refused| now < refused.until);
        let refused = state.queries.get(query).filter(|(until, _)| now < *until);
        credentials.map(|refused| &refused.missing).or(refused.map(|(_, missing)| missing)).cloned()
    }

    /// Remembers how a query was answered.
    pub(super) fn note<T>(&self, query: &str, answer: &Result<T, Missing>) {
        match answer {
            Ok(_) => self.state().credentials = None,
            Err(missing @ (Missing::Unauthorized | Missing::Forbidden)) => self.state().refuse(missing),
            Err(missing @ Missing::Refused { kind, .. }) if kind == "bad_data" => {
                let mut state = self.state();
                let now = Instant::now();
                state.queries.retain(|_, (until, _)| now < *until);
                if state.queries.len() < QUERIES {
                    state.queries.insert(query.to_owned(), (now + REFUSED, missing.clone()));
                }
            }
            Err(_) => {}
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Queries that were under way together are refused together, and count once.
    fn refuse(&mut self, missing: &Missing) {
        let now = Instant::now();
        let wait = match &self.credentials {
            Some(refused) if now < refused.until => return,
            Some(refused) => LONGEST.min(refused.wait * 2),
            None => FIRST,
        };
        self.credentials = Some(Credentials { until: now + wait, wait, missing: missing.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: &str) -> Result<(), Missing> {
        Err(Missing::Refused { kind: kind.to_owned(), text: "parse error".to_owned() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_query_that_cannot_be_read_is_not_sent_again_for_five_minutes() {
        let refusals = Refusals::default();
        refusals.note("sum(", &refused("bad_data"));
        refusals.note("slow", &refused("timeout"));
        assert_eq!(refusals.of("sum("), refused("bad_data").err());
        assert_eq!((refusals.of("sum(up)"), refusals.of("slow")), (None, None));
        tokio::time::sleep(REFUSED).await;
        assert_eq!(refusals.of("sum("), None);
    }

    #[tokio::test(start_paused = true)]
    async fn refused_credentials_are_tried_ever_less_often_until_an_answer_comes() {
        let refusals = Refusals::default();
        for expected in [5, 10, 20, 40, 60, 60] {
            refusals.note("up", &Err::<(), _>(Missing::Forbidden));
            refusals.note("up", &Err::<(), _>(Missing::Forbidden));
            tokio::time::sleep(Duration::from_millis(expected * 1000 - 1)).await;
            assert_eq!(refusals.of("other"), Some(Missing::Forbidden), "after {expected} s");
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(refusals.of("other"), None, "after {expected} s");
        }
        refusals.note("vector(1)", &Ok(()));
        refusals.note("up", &Err::<(), _>(Missing::Unauthorized));
        tokio::time::sleep(FIRST).await;
        assert_eq!(refusals.of("up"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_bad_queries_is_not_remembered() {
        let refusals = Refusals::default();
        (0..10_000).for_each(|place| refusals.note(&format!("bad {place}"), &refused("bad_data")));
        assert_eq!(refusals.state().queries.len(), QUERIES);
    }
}
