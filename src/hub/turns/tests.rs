use proptest::{
    collection::vec,
    prelude::{any, prop_assert_eq, proptest},
    sample::{Index, select},
};
use tokio::time::timeout;

use super::*;

/// Takes turns until one is not free.
fn take_all(turns: &Arc<Turns>, namespace: &str, urgency: Urgency) -> Vec<Turn> {
    std::iter::from_fn(|| turns.ask(None, namespace, urgency, &Arc::default()).ok()).collect()
}

fn turns() -> Arc<Turns> {
    Turns::new(Metrics::default())
}

struct Waiter {
    place: Option<Place>,
    wake: Arc<Notify>,
    namespace: &'static str,
    urgency: Urgency,
}

impl Waiter {
    fn of(turns: &Arc<Turns>, namespace: &'static str, urgency: Urgency) -> Self {
        let wake = Arc::default();
        let place = turns.ask(None, namespace, urgency, &wake).err();
        assert!(place.is_some(), "there was a free turn");
        Self { place, wake, namespace, urgency }
    }

    async fn is_called(&self) -> bool {
        timeout(Duration::ZERO, self.wake.notified()).await.is_ok()
    }

    fn take(&mut self, turns: &Arc<Turns>) -> Option<Turn> {
        turns.ask(self.place.take(), self.namespace, self.urgency, &self.wake).ok()
    }
}

#[tokio::test(start_paused = true)]
async fn there_are_eight_turns_at_first_and_a_few_more_for_rollbacks() {
    let turns = turns();
    let mut taken = take_all(&turns, "shop", Urgency::Advance);
    assert_eq!(taken.len(), 8);
    assert!(turns.ask(None, "shop", Urgency::Ordinary, &Arc::default()).is_err());
    taken.extend(take_all(&turns, "shop", Urgency::Rollback));
    assert_eq!(taken.len(), 8 + FOR_ROLLBACKS);
    drop(taken);
    assert_eq!(take_all(&turns, "shop", Urgency::Check).len(), 8);
}

#[tokio::test(start_paused = true)]
async fn the_most_urgent_goes_first_and_among_equals_the_namespace_with_the_fewest_turns() {
    let turns = turns();
    let mut taken = take_all(&turns, "busy", Urgency::Rollback);
    let waiting = [
        ("busy", Urgency::Advance),
        ("busy", Urgency::Ordinary),
        ("shop", Urgency::Ordinary),
        ("busy", Urgency::Rollback),
        ("shop", Urgency::Rollback),
    ]
    .map(|(namespace, urgency)| Waiter::of(&turns, namespace, urgency));
    let mut order = Vec::new();
    while order.len() < waiting.len() {
        drop(taken.pop());
        for (place, waiter) in waiting.iter().enumerate() {
            if waiter.is_called().await {
                order.push(place);
            }
        }
    }
    assert_eq!(order, [4, 3, 2, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_place_in_the_line_is_kept_while_what_is_waited_for_becomes_more_urgent() {
    let turns = turns();
    let mut taken = take_all(&turns, "shop", Urgency::Advance);
    let first = Waiter::of(&turns, "shop", Urgency::Ordinary);
    let mut second = Waiter::of(&turns, "shop", Urgency::Advance);
    taken.extend(take_all(&turns, "shop", Urgency::Rollback));
    second.urgency = Urgency::Rollback;
    let place = turns.ask(second.place.take(), "shop", Urgency::Rollback, &second.wake);
    second.place = place.err();
    drop(taken.pop());
    assert!(second.is_called().await && !first.is_called().await);
    assert!(second.take(&turns).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_came_and_was_not_taken_goes_to_the_next_one() {
    let turns = turns();
    let mut taken = take_all(&turns, "shop", Urgency::Advance);
    let waiters = [(); 2].map(|()| Waiter::of(&turns, "shop", Urgency::Advance));
    drop(taken.pop());
    let [first, second] = waiters;
    assert!(first.is_called().await && !second.is_called().await);
    drop(first);
    assert!(second.is_called().await);
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_obeyed_and_rollbacks_are_tried_after_a_second() {
    let turns = turns();
    turns.pause(Duration::from_secs(5));
    let (advance, rollback) =
        (Waiter::of(&turns, "shop", Urgency::Advance), Waiter::of(&turns, "shop", Urgency::Rollback));
    let began = Instant::now();
    rollback.wake.notified().await;
    assert_eq!(began.elapsed().as_secs(), 1);
    advance.wake.notified().await;
    assert_eq!(began.elapsed().as_secs(), 5);
    turns.pause(Duration::from_hours(1));
    turns.wait("shop", Urgency::Ordinary).await;
    assert_eq!(began.elapsed().as_secs(), 35, "no longer than that");
}

#[tokio::test(start_paused = true)]
async fn the_metric_says_how_many_turns_there_are_from_the_beginning() {
    let metrics = Metrics::default();
    let turns = Turns::new(metrics.clone());
    let shown = |most: usize| metrics.text(None).contains(&format!("\ncutover_api_calls_limit {most}\n"));
    assert!(shown(8), "{}", metrics.text(None));
    turns.heard(Load::Overloaded);
    assert!(shown(4), "{}", metrics.text(None));
}

#[tokio::test(start_paused = true)]
async fn fewer_turns_are_given_while_the_api_server_is_overloaded() {
    let turns = turns();
    assert_eq!(turns.since_overload(), None);
    let taken = take_all(&turns, "shop", Urgency::Advance);
    turns.heard(Load::Overloaded);
    drop(taken);
    assert_eq!(take_all(&turns, "shop", Urgency::Advance).len(), 4);
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(turns.since_overload().map(|time| time.as_secs()), Some(3));
}

const URGENCIES: [Urgency; 4] = [Urgency::Rollback, Urgency::Ordinary, Urgency::Advance, Urgency::Check];

proptest! {
    /// Whoever comes and goes: the one that is called is the least of all that wait.
    #[test]
    fn the_queue_finds_whom_a_look_at_each_of_them_would_find(
        steps in vec((select(&URGENCIES[..]), select(&["a", "b", "c"][..]), 0..5_usize, any::<Option<Index>>()), 1..60)
    ) {
        let (mut queue, mut waiting, mut turns) = (Queue::default(), BTreeMap::new(), BTreeMap::new());
        for ((urgency, namespace, taken, leaves), number) in steps.into_iter().zip(0..) {
            queue.add(urgency, namespace, number);
            waiting.insert(number, (urgency, namespace));
            turns.insert(namespace.to_owned(), taken);
            if let Some(index) = leaves {
                let number = *index.get(&waiting.keys().copied().collect::<Vec<_>>());
                let (urgency, namespace) = waiting.remove(&number).unwrap();
                queue.remove(urgency, namespace, number);
            }
            let taken = |namespace: &str| turns.get(namespace).copied().unwrap_or(0);
            let least = waiting.iter().map(|(number, (urgency, namespace))| (*urgency, taken(namespace), *number)).min();
            prop_assert_eq!(queue.urgency(), least.map(|(urgency, ..)| urgency));
            prop_assert_eq!(queue.first(&turns), least.map(|(.., number)| number));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_line_in_which_nobody_waits_is_empty() {
    let turns = turns();
    let taken = take_all(&turns, "shop", Urgency::Ordinary);
    let mut waiter = Waiter::of(&turns, "shop", Urgency::Check);
    waiter.urgency = Urgency::Rollback;
    let taken_again = waiter.take(&turns);
    drop((taken, waiter, taken_again));
    let line = turns.lock();
    assert_eq!((line.taken, line.taken_by.len(), line.places.len(), line.waiting.urgency()), (0, 0, 0, None));
}
