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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const ROLLOUTS: [(&str, &str); 4] = [("shop", "one"), ("shop", "two"), ("shop-2", "one"), ("billing", "one")];

    /// The rollouts that this change wakes.
    async fn woken_by(change: &Change) -> Vec<String> {
        let wakers = Wakers::default();
        let tasks = ROLLOUTS.map(|(namespace, name)| Key::new(namespace, name)).map(|key| (wakers.of(&key), key));
        wakers.wake(change);
        let mut woken = Vec::new();
        for (task, key) in tasks {
            if timeout(Duration::ZERO, task.notified()).await.is_ok() {
                woken.push(key.to_string());
            }
        }
        woken
    }

    #[tokio::test]
    async fn one_object_wakes_every_rollout_of_its_namespace_and_no_other() {
        assert_eq!(woken_by(&Change::Nothing).await, [""; 0]);
        assert_eq!(woken_by(&Change::One(Key::new("shop", "public"))).await, ["shop/one", "shop/two"]);
        assert_eq!(woken_by(&Change::One(Key::new("billing", "public"))).await, ["billing/one"]);
        assert_eq!(woken_by(&Change::All).await, ["shop/one", "shop/two", "shop-2/one", "billing/one"]);
    }

    #[test]
    fn a_rollout_has_one_waker_until_it_is_forgotten() {
        let (wakers, key) = (Wakers::default(), Key::new("shop", "one"));
        let first = wakers.of(&key);
        assert!(Arc::ptr_eq(&first, &wakers.of(&key)));
        wakers.forget(&key);
        assert!(!Arc::ptr_eq(&first, &wakers.of(&key)));
    }
}
