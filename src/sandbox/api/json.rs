//! Fields of objects, and their paths.

use serde_json::Value;

/// A text inside an object, empty where there is none.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Sets a field that is missing or null.
pub(super) fn ensure(object: &mut Value, key: &str, value: &Value) {
    if let Some(fields) = object.as_object_mut() {
        let field = fields.entry(key).or_insert(Value::Null);
        if field.is_null() {
            *field = value.clone();
        }
    }
}

/// Sets a field, or removes it.
pub(super) fn put(object: &mut Value, key: &str, value: Option<Value>) {
    let Some(fields) = object.as_object_mut() else { return };
    match value {
        Some(value) => fields.insert(key.to_owned(), value),
        None => fields.remove(key),
    };
}

/// The path of a field below a path.
pub(super) fn child(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
