//! Everything that one server knows, and the requests that are about objects.

use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Clock, builtin, completion, events,
    json::text,
    kind::{Kind, Kinds, Version},
    meta::Dice,
    request::{Request, Target},
    status::Failure,
    store::{Author, Key, Range, Store},
};

/// Behind the lock of a server.
pub(super) struct State {
    pub(super) store: Store,
    pub(super) kinds: Kinds,
    pub(super) dice: Dice,
    clock: Clock,
}

/// A request about objects of one kind in one version.
pub(super) struct Call<'a> {
    pub(super) request: &'a Request,
    pub(super) target: &'a Target,
    pub(super) kind: &'a Kind,
    pub(super) version: &'a Version,
}

impl State {
    /// The kinds of the table and two namespaces.
    pub(super) fn new(clock: Clock, seed: u64) -> Self {
        let mut state = Self { store: Store::default(), kinds: Kinds::default(), dice: Dice::new(seed), clock };
        for kind in builtin::kinds() {
            state.kinds.add(kind);
        }
        for name in ["default", "kube-system"] {
            state.begin_namespace(name);
        }
        state
    }

    fn begin_namespace(&mut self, name: &str) {
        let at = self.now();
        let metadata = json!({"name": name, "uid": self.dice.uid(), "creationTimestamp": super::meta::time(at)});
        let mut namespace = json!({"metadata": metadata});
        completion::namespace(&mut namespace);
        let author = Author { manager: "sandbox".to_owned(), version: "v1".to_owned(), subresource: None };
        self.store.commit(Key::of_namespace(name), Some(namespace), author, at);
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Forgets a kind, and with it its objects.
    pub(super) fn forget_definition(&mut self, definition: &Value, author: &Author) {
        let (group, plural) = (text(definition, "/spec/group"), text(definition, "/spec/names/plural"));
        let range = Range { group: group.to_owned(), plural: plural.to_owned(), namespace: None };
        let at = self.now();
        for (key, _) in self.store.list(&range) {
            self.store.commit(key, None, author.clone(), at);
        }
        self.kinds.remove(group, plural);
    }
}

impl Call<'_> {
    /// The group under which objects are stored: events have two names.
    fn home(&self) -> String {
        if self.kind.group == builtin::EVENTS { String::new() } else { self.kind.group.clone() }
    }

    pub(super) fn range(&self) -> Range {
        Range { group: self.home(), plural: self.kind.plural.clone(), namespace: self.target.namespace.clone() }
    }

    pub(super) fn key(&self, name: &str) -> Key {
        let namespace = self.target.namespace.clone().unwrap_or_default();
        Key { group: self.home(), plural: self.kind.plural.clone(), namespace, name: name.to_owned() }
    }

    /// The name in the path.
    pub(super) fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    pub(super) fn is_status(&self) -> bool {
        self.target.subresource.is_some()
    }

    pub(super) fn api_version(&self) -> String {
        self.kind.api_version(self.version)
    }

    pub(super) fn author(&self) -> Author {
        Author {
            manager: self.request.manager(),
            version: self.version.name.clone(),
            subresource: self.target.subresource.clone(),
        }
    }

    /// A stored object in the version that was requested; itself, if that is the one that it was written in.
    pub(super) fn show(&self, stored: &Arc<Value>) -> Arc<Value> {
        let (api_version, kind) = (self.api_version(), self.kind.kind.as_str());
        let is_event = self.kind.group == builtin::EVENTS;
        if !is_event && text(stored, "/apiVersion") == api_version && text(stored, "/kind") == kind {
            return stored.clone();
        }
        let mut object = Value::clone(stored);
        if is_event {
            events::from_core(&mut object);
        }
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        Arc::new(object)
    }

    /// A list of objects: the real server leaves out what the items of typed lists are.
    pub(super) fn list(&self, metadata: Value, items: Vec<Arc<Value>>) -> Value {
        let mut items: Vec<Value> = items.into_iter().map(Arc::unwrap_or_clone).collect();
        for fields in items.iter_mut().filter_map(Value::as_object_mut).filter(|_| !self.kind.is_custom()) {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        let mut list = json!({"apiVersion": self.api_version(), "kind": self.kind.list});
        list["metadata"] = metadata;
        list["items"] = items.into();
        list
    }

    /// The object that the path names, in the version of the path.
    pub(super) fn load(&self, state: &State) -> Result<Arc<Value>, Failure> {
        let stored = state.store.get(&self.key(self.name()));
        stored.map(|stored| self.show(&stored)).ok_or_else(|| Failure::not_found(self.kind, self.name()))
    }
}

/// Finds what a path is about.
pub(super) fn resolve(kinds: &Kinds, request: &Request, target: &Target) -> Result<Arc<Kind>, Failure> {
    let known_group = kinds.iter().any(|kind| kind.group == target.group && !kind.is_custom());
    let kind = kinds.get(&target.group, &target.plural).filter(|kind| kind.version(&target.version).is_some());
    let Some(kind) = kind else {
        return Err(if known_group { Failure::no_resource() } else { Failure::NO_PATH });
    };
    let status = kind.version(&target.version).is_some_and(|version| version.status);
    // In all namespaces together objects can be listed, and no more.
    let everywhere = kind.namespaced && target.namespace.is_none();
    let lists = request.method == Method::GET || !kind.is_custom();
    let placed =
        if everywhere { target.name.is_none() && lists } else { kind.namespaced == target.namespace.is_some() };
    let door = target.subresource.as_deref().is_none_or(|door| door == "status" && status);
    if !placed || !door {
        let name = target.name.as_deref().unwrap_or_default();
        return Err(match kind.is_custom() && placed {
            true => Failure::not_found(&kind, name),
            false if kind.is_custom() => Failure::NO_PATH,
            false => Failure::no_resource(),
        });
    }
    allowed(&kind, request, target).map(|()| kind)
}

/// Whether this method is served at this path.
fn allowed(kind: &Kind, request: &Request, target: &Target) -> Result<(), Failure> {
    let named = target.name.is_some();
    if kind.is_custom() {
        return allowed_custom(kind, request, target);
    }
    let placed = !kind.namespaced || target.namespace.is_some();
    let allowed = match request.method {
        Method::GET => true,
        Method::POST => !named && placed,
        Method::PUT | Method::PATCH => named && placed,
        Method::DELETE => target.subresource.is_none() && placed,
        _ => false,
    };
    if allowed { Ok(()) } else { Err(Failure::method_not_allowed()) }
}

/// Custom resources have a handler of their own, with words of its own.
fn allowed_custom(kind: &Kind, request: &Request, target: &Target) -> Result<(), Failure> {
    let door = target.subresource.is_some();
    match request.method {
        Method::GET => Ok(()),
        Method::POST | Method::DELETE if !door => Ok(()),
        Method::PUT | Method::PATCH if target.name.is_some() => Ok(()),
        Method::PUT | Method::PATCH => Err(Failure::bad_request("name must be provided")),
        Method::POST => Err(Failure::verb_not_supported(kind, "create")),
        Method::DELETE => Err(Failure::verb_not_supported(kind, "delete")),
        _ => Err(Failure::method_not_allowed()),
    }
}
