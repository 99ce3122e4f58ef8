//! Whose calls to the API server go next. An API server that is given more than it can do answers nobody in time, and
//! still does what nobody waits for any more; so the hub bounds what it has under way, and the most urgent goes first.
//!
//! No decision waits for a turn: a pass that gets none ends, and when its turn has come another pass decides on what is
//! known then.

mod limit;
mod queue;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::{rollout::Urgency, web::Metrics};
use limit::Limit;
pub(super) use limit::Load;
use limit::RECENT;
use queue::Queue;

/// Turns beyond the bound for rollbacks: they wait for nobody's call to end.
const FOR_ROLLBACKS: usize = 4;
/// The longest pause that an API server can ask for, and the longest before a rollback is tried again.
const PAUSE: Duration = Duration::from_secs(30);
const PAUSE_OF_ROLLBACKS: Duration = Duration::from_secs(1);

/// The turns at the API server.
pub(super) struct Turns {
    line: Mutex<Line>,
    metrics: Metrics,
}

/// Everybody who waits for a turn or has one.
#[derive(Default)]
struct Line {
    limit: Limit,
    /// By arrival.
    places: BTreeMap<u64, Entry>,
    waiting: Queue,
    next: u64,
    /// How many are taken, and of them how many by each namespace.
    taken: usize,
    taken_by: BTreeMap<String, usize>,
    paused: Option<Pause>,
}

struct Entry {
    namespace: String,
    state: State,
}

enum State {
    Waiting { urgency: Urgency, wake: Arc<Notify> },
    Taken,
}

/// Nothing is sent before these times.
#[derive(Clone, Copy)]
struct Pause {
    rollbacks: Instant,
    all: Instant,
}

/// A place in the line, with or without a turn by now. It is given up when it is dropped.
pub(super) struct Place {
    turns: Arc<Turns>,
    number: u64,
}

/// The right to call the API server, one call after the other. It is given back when it is dropped.
pub(super) struct Turn(Place);

impl Turns {
    pub(super) fn new(metrics: Metrics) -> Arc<Self> {
        let line = Line::default();
        metrics.set_turns(line.limit.most());
        Arc::new(Self { line: Mutex::new(line), metrics })
    }

    /// A turn if it has come, else a place in the line: that one, or a new one at its end. `wake` is notified when the turn
    /// has come; it must be requested again then.
    pub(super) fn ask(
        self: &Arc<Self>,
        place: Option<Place>,
        namespace: &str,
        urgency: Urgency,
        wake: &Arc<Notify>,
    ) -> Result<Turn, Place> {
        let mut line = self.lock();
        let number = place.as_ref().map_or_else(|| line.join(namespace), |place| place.number);
        let place = place.unwrap_or_else(|| Place { turns: Arc::clone(self), number });
        line.wait_for(number, urgency, wake);
        line.call_next(Some(number));
        if line.has_turn(number) { Ok(Turn(place)) } else { Err(place) }
    }

    /// Waits for a turn.
    pub(super) async fn wait(self: &Arc<Self>, namespace: &str, urgency: Urgency) -> Turn {
        let wake = Arc::new(Notify::new());
        let mut place = None;
        loop {
            match self.ask(place.take(), namespace, urgency, &wake) {
                Ok(turn) => return turn,
                Err(kept) => place = Some(kept),
            }
            wake.notified().await;
        }
    }

    /// Takes what a call said about the API server.
    pub(super) fn heard(&self, load: Load) {
        let mut line = self.lock();
        let under_way = line.taken;
        if line.limit.heard(load, under_way, Instant::now()) {
            let most = line.limit.most();
            tracing::warn!(most, "the API server is overloaded; the hub has fewer calls under way, rollbacks first");
        }
        self.metrics.set_turns(line.limit.most());
        line.call_next(None);
    }

    /// The API server wants to be left alone for so long.
    pub(super) fn pause(self: &Arc<Self>, time: Duration) {
        let now = Instant::now();
        let pause = Pause { rollbacks: now + time.min(PAUSE_OF_ROLLBACKS), all: now + time.min(PAUSE) };
        self.lock().pause_until(pause);
        let turns = Arc::downgrade(self);
        tokio::spawn(async move {
            for end in [pause.rollbacks, pause.all] {
                tokio::time::sleep_until(end).await;
                let Some(turns) = turns.upgrade() else { return };
                turns.lock().call_next(None);
            }
        });
    }

