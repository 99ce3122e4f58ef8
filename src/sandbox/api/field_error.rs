//! What is wrong with one field, in the words of the real server.

use serde_json::{Value, json};

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FieldError {
    field: String,
    reason: &'static str,
    message: String,
}

impl FieldError {
    pub(super) fn new(field: &str, reason: &'static str, message: impl Into<String>) -> Self {
        // The real server has no other name for the object as a whole.
        let field = if field.is_empty() { "<nil>" } else { field };
        Self { field: field.to_owned(), reason, message: message.into() }
    }

    pub(super) fn required(field: &str) -> Self {
        Self::new(field, "FieldValueRequired", "Required value")
    }

    pub(super) fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self::new(field, "FieldValueInvalid", format!("Invalid value: {value}: {detail}"))
    }

    pub(super) fn forbidden(field: &str, detail: &str) -> Self {
        Self::new(field, "FieldValueForbidden", format!("Forbidden: {detail}"))
    }

    pub(super) fn duplicate(field: &str, value: &Value) -> Self {
        Self::new(field, "FieldValueDuplicate", format!("Duplicate value: {value}"))
    }

    pub(super) fn too_long(field: &str, most: u64) -> Self {
        Self::new(field, "FieldValueTooLong", format!("Too long: may not be more than {most} bytes"))
    }

    pub(super) fn too_many(field: &str, actual: usize, most: u64) -> Self {
        let message = format!("Too many: {actual}: must have at most {most} items");
        Self::new(field, "FieldValueTooMany", message)
    }

    /// Whether rules are not looked at while this is wrong.
    pub(super) fn is_blocking(&self) -> bool {
        [
            "FieldValueNotSupported",
            "FieldValueRequired",
            "FieldValueTooLong",
            "FieldValueTooMany",
            "FieldValueTypeInvalid",
        ]
        .contains(&self.reason)
    }

    pub(super) fn cause(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }

    pub(super) fn sentence(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }
}
