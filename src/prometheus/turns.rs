//! Whose query is sent next: nobody's slow queries starve others at the same member.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Queries of rollouts that are under way at one member at a time.
const AT_ONCE: usize = 8;
/// Queries of one namespace that are under way or in the line for that; a small Prometheus serves four well.
const OF_A_NAMESPACE: usize = 4;

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
    _places: [Option<OwnedSemaphorePermit>; 2],
}

impl Default for Turns {
    fn default() -> Self {
        Self { member: Arc::new(Semaphore::new(AT_ONCE)), namespaces: Mutex::default() }
    }
}

impl Turns {
    /// Waits for a turn of a namespace.
    pub(super) async fn wait(&self, namespace: &str) -> Turn {
        // Nobody closes the semaphores, so there is always a place to wait for.
        let own = self.of(namespace).acquire_owned().await.ok();
        Turn { _places: [own, Arc::clone(&self.member).acquire_owned().await.ok()] }
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
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn take(turns: &Turns, namespace: &str, most: usize) -> Vec<Turn> {
        let mut taken = Vec::new();
        while taken.len() < most {
            let Ok(turn) = timeout(Duration::from_secs(1), turns.wait(namespace)).await else { break };
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
        turns.wait("shop").await;
        assert!(began.elapsed() <= Duration::from_secs(5), "{:?}", began.elapsed());
        for flood in floods {
            flood.abort();
        }
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
