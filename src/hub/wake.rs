//! Wakes the tasks of rollouts when something that they look at has changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::cache::{Change, Key};

/// The tasks that can be woken. Many wakes before a task looks are one.
#[derive(Default)]
pub(super) struct Wakers(Mutex<BTreeMap<Key, Sleeper>>);

/// The task of one rollout.
#[derive(Default)]
struct Sleeper {
    wake: Arc<Notify>,
    /// The objects of its namespace that it looks at.
    named: BTreeSet<Named>,
    /// What is known of its declaration: uid and generation.
    declared: Option<(Option<String>, Option<i64>)>,
}

/// Kind and name of an object.
pub(super) type Named = (String, String);

impl Wakers {
    /// What wakes the task of one rollout.
    pub(super) fn of(&self, rollout: &Key) -> Arc<Notify> {
        self.lock().entry(rollout.clone()).or_default().wake.clone()
    }

    /// That rollout is gone.
    pub(super) fn forget(&self, rollout: &Key) {
        self.lock().remove(rollout);
    }

    /// From now on that rollout looks at these objects of its namespace.
    pub(super) fn looks_at(&self, rollout: &Key, named: BTreeSet<Named>) {
        if let Some(sleeper) = self.lock().get_mut(rollout) {
            sleeper.named = named;
        }
    }

    /// That rollout is declared so now. True if it was declared otherwise.
    pub(super) fn is_declared_anew(&self, rollout: &Key, uid: Option<String>, generation: Option<i64>) -> bool {
        let declared = Some((uid, generation));
        let mut tasks = self.lock();
        let sleeper = tasks.entry(rollout.clone()).or_default();
        std::mem::replace(&mut sleeper.declared, declared.clone()) != declared
    }

    /// Wakes every rollout that may look at what has changed: those of its namespace.
    pub(super) fn wake(&self, change: &Change) {
        match change {
            Change::Nothing => {}
            Change::One(key) => self.wake_namespace(&key.namespace),
            Change::All => self.wake_all(),
        }
    }

    /// Wakes every rollout that may look at an object of this kind that has changed: those that name it, and where nobody
    /// does all of its namespace, for rollouts find what they have left behind by its labels.
    pub(super) fn wake_for_object(&self, kind: &str, change: &Change) {
        let Change::One(key) = change else { return self.wake(change) };
        let named = (kind.to_owned(), key.name.clone());
        let tasks = self.lock();
        let those: Vec<_> = of_namespace(&tasks, &key.namespace).filter(|task| task.named.contains(&named)).collect();
        if those.is_empty() {
            of_namespace(&tasks, &key.namespace).for_each(|task| task.wake.notify_one());
        }
        for task in those {
            task.wake.notify_one();
        }
    }

    /// Wakes one rollout, if it has a task.
    pub(super) fn wake_one(&self, rollout: &Key) {
        if let Some(task) = self.lock().get(rollout) {
            task.wake.notify_one();
        }
    }

    /// Wakes every rollout.
    pub(super) fn wake_all(&self) {
        self.lock().values().for_each(|task| task.wake.notify_one());
    }

    fn wake_namespace(&self, namespace: &str) {
        of_namespace(&self.lock(), namespace).for_each(|task| task.wake.notify_one());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Sleeper>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of_namespace<'t>(tasks: &'t BTreeMap<Key, Sleeper>, namespace: &'t str) -> impl Iterator<Item = &'t Sleeper> {
    let own = tasks.range(Key::new(namespace, "")..).take_while(move |(key, _)| key.namespace == namespace);
    own.map(|(_, task)| task)
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

    #[tokio::test]
    async fn an_object_wakes_those_that_name_it_and_all_of_its_namespace_where_nobody_does() {
        let wakers = Wakers::default();
        let tasks = ROLLOUTS.map(|(namespace, name)| Key::new(namespace, name)).map(|key| (wakers.of(&key), key));
        let route = |name: &str| ("v1 HTTPRoute".to_owned(), name.to_owned());
        wakers.looks_at(&tasks[0].1, BTreeSet::from([route("public")]));
        wakers.looks_at(&tasks[2].1, BTreeSet::from([route("public")]));
        for (kind, name, expected) in [
            ("v1 HTTPRoute", "public", &["shop/one"][..]),
            ("v1 HTTPRoute", "intern", &["shop/one", "shop/two"]),
            ("v1 Service", "public", &["shop/one", "shop/two"]),
        ] {
            wakers.wake_for_object(kind, &Change::One(Key::new("shop", name)));
            let mut woken = Vec::new();
            for (task, key) in &tasks {
                if timeout(Duration::ZERO, task.notified()).await.is_ok() {
                    woken.push(key.to_string());
                }
            }
            assert_eq!(woken, expected, "{kind} {name}");
        }
    }

    #[test]
    fn a_declaration_is_new_once() {
        let (wakers, key) = (Wakers::default(), Key::new("shop", "one"));
        let declared = |uid: &str, generation| wakers.is_declared_anew(&key, Some(uid.to_owned()), Some(generation));
        let anew =
            [("a", 1), ("a", 1), ("a", 2), ("b", 2), ("b", 2)].map(|(uid, generation)| declared(uid, generation));
        assert_eq!(anew, [true, false, true, true, false]);
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
