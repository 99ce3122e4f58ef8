//! Access to objects of any shape. Indexing a value that is not what it should be panics; this does not.

use serde_json::Value;

/// The items of a list; none of anything else.
pub(super) fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Sets a field of an object; what is no object has no fields.
pub(super) fn put(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value.into());
    }
}
