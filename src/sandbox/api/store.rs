//! What is stored: objects, one rising revision over all of them, and every change that was ever made.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use jiff::Timestamp;
use serde_json::Value;

/// Where an object is. The order is the one of lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) group: String,
    pub(super) plural: String,
    /// Empty for what is in no namespace.
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Key {
    /// The key of a namespace.
    pub(super) fn of_namespace(name: &str) -> Self {
        Self { plural: "namespaces".to_owned(), name: name.to_owned(), ..Self::default() }
    }
}

/// Objects of one kind, in one namespace or in all.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) group: String,
    pub(super) plural: String,
    pub(super) namespace: Option<String>,
}

impl Range {
    pub(super) fn holds(&self, key: &Key) -> bool {
        self.group == key.group
            && self.plural == key.plural
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
    }

    fn first(&self) -> Key {
        Key {
            group: self.group.clone(),
            plural: self.plural.clone(),
            namespace: self.namespace.clone().unwrap_or_default(),
            name: String::new(),
        }
    }
}

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// The object was not there before.
    Create,
    /// The object changed.
    Update,
    /// The object is gone.
    Delete,
}

/// Who changed what through which door.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Author {
    /// The field manager, or else the first word of the user agent.
    pub manager: String,
    /// The version that the request spoke.
    pub version: String,
    /// `status`, or nothing.
    pub subresource: Option<String>,
}

/// One committed change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The resourceVersion that it made; it rises by one with every change.
    pub revision: u64,
    /// When, by the server's clock.
    pub at: Timestamp,
    /// What it did.
    pub verb: Verb,
    /// API group, empty for the core group.
    pub group: String,
    /// Plural name of the kind.
    pub plural: String,
    /// Empty for what is in no namespace.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Who made it, and how.
    pub author: Author,
    /// The object before; nothing for a creation.
    pub before: Option<Arc<Value>>,
    /// The object after; nothing for a deletion.
    pub after: Option<Arc<Value>>,
}

