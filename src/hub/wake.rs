//! Wakes the tasks of rollouts when something that they look at has changed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::cache::{Change, Key};

/// The tasks that can be woken. Many wakes before a task looks are one.
#[derive(Default)]
pub(super) struct Wakers(Mutex<BTreeMap<Key, Arc<Notify>>>);

impl Wakers {
    /// What wakes the task of one rollout.
    pub(super) fn of(&self, rollout: &Key) -> Arc<Notify> {
        self.lock().entry(rollout.clone()).or_default().clone()
    }

    /// That rollout is gone.
    pub(super) fn forget(&self, rollout: &Key) {
        self.lock().remove(rollout);
    }

    /// Wakes every rollout that may look at what has changed: those of its namespace.
    pub(super) fn wake(&self, change: &Change) {
        match change {
            Change::Nothing => {}
            Change::One(key) => self.wake_namespace(&key.namespace),
            Change::All => self.wake_all(),
        }
    }

    /// Wakes every rollout.
    pub(super) fn wake_all(&self) {
        self.lock().values().for_each(|task| task.notify_one());
    }

    fn wake_namespace(&self, namespace: &str) {
        let tasks = self.lock();
        let own = tasks.range(Key::new(namespace, "")..).take_while(|(key, _)| key.namespace == namespace);
        own.for_each(|(_, task)| task.notify_one());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
