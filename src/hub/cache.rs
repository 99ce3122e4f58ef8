//! Objects of one kind as the watch shows them, and as the hub's own writes left them.
//!
//! Guarantee: what a write of this process answered is what the next look returns, or something newer; never something older.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use kube::{Resource, ResourceExt, runtime::watcher::Event};
use tokio::sync::watch;

/// An object's place: namespace (empty for none) and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    /// The namespace.
    pub(super) namespace: String,
    /// The name.
    pub(super) name: String,
}

/// Whether a kind can be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Availability {
    /// Not all of it was listed yet.
    #[default]
    Pending,
    /// What the cache holds is what the API server had a moment ago.
    Synced,
    /// The API server does not know this kind.
    NotInstalled,
    /// The hub's role does not let it look.
    Forbidden,
}

impl Availability {
    /// All of it is known.
    pub(super) fn is_synced(&self) -> bool {
        *self == Self::Synced
    }
}

/// What an event changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing that was not known.
    Nothing,
    /// One object.
    One(Key),
    /// Perhaps all of them.
    All,
}

/// The objects of one kind.
pub(super) struct Cache<K> {
    state: RwLock<State<K>>,
    changed: watch::Sender<()>,
}

struct State<K> {
    objects: BTreeMap<Key, Arc<K>>,
    availability: Availability,
    /// What the list under way has shown so far, and what was written meanwhile.
    relisted: Option<BTreeSet<Key>>,
}

impl Key {
    /// The place of an object.
    pub(super) fn of<K: Resource>(object: &K) -> Self {
        Self { namespace: object.namespace().unwrap_or_default(), name: object.name_any() }
    }

    /// A name in a namespace.
    pub(super) fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl<K> Default for Cache<K> {
    fn default() -> Self {
        let state = State { objects: BTreeMap::new(), availability: Availability::default(), relisted: None };
        Self { state: RwLock::new(state), changed: watch::Sender::default() }
    }
}

impl<K: Resource> Cache<K> {
    /// Whether it can be looked at.
    pub(super) fn availability(&self) -> Availability {
        self.read().availability.clone()
    }

    /// Fires whenever the objects or the availability changed, by an own write as well.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// One object.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.read().objects.get(key).cloned()
    }

    /// All objects, by place.
    pub(super) fn all(&self) -> Vec<Arc<K>> {
        self.read().objects.values().cloned().collect()
    }

    /// The objects of one namespace, by name.
    pub(super) fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let first = Key::new(namespace, "");
        let state = self.read();
        let own = state.objects.range(first..).take_while(|(key, _)| key.namespace == namespace);
        own.map(|(_, object)| object.clone()).collect()
    }

    /// Takes what the watch says.
    pub(super) fn take(&self, event: Event<K>) -> Change {
        self.announced(self.write().take(event))
    }

    /// Takes what an own write answered.
    pub(super) fn wrote(&self, object: K) {
        self.announced(self.write().put(object));
    }

    /// Takes an object that was read, in the place of one that is still `partial`.
    pub(super) fn replace_if(&self, object: K, partial: impl Fn(&K) -> bool) {
        let key = Key::of(&object);
        let mut state = self.write();
        if state.objects.get(&key).is_none_or(|known| !partial(known)) {
            return;
        }
        state.objects.insert(key.clone(), Arc::new(object));
        drop(state);
        self.announced(Change::One(key));
    }

    /// Removes an object that an own call found missing, or deleted.
    pub(super) fn gone(&self, key: &Key) {
        let known = self.write().objects.remove(key);
        self.announced(known.map_or(Change::Nothing, |_| Change::One(key.clone())));
    }

    /// Drops all objects, because the kind cannot be listed at all.
    pub(super) fn unavailable(&self, why: Availability) -> Change {
        self.announced(self.write().unavailable(why))
    }

    fn announced(&self, change: Change) -> Change {
        if change != Change::Nothing {
            self.changed.send_replace(());
        }
        change
    }

    fn read(&self) -> RwLockReadGuard<'_, State<K>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State<K>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Resource> State<K> {
    fn take(&mut self, event: Event<K>) -> Change {
        match event {
            Event::Init => {
                self.relisted = Some(BTreeSet::new());
                Change::Nothing
            }
            Event::InitApply(object) => {
                self.put(object);
                Change::Nothing
            }
            Event::InitDone => {
                let listed = self.relisted.take().unwrap_or_default();
                self.objects.retain(|key, _| listed.contains(key));
                self.availability = Availability::Synced;
                Change::All
            }
            Event::Apply(object) => self.put(object),
            Event::Delete(object) => self.delete(&object),
        }
    }

    fn unavailable(&mut self, why: Availability) -> Change {
        if self.availability == why {
            return Change::Nothing;
        }
        self.objects.clear();
        self.availability = why;
        Change::All
    }

    fn put(&mut self, object: K) -> Change {
        let key = Key::of(&object);
        if let Some(relisted) = &mut self.relisted {
            relisted.insert(key.clone());
        }
        if self.objects.get(&key).is_some_and(|known| !is_newer(&object, known.as_ref())) {
            return Change::Nothing;
        }
        self.objects.insert(key.clone(), Arc::new(object));
        Change::One(key)
    }

    /// A deletion that is older than what an own write answered is about an earlier object of that name.
    fn delete(&mut self, object: &K) -> Change {
        let key = Key::of(object);
        if self.objects.get(&key).is_none_or(|known| is_newer(known.as_ref(), object)) {
            return Change::Nothing;
        }
        self.objects.remove(&key);
        Change::One(key)
    }
}