impl Change {
    pub(super) fn key(&self) -> Key {
        Key {
            group: self.group.clone(),
            plural: self.plural.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// Objects and their history.
#[derive(Debug, Default)]
pub(super) struct Store {
    revision: u64,
    compacted: u64,
    objects: BTreeMap<Key, Arc<Value>>,
    history: Vec<Arc<Change>>,
    /// The revision of the last change that the history does not hold any more, and so the number of these.
    forgotten: u64,
}

impl Store {
    pub(super) const fn revision(&self) -> u64 {
        self.revision
    }

    /// Reading at a revision below this one is refused.
    pub(super) const fn compacted(&self) -> u64 {
        self.compacted
    }

    pub(super) const fn compact(&mut self) {
        self.compacted = self.revision;
    }

    /// Drops the changes that were made before a time, and refuses to read at a revision before the last of them.
    pub(super) fn forget(&mut self, before: Timestamp) {
        let old = self.history.partition_point(|change| change.at < before);
        if let Some(last) = self.history.drain(..old).next_back() {
            self.forgotten = last.revision;
            self.compacted = self.compacted.max(last.revision);
        }
    }

    /// Some changes above a revision are forgotten.
    pub(super) const fn misses_changes_since(&self, revision: u64) -> bool {
        revision < self.forgotten
    }

    /// Every change but the first `seen` ones, as far as they are not forgotten.
    pub(super) fn history(&self, seen: usize) -> &[Arc<Change>] {
        let forgotten = usize::try_from(self.forgotten).unwrap_or(usize::MAX);
        self.history.get(seen.saturating_sub(forgotten)..).unwrap_or_default()
    }

    /// Changes above a revision.
    pub(super) fn since(&self, revision: u64) -> &[Arc<Change>] {
        let from = self.history.partition_point(|change| change.revision <= revision);
        &self.history[from..]
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn list(&self, range: &Range) -> Vec<(Key, Arc<Value>)> {
        let start = (Bound::Included(range.first()), Bound::Unbounded);
        let here = self.objects.range(start).take_while(|(key, _)| range.holds(key));
        here.map(|(key, object)| (key.clone(), object.clone())).collect()
    }

    /// What a list showed at an earlier revision.
    pub(super) fn list_at(&self, range: &Range, revision: u64) -> Vec<(Key, Arc<Value>)> {
        let mut objects: BTreeMap<Key, Arc<Value>> = self.list(range).into_iter().collect();
        for change in self.since(revision).iter().rev().filter(|change| range.holds(&change.key())) {
            match &change.before {
                Some(before) => objects.insert(change.key(), before.clone()),
                None => objects.remove(&change.key()),
            };
        }
        objects.into_iter().collect()
    }

    /// What is shown of an object that is gone: its last state, with the version of its end.
    fn last(&self, object: &Value) -> Arc<Value> {
        let mut last = object.clone();
        last["metadata"]["resourceVersion"] = self.revision.to_string().into();
        Arc::new(last)
    }

    /// Stores an object, or takes it away, and gives it as it is now (or was at last) with its new resourceVersion.
    pub(super) fn commit(&mut self, key: Key, object: Option<Value>, author: Author, at: Timestamp) -> Arc<Value> {
        self.revision += 1;
        let before = self.objects.get(&key).cloned();
        let after = object.map(|mut object| {
            object["metadata"]["resourceVersion"] = self.revision.to_string().into();
            Arc::new(object)
        });
        let verb = match (&before, &after) {
            (None, _) => Verb::Create,
            (Some(_), Some(_)) => Verb::Update,
            (Some(_), None) => Verb::Delete,
        };
        match &after {
            Some(after) => self.objects.insert(key.clone(), after.clone()),
            None => self.objects.remove(&key),
        };
        let now = after.clone().or_else(|| before.as_deref().map(|last| self.last(last))).unwrap_or_default();

        let Key { group, plural, namespace, name } = key;
        let uid = super::json::text(&now, "/metadata/uid").to_owned();
        let revision = self.revision;
        let change = Change { revision, at, verb, group, plural, namespace, name, uid, author, before, after };
        self.history.push(Arc::new(change));
        now
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(name: &str) -> Key {
        let text = str::to_owned;
        Key { group: text("g"), plural: text("things"), namespace: text("n"), name: text(name) }
    }

    #[test]
    fn the_past_can_be_listed() {
        let mut store = Store::default();
        let mut write = |name: &str, object: Option<Value>| {
            store.commit(key(name), object, Author::default(), Timestamp::UNIX_EPOCH);
        };
        write("a", Some(json!({"metadata": {}, "v": 1})));
        write("b", Some(json!({"metadata": {}, "v": 1})));
        write("a", Some(json!({"metadata": {}, "v": 2})));
        write("b", None);
        let range = Range { group: "g".to_owned(), plural: "things".to_owned(), namespace: None };
        let at = |revision| {
            let listed = store.list_at(&range, revision);
            listed.iter().map(|(key, object)| format!("{}{}", key.name, object["v"])).collect::<Vec<_>>().join(" ")
        };
        assert_eq!([at(1), at(2), at(3), at(4)], ["a1", "a1 b1", "a2 b1", "a2"]);
        assert_eq!(store.since(2).len(), 2);
    }

    #[test]
    fn what_is_forgotten_is_counted_and_nothing_else_is_lost() {
        let mut store = Store::default();
        for second in 1..=5 {
            let at = Timestamp::constant(second, 0);
            store.commit(key("a"), Some(json!({"metadata": {}})), Author::default(), at);
        }
        let seconds = |changes: &[Arc<Change>]| changes.iter().map(|change| change.at.as_second()).collect::<Vec<_>>();
        store.forget(Timestamp::constant(3, 0));
        assert_eq!((store.compacted(), seconds(store.history(0))), (2, vec![3, 4, 5]));
        assert_eq!(
            (seconds(store.history(1)), seconds(store.history(4)), store.history(9).len()),
            (vec![3, 4, 5], vec![5], 0)
        );
        assert_eq!((store.misses_changes_since(1), store.misses_changes_since(2)), (true, false));
        store.compact();
        store.forget(Timestamp::constant(4, 0));
        assert_eq!((store.compacted(), seconds(store.since(3))), (5, vec![4, 5]), "what is refused stays refused");
        assert!(store.get(&key("a")).is_some());
    }
}
