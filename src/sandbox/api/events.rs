//! Events have two names and one storage: that of the core group.

use serde_json::{Map, Value, json};

use super::json::ensure;

pub(super) fn event(event: &mut Value) {
    for (key, value) in [
        ("involvedObject", json!({})),
        ("source", json!({})),
        ("reportingComponent", json!("")),
        ("reportingInstance", json!("")),
    ] {
        ensure(event, key, &value);
    }
    for key in ["eventTime", "firstTimestamp", "lastTimestamp"] {
        ensure(event, key, &Value::Null);
    }
}

pub(super) fn new_event(event: &mut Value) {
    for (key, value) in [("regarding", json!({})), ("deprecatedSource", json!({}))] {
        ensure(event, key, &value);
    }
    for key in ["eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"] {
        ensure(event, key, &Value::Null);
    }
}

/// Fields of an event: as the core group names them, and as events.k8s.io does.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// An event of events.k8s.io, as it is stored.
pub(super) fn to_core(event: &mut Value) {
    rename(event, |core, new| (new, core));
    for key in ["reportingComponent", "reportingInstance"] {
        ensure(event, key, &json!(""));
    }
}

/// A stored event, as events.k8s.io shows it.
pub(super) fn from_core(event: &mut Value) {
    rename(event, |core, new| (core, new));
    if let Some(fields) = event.as_object_mut() {
        fields.retain(|key, value| {
            !(["reportingController", "reportingInstance"].contains(&key.as_str()) && value == "")
        });
    }
}

fn rename(event: &mut Value, way: impl Fn(&'static str, &'static str) -> (&'static str, &'static str)) {
    let Some(fields) = event.as_object_mut() else { return };
    let renamed: Map<String, Value> = EVENT_FIELDS
        .into_iter()
        .map(|(core, new)| way(core, new))
        .filter_map(|(from, to)| Some((to.to_owned(), fields.remove(from)?)))
        .collect();
    fields.extend(renamed);
}
