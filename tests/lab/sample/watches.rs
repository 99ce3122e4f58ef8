//! The watches of one plan on a real API server, and the moment at which all of them have delivered what was written.
//!
//! A real server tells a watch a moment after it answered the writer. The plan's time stands still for that moment, so
//! that what a hub sees, and when, does not depend on how busy the machine is.

use std::{
    collections::BTreeMap,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use serde_json::Value;

/// A server that does not tell within this time is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// An event that a watch of the plan's own delivered.
#[derive(Clone)]
pub struct News {
    pub plural: String,
    pub gone: bool,
    pub object: Value,
}

impl News {
    pub fn revision(&self) -> u64 {
        revision(&self.object)
    }

    pub fn is_about(&self, plural: &str, object: &Value) -> bool {
        self.plural == plural && self.object["metadata"]["uid"] == object["metadata"]["uid"]
    }
}

pub fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// What a watch chose.
#[derive(Clone)]
pub struct Choice {
    pub plural: String,
    pub namespace: Option<String>,
    /// It delivers what came after this revision.
    pub since: u64,
}

#[derive(Default)]
struct State {
    next: usize,
    open: BTreeMap<usize, (Choice, u64)>,
    /// Kind, namespace and revision of every write.
    written: Vec<(String, String, u64)>,
    news: Vec<News>,
}

impl State {
    fn all_delivered(&self) -> bool {
        self.open.values().all(|(choice, seen)| {
            self.written.iter().all(|(plural, namespace, revision)| {
                *revision <= *seen
                    || *revision <= choice.since
                    || *plural != choice.plural
                    || choice.namespace.as_ref().is_some_and(|chosen| chosen != namespace)
            })
        })
    }
}

#[derive(Default)]
pub struct Watches {
    state: Mutex<State>,
    progress: Condvar,
}

impl Watches {
    pub fn open(&self, choice: Choice) -> usize {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.next += 1;
        let id = state.next;
        state.open.insert(id, (choice, 0));
        id
    }

    pub fn close(&self, id: usize) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&id);
        self.progress.notify_all();
    }

    /// A watch delivered this revision; `news` for the plan's own watches.
    pub fn tell(&self, id: usize, revision: u64, news: Option<News>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, seen)) = state.open.get_mut(&id) {
            *seen = (*seen).max(revision);
        }
        state.news.extend(news);
        drop(state);
        self.progress.notify_all();
    }

    /// Waits for the news that `wanted` knows, and then until every watch delivered it.
    pub fn written(&self, what: &str, wanted: impl Fn(&News) -> bool) -> Vec<News> {
        let mut state = self.wait(what, |state| state.news.iter().any(&wanted));
        let news = std::mem::take(&mut state.news);
        for one in &news {
            let namespace = one.object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
            state.written.push((one.plural.clone(), namespace, one.revision()));
        }
        drop(state);
        self.all_delivered(what);
        news
    }

    /// Waits until every watch delivered every write that it chose.
    pub fn all_delivered(&self, what: &str) {
        drop(self.wait(what, State::all_delivered));
    }

    /// News that nobody waited for.
    pub fn unclaimed(&self) -> Vec<News> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).news)
    }

    fn wait(&self, what: &str, until: impl Fn(&State) -> bool) -> std::sync::MutexGuard<'_, State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.progress.wait_timeout_while(state, PATIENCE, |state| !until(state));
        let (state, late) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(!late.timed_out(), "the API server did not tell of {what} within {PATIENCE:?}");
        state
    }
}