/// Resource versions of one kind are numbers that rise; where one is not, the later news counts.
fn is_newer<K: Resource>(object: &K, known: &K) -> bool {
    let version = |object: &K| object.resource_version().and_then(|version| version.parse::<u64>().ok());
    match (version(object), version(known)) {
        (Some(new), Some(old)) => new > old,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn object(name: &str, version: u64) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.namespace = Some("shop".to_owned());
        object.metadata.name = Some(name.to_owned());
        object.metadata.resource_version = Some(version.to_string());
        object
    }

    fn versions(cache: &Cache<ConfigMap>) -> Vec<String> {
        cache.in_namespace("shop").iter().filter_map(|object| object.resource_version()).collect()
    }

    fn listed(objects: Vec<ConfigMap>) -> Cache<ConfigMap> {
        let cache = Cache::default();
        relist(&cache, objects);
        cache
    }

    fn relist(cache: &Cache<ConfigMap>, objects: Vec<ConfigMap>) {
        cache.take(Event::Init);
        for object in objects {
            cache.take(Event::InitApply(object));
        }
        assert_eq!(cache.take(Event::InitDone), Change::All);
    }

    #[test]
    fn an_own_write_is_seen_at_once_and_its_echo_is_no_news() {
        let cache = listed(vec![object("a", 1)]);
        cache.wrote(object("a", 5));
        assert_eq!(versions(&cache), ["5"]);
        assert_eq!(cache.take(Event::Apply(object("a", 5))), Change::Nothing);
    }

    #[test]
    fn what_the_watch_still_had_from_before_an_own_write_is_not_taken() {
        let cache = listed(vec![object("a", 1)]);
        cache.wrote(object("a", 9));
        assert_eq!(cache.take(Event::Apply(object("a", 4))), Change::Nothing);
        assert_eq!(versions(&cache), ["9"]);
        assert_eq!(cache.take(Event::Apply(object("a", 10))), Change::One(Key::new("shop", "a")));
        assert_eq!(versions(&cache), ["10"], "10 is after 9, as numbers and not as texts");
    }

    #[test]
    fn a_deletion_from_before_an_own_write_does_not_delete() {
        let cache = listed(vec![object("a", 1)]);
        cache.wrote(object("a", 9));
        assert_eq!(cache.take(Event::Delete(object("a", 4))), Change::Nothing);
        assert_eq!(versions(&cache), ["9"]);
        cache.take(Event::Delete(object("a", 12)));
        assert!(versions(&cache).is_empty());
    }

    #[test]
    fn a_new_list_drops_what_is_gone_and_keeps_what_was_written_meanwhile() {
        let cache = listed(vec![object("a", 1), object("b", 2)]);
        cache.take(Event::Init);
        cache.take(Event::InitApply(object("b", 2)));
        cache.wrote(object("c", 7));
        cache.take(Event::InitDone);
        assert_eq!(versions(&cache), ["2", "7"]);
        relist(&cache, vec![]);
        assert!(versions(&cache).is_empty());
    }

    #[test]
    fn a_list_that_is_older_than_an_own_write_does_not_undo_it() {
        let cache = listed(vec![object("a", 1)]);
        cache.wrote(object("a", 9));
        relist(&cache, vec![object("a", 3)]);
        assert_eq!(versions(&cache), ["9"]);
    }

    #[test]
    fn a_kind_that_is_not_installed_holds_nothing_until_it_is_listed() {
        let cache = listed(vec![object("a", 1)]);
        assert_eq!(cache.unavailable(Availability::NotInstalled), Change::All);
        assert_eq!(cache.unavailable(Availability::NotInstalled), Change::Nothing);
        assert!(versions(&cache).is_empty());
        relist(&cache, vec![object("a", 2)]);
        assert_eq!(cache.availability(), Availability::Synced);
    }

    #[test]
    fn whoever_waits_for_changes_hears_of_own_writes_and_not_of_their_echoes() {
        let cache = listed(vec![object("a", 1)]);
        let mut changes = cache.changes();
        let mut heard = || {
            let news = changes.has_changed().unwrap();
            changes.mark_unchanged();
            news
        };
        assert!(!heard());
        cache.wrote(object("a", 5));
        assert!(heard());
        cache.take(Event::Apply(object("a", 5)));
        assert!(!heard());
        cache.gone(&Key::new("shop", "a"));
        assert!(heard());
    }

    #[test]
    fn a_namespace_is_looked_at_by_itself() {
        let mut other = object("a", 1);
        other.metadata.namespace = Some("shop-2".to_owned());
        let cache = listed(vec![object("z", 2), other]);
        assert_eq!(versions(&cache), ["2"]);
        assert_eq!(cache.all().len(), 2);
    }
}
