//! Access to objects of any shape. Indexing a value that is not what it should be panics; this does not.

use serde_json::Value;

/// The items of a list; none of anything else.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Everything that is wanted is there; an API server adds defaults.
pub(super) fn contains(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| found.get(key).is_some_and(|found| contains(found, wanted)))
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| contains(found, wanted))
        }
        (found, wanted) => found == wanted,
    }
}

/// The same object with a field set.
pub(super) fn with(object: &Value, key: &str, value: impl Into<Value>) -> Value {
    let mut object = object.clone();
    put(&mut object, key, value);
    object
}

/// Sets a field of an object; what is no object has no fields.
pub(super) fn put(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value.into());
    }
}
