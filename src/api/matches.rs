//! Requests that a step chooses by what they carry, whatever the weights.
//!
//! Rules about single conditions would be too dear for the API server, many as there may be: `validate` and the hub know
//! them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;

/// One match: all its conditions must hold.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RequestMatch {
    /// Conditions on headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 8))]
    pub headers: Vec<FieldMatch>,
    /// Conditions on cookies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 8))]
    pub cookies: Vec<FieldMatch>,
    /// Conditions on query parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 8))]
    pub query: Vec<FieldMatch>,
}

/// One condition; exactly one of `exact`, `prefix` and `regex`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct FieldMatch {
    /// Name of the header, cookie or query parameter.
    #[schemars(length(min = 1, max = 256), regex(pattern = "^[A-Za-z0-9!#$%&'*+.^_|~-]+$"))]
    pub name: String,
    /// The whole value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub exact: Option<String>,
    /// The prefix of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub prefix: Option<String>,
    /// A regular expression for the whole value, in the syntax of the data plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub regex: Option<String>,
}

/// Requests that are matched, and where they go.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Matched {
    /// Alternatives.
    pub matches: Vec<RequestMatch>,
    /// The weights of the members for the requests that match; they sum to the rollout's total.
    pub weights: Distribution,
}

/// How a condition compares a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The whole value is equal.
    Exact(&'a str),
    /// The value has this prefix.
    Prefix(&'a str),
    /// The value matches this regular expression.
    Regex(&'a str),
}

impl FieldMatch {
    /// The comparison; `None` unless exactly one is set.
    pub fn value(&self) -> Option<Value<'_>> {
        match (self.exact.as_deref(), self.prefix.as_deref(), self.regex.as_deref()) {
            (Some(text), None, None) => Some(Value::Exact(text)),
            (None, Some(text), None) => Some(Value::Prefix(text)),
            (None, None, Some(text)) => Some(Value::Regex(text)),
            _ => None,
        }
    }
}

impl fmt::Display for FieldMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            Some(Value::Exact(text)) => write!(f, "{}: {text}", self.name),
            Some(Value::Prefix(text)) => write!(f, "{}: {text}…", self.name),
            Some(Value::Regex(text)) => write!(f, "{} ~ {text}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl fmt::Display for RequestMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sorts = [("header", &self.headers), ("cookie", &self.cookies), ("query", &self.query)];
        let all =
            sorts.into_iter().flat_map(|(sort, fields)| fields.iter().map(move |field| format!("{sort} {field}")));
        f.write_str(&all.collect::<Vec<_>>().join(" and "))
    }
}

/// Alternatives in words.
pub fn in_words(matches: &[RequestMatch]) -> String {
    matches.iter().map(RequestMatch::to_string).collect::<Vec<_>>().join(" or ")
}