    /// A call ended.
    pub(super) fn count_call(&self, verb: &'static str, code: String) {
        self.metrics.count_call(verb, code);
    }

    /// How many wait for their turn.
    pub(super) fn waiting(&self) -> usize {
        let line = self.lock();
        line.places.len().saturating_sub(line.taken)
    }

    /// The API server was overloaded within the last minute.
    pub(super) fn are_scarce(&self) -> bool {
        self.since_overload().is_some_and(|time| time <= RECENT)
    }

    /// How long ago the API server was overloaded, if it ever was.
    pub(super) fn since_overload(&self) -> Option<Duration> {
        self.lock().limit.overloaded_at().map(|at| at.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The turn has come.
    pub(super) fn has_turn(&self) -> bool {
        self.turns.lock().has_turn(self.number)
    }
}

impl Turn {
    /// Keeps the turn for the next pass.
    pub(super) fn keep(self) -> Place {
        self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut line = self.turns.lock();
        line.leave(self.number);
        line.call_next(None);
    }
}

impl Line {
    fn join(&mut self, namespace: &str) -> u64 {
        self.next += 1;
        let urgency = Urgency::Check;
        let state = State::Waiting { urgency, wake: Arc::default() };
        self.waiting.add(urgency, namespace, self.next);
        self.places.insert(self.next, Entry { namespace: namespace.to_owned(), state });
        self.next
    }

    fn leave(&mut self, number: u64) {
        let Some(Entry { namespace, state }) = self.places.remove(&number) else { return };
        match state {
            State::Waiting { urgency, .. } => self.waiting.remove(urgency, &namespace, number),
            State::Taken => self.give_back(&namespace),
        }
    }

    fn give_back(&mut self, namespace: &str) {
        self.taken -= 1;
        let Some(taken) = self.taken_by.get_mut(namespace) else { return };
        *taken -= 1;
        if *taken == 0 {
            self.taken_by.remove(namespace);
        }
    }

    fn wait_for(&mut self, number: u64, now: Urgency, by: &Arc<Notify>) {
        let Some(Entry { namespace, state: State::Waiting { urgency, wake } }) = self.places.get_mut(&number) else {
            return;
        };
        *wake = Arc::clone(by);
        if *urgency != now {
            self.waiting.remove(*urgency, namespace, number);
            self.waiting.add(now, namespace, number);
            *urgency = now;
        }
    }

    fn has_turn(&self, number: u64) -> bool {
        self.places.get(&number).is_some_and(|entry| matches!(entry.state, State::Taken))
    }

    fn pause_until(&mut self, pause: Pause) {
        let longer = self.paused.filter(|known| known.all > pause.all);
        self.paused = longer.or(Some(pause));
    }

    /// Gives the free turns to those that wait. The one that asks just now need not be woken.
    fn call_next(&mut self, asking: Option<u64>) {
        while let Some(number) = self.first() {
            let Some(entry) = self.places.get_mut(&number) else { return };
            if let State::Waiting { urgency, wake } = std::mem::replace(&mut entry.state, State::Taken) {
                self.waiting.remove(urgency, &entry.namespace, number);
                *self.taken_by.entry(entry.namespace.clone()).or_default() += 1;
                self.taken += 1;
                if asking != Some(number) {
                    wake.notify_one();
                }
            }
        }
    }

    /// The one that is next, if there is a free turn for it.
    fn first(&self) -> Option<u64> {
        let urgency = self.waiting.urgency()?;
        if self.is_free(urgency) { self.waiting.first(&self.taken_by) } else { None }
    }

    fn is_free(&self, urgency: Urgency) -> bool {
        let (now, most) = (Instant::now(), self.limit.most());
        let (paused, most) = match urgency {
            Urgency::Rollback => (self.paused.map(|pause| pause.rollbacks), most + FOR_ROLLBACKS),
            Urgency::Ordinary | Urgency::Advance | Urgency::Check => (self.paused.map(|pause| pause.all), most),
        };
        self.taken < most && paused.is_none_or(|until| until <= now)
    }
}

#[cfg(test)]
mod tests;
