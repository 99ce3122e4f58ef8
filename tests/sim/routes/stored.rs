//! Routes as they are stored, put together from their objects.

use std::{collections::BTreeMap, sync::Arc};

use cutover::sandbox::api::Change;
use serde_json::Value;

use super::Form;

static MISSING: Value = Value::Null;

/// The objects of every route of one kind, as far as changes were seen.
pub struct Stored {
    form: &'static dyn Form,
    /// By namespace and name.
    objects: BTreeMap<(String, String), Arc<Value>>,
}

impl Stored {
    pub fn new(form: &'static dyn Form) -> Self {
        Self { form, objects: BTreeMap::new() }
    }

    /// The route that a change is about, if it is about one.
    pub fn see<'c>(&mut self, change: &'c Change) -> Option<&'c str> {
        if change.plural != self.form.plural() {
            return None;
        }
        let named = (change.namespace.clone(), change.name.clone());
        match &change.after {
            Some(after) => self.objects.insert(named, after.clone()),
            None => self.objects.remove(&named),
        };
        Some(self.form.route_of(&change.name))
    }

    /// Some object stops the data plane for all.
    pub fn is_frozen(&self) -> bool {
        self.objects.values().any(|object| self.form.freezes(object))
    }

    /// The objects of a route; none if the one that its user wrote is gone.
    pub fn of(&self, namespace: &str, route: &str) -> Option<Vec<&Value>> {
        let find = |name: String| self.objects.get(&(namespace.to_owned(), name)).map_or(&MISSING, Arc::as_ref);
        let objects: Vec<&Value> = self.form.names(route).into_iter().map(find).collect();
        objects.first().is_some_and(|first| first.is_object()).then_some(objects)
    }
}
