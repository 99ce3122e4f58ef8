//! What one document declares, as far as it can be read.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::yaml::Document;

/// The namespace that a document names; empty where it names none.
pub(super) fn namespace(document: &Document) -> String {
    document.value["metadata"]["namespace"].as_str().unwrap_or_default().to_owned()
}

/// The spec, if its shape lets it be read.
pub(super) fn spec<T: DeserializeOwned>(document: &Document) -> Option<T> {
    serde_json::from_value(declared(document)).ok()
}

/// The spec as an API server takes it.
pub(super) fn declared(document: &Document) -> Value {
    let mut spec = document.value["spec"].clone();
    without_nulls(&mut spec);
    spec
}

/// An API server drops nulls; they are refused by themselves, and the rest can still be read.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(without_nulls);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
