//! What a JSON Schema validator finds, in the words of the real server.

use jsonschema::{
    ValidationError,
    error::ValidationErrorKind,
    paths::{Location, LocationSegment},
};
use serde_json::{Map, Value, json};

use super::{field_error::FieldError, json::child};

/// A choice of which nothing was made lacks each of its arms besides.
pub(super) fn field_errors(error: &ValidationError<'_>) -> Vec<FieldError> {
    let mut errors = vec![field_error(error)];
    if let ValidationErrorKind::OneOfNotValid { context } = error.kind() {
        errors.extend(context.first().into_iter().flatten().map(field_error));
    }
    errors
}

fn field_error(error: &ValidationError<'_>) -> FieldError {
    let path = path_of(error.instance_path());
    let instance = error.instance().as_ref();
    // Of a list that is too short only its length is shown.
    let shown = if instance.is_array() || instance.is_object() { &json!(size(instance)) } else { instance };
    let body = |words: String| FieldError::invalid(&path, shown, &format!("{path} in body {words}"));
    let choice = |found: &str| {
        let words = format!("{path:?} must validate one and only one schema (oneOf). {found}");
        FieldError::invalid("", &json!(""), &words)
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            FieldError::required(&child(&path, property.as_str().unwrap_or_default()))
        }
        ValidationErrorKind::Type { .. } => type_error(error, &path),
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let options = options.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("Unsupported value: {instance}: supported values: {options}");
            FieldError::new(&path, "FieldValueNotSupported", message)
        }
        ValidationErrorKind::MaxLength { limit } => FieldError::too_long(&path, *limit),
        ValidationErrorKind::MaxItems { limit } | ValidationErrorKind::MaxProperties { limit } => {
            FieldError::too_many(&path, size(instance), *limit)
        }
        ValidationErrorKind::MinLength { limit } => body(format!("should be at least {limit} chars long")),
        ValidationErrorKind::MinItems { limit } => body(format!("should have at least {limit} items")),
        ValidationErrorKind::MinProperties { limit } => body(format!("should have at least {limit} properties")),
        ValidationErrorKind::Minimum { limit } => body(format!("should be greater than or equal to {}", number(limit))),
        ValidationErrorKind::Maximum { limit } => body(format!("should be less than or equal to {}", number(limit))),
        ValidationErrorKind::Pattern { pattern } => body(format!("should match '{pattern}'")),
        ValidationErrorKind::OneOfMultipleValid { context } => {
            let valid = context.iter().filter(|errors| errors.is_empty()).count();
            choice(&format!("Found {valid} valid alternatives"))
        }
        ValidationErrorKind::OneOfNotValid { .. } => choice("Found none valid"),
        other => body(format!("does not satisfy {}", other.keyword())),
    }
}

fn type_error(error: &ValidationError<'_>, path: &str) -> FieldError {
    let found = type_name(error.instance());
    let expected = match error.kind() {
        ValidationErrorKind::Type { kind: jsonschema::error::TypeKind::Single(expected) } => expected.to_string(),
        _ => "another".to_owned(),
    };
    let message = format!("Invalid value: {found:?}: {path} in body must be of type {expected}: {found:?}");
    FieldError::new(path, "FieldValueTypeInvalid", message)
}

fn size(value: &Value) -> usize {
    value.as_array().map_or_else(|| value.as_object().map_or(0, Map::len), Vec::len)
}

/// A bound as the real server prints it: `100`, not `100.0`.
fn number(bound: &Value) -> String {
    bound.as_f64().map_or_else(|| bound.to_string(), |bound| bound.to_string())
}

/// A type's name in messages.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// `/spec/members/0/name` as `spec.members[0].name`.
fn path_of(location: &Location) -> String {
    location.into_iter().fold(String::new(), |path, segment| match segment {
        LocationSegment::Property(key) => child(&path, &key),
        LocationSegment::Index(index) => format!("{path}[{index}]"),
    })
}

/// The value at `spec.members[0].name`.
pub(super) fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    let pointer = path.replace(['.', '['], "/").replace(']', "");
    object.pointer(&if pointer.is_empty() { pointer } else { format!("/{pointer}") }).unwrap_or(&Value::Null)
}
