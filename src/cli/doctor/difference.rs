//! Where what the API server stores differs from what was applied. Pure.

use serde_json::{Map, Value};

/// What an API server adds to admission policies by itself.
const DEFAULTS: [(&str, &str); 2] = [("matchPolicy", "Equivalent"), ("scope", "*")];

/// The first place in which `found` is not what was applied, as a path; numbers that are equal are the same number, and an
/// empty value is the same as none.
pub(super) fn difference(applied: &Value, found: &Value, path: &str) -> Option<String> {
    match (applied, found) {
        (Value::Object(applied), Value::Object(found)) => of_fields(applied, found, path),
        (Value::Array(applied), Value::Array(found)) if applied.len() == found.len() => {
            let mut pairs = applied.iter().zip(found).enumerate();
            pairs.find_map(|(index, (applied, found))| difference(applied, found, &format!("{path}[{index}]")))
        }
        (Value::Number(applied), Value::Number(found)) => (applied.as_f64() != found.as_f64()).then(|| path.to_owned()),
        (applied, found) if applied == found || is_empty(applied) && is_empty(found) => None,
        _ => Some(path.to_owned()),
    }
}

fn of_fields(applied: &Map<String, Value>, found: &Map<String, Value>, path: &str) -> Option<String> {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let changed =
        applied.iter().find_map(|(key, value)| difference(value, found.get(key).unwrap_or(&Value::Null), &below(key)));
    let is_added = |(key, value): &(&String, &Value)| {
        let is_default = DEFAULTS.iter().any(|(name, default)| name == key && *value == default);
        !applied.contains_key(*key) && !is_empty(value) && !is_default
    };
    changed.or_else(|| found.iter().find(is_added).map(|(key, _)| below(key)))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::difference;

    #[test]
    fn what_the_api_server_writes_in_another_way_is_no_difference() {
        let applied = json!({"a": {"minimum": 1.0, "required": []}, "b": [1, "x"], "rules": [{"verbs": ["get"]}]});
        let stored = json!({"a": {"minimum": 1}, "b": [1, "x"], "rules": [{"verbs": ["get"], "scope": "*"}],
            "matchPolicy": "Equivalent", "selector": {}});
        assert_eq!(difference(&applied, &stored, ""), None);
    }

    #[test]
    fn the_first_place_that_differs_is_named() {
        let applied = json!({"a": {"b": [{"c": 1}]}});
        for (found, place) in [
            (json!({"a": {"b": [{"c": 2}]}}), "a.b[0].c"),
            (json!({"a": {"b": []}}), "a.b"),
            (json!({"a": {}}), "a.b"),
            (json!({"a": {"b": [{"c": 1}], "d": true}}), "a.d"),
            (json!({"a": {"b": [{"c": 1}]}, "scope": "Cluster"}), "scope"),
        ] {
            assert_eq!(difference(&applied, &found, "").as_deref(), Some(place), "{found}");
        }
    }
}
