//! Whose query is sent next: nobody's slow queries starve others at the same member.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::Missing;

/// Queries of rollouts that are under way at one member at a time.
const AT_ONCE: usize = 8;
/// Queries of one namespace that are under way or in the line for that; a small Prometheus serves four well.
const OF_A_NAMESPACE: usize = 4;
/// How long a query waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// The turns at one Prometheus. Whoever waits stands in the line of its namespace; of that, four at most are in the line
/// for the member. Both lines are first come first served, so two namespaces have the same share, however long their own
/// lines are.
#[derive(Debug)]
pub(super) struct Turns {
    member: Arc<Semaphore>,
    namespaces: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

/// The right to send one query, given back when it is dropped.
pub(super) struct Turn {
    _places: [OwnedSemaphorePermit; 2],
}

impl Default for Turns {
    fn default() -> Self {
        Self { member: Arc::new(Semaphore::new(AT_ONCE)), namespaces: Mutex::default() }
    }
}

impl Turns {
    /// Waits for a turn of a namespace.
    ///
    /// # Errors
    /// If there is none within ten seconds.
    pub(super) async fn wait(&self, namespace: &str) -> Result<Turn, Missing> {
        let own = self.of(namespace);
        let late = |_| Missing::Queued(PATIENCE);
        let turn = async { Ok([own.acquire_owned().await?, Arc::clone(&self.member).acquire_owned().await?]) };
        // Nobody closes the semaphores.
        let turn: Result<_, tokio::sync::AcquireError> = timeout(PATIENCE, turn).await.map_err(late)?;
        turn.map(|places| Turn { _places: places }).map_err(|_| Missing::Queued(Duration::ZERO))
    }

    /// The line of a namespace. Lines in which nobody stands are forgotten.
    fn of(&self, namespace: &str) -> Arc<Semaphore> {
        let mut namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        namespaces.retain(|name, line| name == namespace || Arc::strong_count(line) > 1);
        let line = namespaces.entry(namespace.to_owned());
        Arc::clone(line.or_insert_with(|| Arc::new(Semaphore::new(OF_A_NAMESPACE))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn take(turns: &Turns, namespace: &str, most: usize) -> Vec<Turn> {
        let mut taken = Vec::new();
        while taken.len() < most {
            let Ok(Ok(turn)) = timeout(Duration::from_secs(1), turns.wait(namespace)).await else { break };
            taken.push(turn);
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_has_four_turns_and_leaves_four_to_others() {
        let turns = Turns::default();
        let greedy = take(&turns, "greedy", 9).await;
        assert_eq!(greedy.len(), OF_A_NAMESPACE);
        assert_eq!(take(&turns, "shop", 9).await.len(), AT_ONCE - OF_A_NAMESPACE);
        drop(greedy);
        assert_eq!(turns.member.available_permits(), AT_ONCE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_line_of_one_namespace_delays_no_other() {
        let turns = Arc::new(Turns::default());
        let slow = |namespace: &'static str| {
            let turns = Arc::clone(&turns);
            async move {
                let _turn = turns.wait(namespace).await;
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        };
        let floods: Vec<_> = (0..200).flat_map(|_| [tokio::spawn(slow("a")), tokio::spawn(slow("b"))]).collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let began = tokio::time::Instant::now();
        assert!(turns.wait("shop").await.is_ok());
        assert!(began.elapsed() <= Duration::from_secs(5), "{:?}", began.elapsed());
        for flood in floods {
            flood.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_no_turn_within_ten_seconds_learns_why() {
        let turns = Turns::default();
        let _all = take(&turns, "shop", 9).await;
        let missing = turns.wait("shop").await.err().map(|missing| missing.to_string());
        let expected = "the query was not sent: others of this namespace were before it for 10 s";
        assert_eq!(missing.as_deref(), Some(expected));
    }

    #[tokio::test(start_paused = true)]
    async fn lines_in_which_nobody_stands_are_forgotten() {
        let turns = Turns::default();
        for place in 0..100 {
            drop(turns.wait(&format!("tenant-{place}")).await);
        }
        assert_eq!(turns.namespaces.lock().unwrap().len(), 1);
    }
}
