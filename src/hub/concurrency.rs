//! How many calls to one place, or of one namespace, are under way at a time: what hangs holds few connections, whatever the
//! number of rollouts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::Semaphore;

/// A limit for each key that is in use.
pub(super) struct ConcurrencyLimits<K> {
    at_a_time: usize,
    in_use: Mutex<BTreeMap<K, Weak<Semaphore>>>,
}

impl<K: Ord + Clone> ConcurrencyLimits<K> {
    /// So many calls of one key at a time.
    pub(super) fn new(at_a_time: usize) -> Self {
        Self { at_a_time, in_use: Mutex::default() }
    }

    /// The places of this key. Nobody closes them.
    pub(super) fn of(&self, key: &K) -> Arc<Semaphore> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = in_use.get(key).and_then(Weak::upgrade) {
            return known;
        }
        in_use.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(self.at_a_time));
        in_use.insert(key.clone(), Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_places_and_what_is_not_in_use_is_forgotten() {
        let limits = ConcurrencyLimits::new(2);
        let (chat, pager) = (limits.of(&"chat"), limits.of(&"pager"));
        let held = [chat.try_acquire().unwrap(), chat.try_acquire().unwrap()];
        assert!(limits.of(&"chat").try_acquire().is_err());
        assert!(pager.try_acquire().is_ok());
        drop(held);
        assert!(limits.of(&"chat").try_acquire().is_ok());
        drop((chat, pager));
        limits.of(&"mail");
        assert_eq!(limits.in_use.lock().unwrap().len(), 1);
    }
}
