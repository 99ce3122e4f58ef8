//! The data plane: takes what is written of a route a moment later, says so, and splits traffic by it.

use std::{collections::BTreeMap, sync::Arc};

use cutover::sandbox::api::Change;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    objects::ROUTES,
    rollout::weights_of,
    stored::{Key, Stored},
    world::World,
};

/// From a write to its taking, at least; it is taken at the first moment after that.
const DELAY: SignedDuration = SignedDuration::from_millis(400);

#[derive(Default)]
pub struct DataPlane {
    /// Routes of which a generation is not taken yet.
    due: BTreeMap<Key, Timestamp>,
}

impl DataPlane {
    pub fn see(&mut self, change: &Change) {
        let generation = |object: &Option<Arc<Value>>| object.as_deref().map(generation);
        if change.plural == "httproutes" && generation(&change.before) != generation(&change.after) {
            self.due.insert((change.namespace.clone(), change.name.clone()), change.at + DELAY);
        }
    }

    /// Something is written that is not taken yet.
    pub fn is_behind(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes what is due.
    pub fn step(&mut self, world: &World, stored: &Stored) {
        let now = world.now();
        let taken: Vec<Key> = self.due.extract_if(.., |_, due| *due <= now).map(|(key, _)| key).collect();
        for key in taken {
            if let Some(route) = stored.routes.get(&key) {
                take(world, &key, route);
            }
        }
    }
}

fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "weights sum to a hundred")]
fn take(world: &World, (namespace, name): &Key, route: &Value) {
    let weights = weights_of(route);
    let total = weights.values().sum::<u64>() as f64;
    let shares = weights.into_iter().map(|(member, weight)| (member, weight as f64 / total)).collect();
    world.members().shares.insert(name.clone(), shares);
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": kind, "message": "", "observedGeneration": generation(route),
               "lastTransitionTime": "2026-11-21T12:00:00Z"})
    };
    let conditions = json!([condition("Accepted"), condition("ResolvedRefs")]);
    let parent =
        json!({"parentRef": {"name": "public"}, "controllerName": "example.com/gateway", "conditions": conditions});
    let path = format!("{ROUTES}/{namespace}/httproutes/{name}/status");
    world.call(Method::PATCH, &path, Some(&json!({"status": {"parents": [parent]}})));
}
