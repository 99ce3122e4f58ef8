//! Merge patches and JSON patches, and as much of strategic merge patches as `kubectl` sends.

use serde_json::{Map, Value};

use super::{schema::below, state::Call, status::Failure};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A patch, read.
#[derive(Debug)]
pub(super) enum Patch {
    Json(json_patch::Patch),
    Merge(Value),
    Strategic(Value),
}

/// Reads the body. Server-side apply is refused: it has no structured merge here.
pub(super) fn parse(call: &Call<'_>) -> Result<Patch, Failure> {
    let body = &call.request.body;
    let unreadable = |error: serde_json::Error| Failure::bad_request(&format!("error decoding patch: {error}"));
    match call.request.content_type.as_str() {
        JSON => serde_json::from_slice(body).map(Patch::Json).map_err(unreadable),
        MERGE => {
            let patch: Value = serde_json::from_slice(body).map_err(unreadable)?;
            let words =
                "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}";
            if patch.is_array() { Err(Failure::bad_request(words)) } else { Ok(Patch::Merge(patch)) }
        }
        STRATEGIC if !call.kind.is_custom() => serde_json::from_slice(body).map(Patch::Strategic).map_err(unreadable),
        _ if call.kind.is_custom() => Err(Failure::unsupported(&[JSON, MERGE, APPLY])),
        _ => Err(Failure::unsupported(&[JSON, MERGE, STRATEGIC, APPLY])),
    }
}

/// The object as the patch makes it.
pub(super) fn apply(patch: &Patch, old: &Value, schema: &Value) -> Result<Value, Failure> {
    let mut object = old.clone();
    match patch {
        Patch::Json(patch) => json_patch::patch(&mut object, patch).map_err(|_| Failure::misfit())?,
        Patch::Merge(patch) => json_patch::merge(&mut object, patch),
        Patch::Strategic(patch) => strategic(schema, &mut object, patch),
    }
    if object.is_object() { Ok(object) } else { Err(Failure::misfit()) }
}

/// A merge that goes into keyed lists as well. Directives are obeyed where `kubectl apply` writes them.
fn strategic(schema: &Value, object: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    if patch["$patch"] == "replace" {
        *object = without_directives(changes);
        return;
    }
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let Some(fields) = object.as_object_mut() else { return };
    for (key, change) in changes.iter().filter(|(key, _)| !key.starts_with('$')) {
        let schema = below(schema, key).cloned().unwrap_or_default();
        match change {
            Value::Null => {
                fields.remove(key);
            }
            Value::Array(items) if schema["x-kubernetes-list-type"] == "map" => {
                let order = &patch[format!("$setElementOrder/{key}")];
                merge_list(&schema, fields.entry(key).or_insert_with(|| Value::Array(Vec::new())), items, order);
            }
            Value::Array(items) if schema["x-kubernetes-list-type"] == "set" => {
                add_to_set(fields.entry(key).or_insert_with(|| Value::Array(Vec::new())), items);
            }
            Value::Object(_) => strategic(&schema, fields.entry(key).or_insert(Value::Null), change),
            other => {
                fields.insert(key.clone(), other.clone());
            }
        }
    }
    delete_from_sets(fields, changes);
}

fn without_directives(fields: &Map<String, Value>) -> Value {
    Value::Object(fields.iter().filter(|(key, _)| !key.starts_with('$')).map(|(k, v)| (k.clone(), v.clone())).collect())
}

/// Entries are the same by the first of their keys; new ones come first, if the patch gives no order.
fn merge_list(schema: &Value, list: &mut Value, changes: &[Value], order: &Value) {
    let key = schema["x-kubernetes-list-map-keys"][0].as_str().unwrap_or_default();
    let Some(items) = list.as_array_mut() else { return };
    for change in changes.iter().rev() {
        let found = items.iter().position(|item| item[key] == change[key]);

        match (found, change["$patch"] == "delete") {
            (Some(found), true) => {
                items.remove(found);
            }
            (Some(found), false) => strategic(&schema["items"], &mut items[found], change),
            (None, true) => {}
            (None, false) => items.insert(0, change.clone()),
        }
    }
    if let Some(order) = order.as_array() {
        items.sort_by_key(|item| order.iter().position(|placed| placed[key] == item[key]));
    }
}

fn add_to_set(list: &mut Value, items: &[Value]) {
    let Some(set) = list.as_array_mut() else { return };
    for item in items {
        if !set.contains(item) {
            set.push(item.clone());
        }
    }
}

fn delete_from_sets(fields: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (key, gone) in changes {
        let Some(key) = key.strip_prefix("$deleteFromPrimitiveList/") else { continue };
        if let (Some(set), Some(gone)) = (fields.get_mut(key).and_then(Value::as_array_mut), gone.as_array()) {
            set.retain(|item| !gone.contains(item));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_strategic_merge_goes_into_keyed_lists() {
        let ports = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"]});
        let schema = json!({"properties": {"ports": ports}});
        let mut object = json!({"a": 1, "b": {"c": 1}, "ports": [{"port": 80, "name": "x"}, {"port": 81}]});
        let patch = json!({
            "a": null, "b": {"d": 2},
            "ports": [{"port": 80, "name": "y"}, {"port": 81, "$patch": "delete"}, {"port": 82}],
            "$setElementOrder/ports": [{"port": 80}, {"port": 82}]
        });
        strategic(&schema, &mut object, &patch);
        assert_eq!(object, json!({"b": {"c": 1, "d": 2}, "ports": [{"port": 80, "name": "y"}, {"port": 82}]}));
    }
}
