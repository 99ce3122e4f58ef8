//! I6, I14: the hub changes only what is its own, and tells no secret.

use std::sync::Arc;

use cutover::sandbox::api::Change;
use serde_json::Value;

use super::{
    super::{
        plan::{Fault, sorts::Tenant},
        routes::{Form, is_made},
        scenario::{SECRET, tenant::THEIRS},
        world::World,
    },
    Judge,
};

impl Judge {
    /// I6: nothing but the hub's own kinds, and of them only its own fields.
    pub(super) fn owned(&mut self, change: &Change) {
        let own = match change.plural.as_str() {
            "events" | "memberclusters" | "rolloutrequests" => true,
            "fleetrollouts" => {
                let [before, after] =
                    [&change.before, &change.after].map(|object| object.as_ref().map(|object| &object["spec"]));
                after.is_none() || before == after
            }
            "services" => change.namespace == "shop" && is_made(&change.name),
            plural if plural == self.form.plural() => change.namespace == "shop" && self.owns(change),
            _ => false,
        };
        if !own {
            let spec = |object: &Option<Arc<Value>>| object.as_ref().map(|object| object["spec"].to_string());
            self.broken.push(format!(
                "I6: the hub changed what is not its own: {}/{}: {:?} became {:?}",
                change.plural,
                change.name,
                spec(&change.before),
                spec(&change.after)
            ));
        }
    }

    /// It makes and removes the objects that it makes for a route; of what a user wrote only its own fields change.
    fn owns(&self, change: &Change) -> bool {
        let route = self.form.route_of(&change.name);
        let masked = |object: &Option<Arc<Value>>| object.as_deref().map(|object| masked(self.form, object));
        self.wanted.contains_key(route) && (route != change.name || masked(&change.before) == masked(&change.after))
    }

    /// P26: in the other tenant's namespace the hub changes what is that tenant's.
    pub(super) fn see_tenant(&mut self, world: &World, change: &Change) {
        let is_theirs = change.name.starts_with(THEIRS[0]);
        if !is_theirs {
            let Change { verb, plural, name, .. } = change;
            self.broken.push(format!("I6: {verb:?} of {plural}/{name}, which is nobody's"));
        }
        if is_theirs && change.plural == self.form.plural() && world.plan.fault == Fault::Tenant(Tenant::Busy) {
            world.faults().strike();
        }
        self.no_leak(change);
    }

    /// I14: a secret leaves its Secret.
    pub(super) fn no_leak(&mut self, change: &Change) {
        if change.after.as_ref().is_some_and(|after| tells(after, SECRET)) {
            self.broken.push(format!("I14: {}/{} shows a secret", change.plural, change.name));
        }
    }
}

/// A status or an event contains the text.
pub(super) fn says(change: &Change, text: &str) -> bool {
    let after = change.after.as_deref().unwrap_or(&Value::Null);
    tells(&after["status"], text) || tells(&after["note"], text)
}

/// The text is somewhere in it.
fn tells(value: &Value, text: &str) -> bool {
    match value {
        Value::String(said) => said.contains(text),
        Value::Array(items) => items.iter().any(|item| tells(item, text)),
        Value::Object(fields) => fields.iter().any(|(key, field)| key.contains(text) || tells(field, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A route's object without what the hub may change.
fn masked(form: &dyn Form, object: &Value) -> Value {
    let mut object = object.clone();
    form.mask(&mut object);
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.retain(|key, _| !key.starts_with("cutover.dev/"));
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| !["managedFields", "resourceVersion", "generation"].contains(&key.as_str()));
    }
    object
}
