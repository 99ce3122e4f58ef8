//! The shape of an object, by the schema of its definition: unknown fields, types, bounds, lists with keys.
//!
//! It knows the keywords that the definitions use, and says what is wrong in words for a person.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    problem::{Problem, not_one, quoted},
    unknown,
};
use crate::{
    api::{duration, name, progress, window},
    yaml::below,
};

/// What is wrong with the shape of `value`. Nulls are passed over: they have problems of their own.
pub(super) fn shape(schema: &Value, value: &Value, path: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    walk(schema, value, path, &mut problems);
    for problem in &mut problems {
        unknown::elsewhere(schema, path, problem);
    }
    problems
}

/// The value without what does not fit; `None` if nothing of it is left.
///
/// What is required stays as a stand-in, so that the rest can be read: a text as it is, a number as the least that is allowed.
pub(super) fn mended(schema: &Value, value: &Value) -> Option<Value> {
    match (schema["type"].as_str(), value) {
        (Some("object"), Value::Object(fields)) => {
            let is_required =
                |key: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == key));
            let mend = |(key, field): (&String, &Value)| {
                let known = field_schema(schema, key)?;
                let stand_in = || is_required(key).then(|| stand_in(known, field)).flatten();
                Some((key.clone(), mended(known, field).or_else(stand_in)?))
            };
            Some(Value::Object(fields.iter().filter_map(mend).collect()))
        }
        (Some("array"), Value::Array(items)) => {
            Some(items.iter().map(|item| mended(&schema["items"], item).unwrap_or(Value::Null)).collect())
        }
        (Some("boolean"), Value::Bool(_)) => Some(value.clone()),
        _ => fits(schema, value).then(|| value.clone()),
    }
}

fn stand_in(schema: &Value, value: &Value) -> Option<Value> {
    if schema["type"] == "string" && value.is_string() {
        return Some(value.clone());
    }
    Some(schema["minimum"].clone()).filter(|least| !least.is_null())
}

fn walk(schema: &Value, value: &Value, path: &str, problems: &mut Vec<Problem>) {
    match (schema["type"].as_str(), value) {
        (_, Value::Null) | (Some("boolean"), Value::Bool(_)) => {}
        (Some("object"), Value::Object(fields)) => {
            for (key, field) in fields {
                match field_schema(schema, key) {
                    Some(schema) => walk(schema, field, &below(path, key), problems),
                    None => problems.push(unknown::field(names(schema), key, path)),
                }
            }
            problems.extend(missing(schema, fields, path));
            problems.extend(union(schema, fields, path));
            problems.extend(size(schema, "Properties", fields.len(), path));
        }
        (Some("array"), Value::Array(items)) => {
            problems.extend(size(schema, "Items", items.len(), path));
            // A list beyond its bound is one problem, not one for each entry too many.
            let most = schema["maxItems"].as_u64().and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
            let items = &items[..items.len().min(most)];
            problems.extend(repeated(schema, items, path));
            for (i, item) in items.iter().enumerate() {
                walk(&schema["items"], item, &format!("{path}[{i}]"), problems);
            }
        }
        _ if fits(schema, value) => {}
        _ => problems.push(Problem::error(
            path,
            format!("{} is not allowed", shown(value)),
            format!("write {}", expected(schema)),
        )),
    }
}

fn field_schema<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    let properties = schema["properties"].as_object();
    properties
        .and_then(|known| known.get(key))
        .or_else(|| Some(&schema["additionalProperties"]).filter(|rest| rest.is_object()))
}

fn names(schema: &Value) -> impl Iterator<Item = &str> + Clone {
    schema["properties"].as_object().into_iter().flat_map(|known| known.keys().map(String::as_str))
}

fn missing(schema: &Value, fields: &serde_json::Map<String, Value>, path: &str) -> Vec<Problem> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required
        .filter(|key| !fields.contains_key(*key))
        .map(|key| {
            Problem::error(below(path, key), "missing", format!("give {}", expected(&schema["properties"][key])))
        })
        .collect()
}

/// A keyed union has exactly one of its keys.
fn union(schema: &Value, fields: &serde_json::Map<String, Value>, path: &str) -> Option<Problem> {
    let arms: Vec<&str> = schema["oneOf"].as_array()?.iter().filter_map(|arm| arm["required"][0].as_str()).collect();
    let given: Vec<&str> = arms.iter().copied().filter(|arm| fields.contains_key(*arm)).collect();
    let remedy = format!("give exactly one of {}", arms.join(", "));
    not_one(path, &given, "nothing is chosen", "are both given", &remedy)
}

fn size(schema: &Value, of: &str, size: usize, path: &str) -> Option<Problem> {
    let bound = |end: &str| schema[format!("{end}{of}")].as_u64().and_then(|bound| usize::try_from(bound).ok());
    let default = if schema["default"].is_null() { "" } else { ", or leave it out for the default" };
    let entries = |n: usize| if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") };
    match (bound("min"), bound("max")) {
        (Some(least), _) if size < least => Some(Problem::error(
            path,
            format!("{} given", entries(size)),
            format!("write at least {}{default}", entries(least)),
        )),
        (_, Some(most)) if size > most => Some(Problem::error(
            path,
            format!("{} given", entries(size)),
            format!("at most {} are allowed", entries(most)),
        )),
        _ => None,
    }
}

/// Entries of a set or keyed list that are there twice; each is named at its second place.
fn repeated(schema: &Value, items: &[Value], path: &str) -> Vec<Problem> {
    let key = schema["x-kubernetes-list-map-keys"][0].as_str();
    if key.is_none() && schema["x-kubernetes-list-type"] != "set" {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let identities =
        items.iter().enumerate().filter_map(|(i, item)| Some((i, key.map_or(item, |key| &item[key]).as_str()?)));
    identities
        .filter(|(_, identity)| !seen.insert(*identity))
        .map(|(i, identity)| {
            let place = format!("{path}[{i}]");
            let place = key.map_or_else(|| place.clone(), |key| below(&place, key));
            Problem::error(place, format!("{} occurs twice", quoted(identity)), "each may occur once")
        })
        .collect()
}

fn fits(schema: &Value, value: &Value) -> bool {
    match (schema["type"].as_str(), value) {
        (Some("integer"), Value::Number(number)) => (number.is_i64() || number.is_u64()) && within(schema, value),
        (Some("number"), Value::Number(_)) => within(schema, value),
        (Some("string"), Value::String(text)) => text_fits(schema, text),
        _ => false,
    }
}

fn within(schema: &Value, value: &Value) -> bool {
    let value = value.as_f64();
    let beyond = |bound: &str, wrong: fn(&f64, &f64) -> bool| {
        schema[bound].as_f64().zip(value).is_some_and(|(bound, value)| wrong(&value, &bound))
    };
    !beyond("minimum", f64::lt) && !beyond("maximum", f64::gt)
}

fn text_fits(schema: &Value, text: &str) -> bool {
    let length = text.chars().count() as u64;
    schema["minLength"].as_u64().is_none_or(|least| length >= least)
        && schema["maxLength"].as_u64().is_none_or(|most| length <= most)
        && schema["enum"].as_array().is_none_or(|allowed| allowed.iter().any(|word| word == text))
        && schema["pattern"]
            .as_str()
            .is_none_or(|pattern| regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text)))
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// What a schema asks for, in words.
fn expected(schema: &Value) -> String {
    let range = |unit: &str| match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        (Some(least), Some(most)) => format!("{unit} from {least} to {most}"),
        (Some(least), None) => format!("{unit} of at least {least}"),
        (None, Some(most)) => format!("{unit} of at most {most}"),
        (None, None) => unit.to_owned(),
    };
    match schema["type"].as_str() {
        Some("integer") => range("a whole number"),
        Some("number") => range("a number"),
        Some("boolean") => "true or false".to_owned(),
        Some("array") => "a list".to_owned(),
        Some("object") => mapping_expected(schema),
        _ => text_expected(schema),
    }
}

fn mapping_expected(schema: &Value) -> String {
    match names(schema).collect::<Vec<_>>().as_slice() {
        // Who may use a member has no default, so this is what everybody reads who did not say it.
        ["from", "names"] => {
            "the namespaces that may use this member: {from: All}, or {from: Names, names: [shop]}".to_owned()
        }
        names => format!("a mapping with {}", names.join(", ")),
    }
}

fn text_expected(schema: &Value) -> String {
    if let Some(allowed) = schema["enum"].as_array() {
        return format!("one of {}", allowed.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
    }
    let length = match (schema["minLength"].as_u64(), schema["maxLength"].as_u64()) {
        (_, Some(most)) => format!(" of at most {most} characters"),
        (Some(least), None) => format!(" of at least {least} characters"),
        (None, None) => String::new(),
    };
    match schema["pattern"].as_str() {
        Some(duration::PATTERN) => "a time in whole h, m, s or ms, such as 1h30m".to_owned(),
        Some(progress::PATTERN) => "a percentage, such as 25% or 12.5%".to_owned(),
        Some(pattern) if pattern.starts_with("^(Promotion|") => "Promotion, or a time such as 10m".to_owned(),
        Some(window::TIME_PATTERN) => "hours and minutes, from 00:00 to 23:59".to_owned(),
        Some(window::DAYS_PATTERN) => "days of Mon to Sun, such as Mon-Fri or Sat,Sun".to_owned(),
        Some(name::SUBDOMAIN) => format!("a name of lower-case letters, digits, \"-\" and \".\"{length}"),
        Some(name::PLACE) => "a namespace and a name, such as infra/public".to_owned(),
        Some(name::HOST) => "a host name in lower case, such as shop.example.com or *.example.com".to_owned(),
        Some(name::RULE) => "the name of a rule, or its place, such as #0".to_owned(),
        Some(pattern) if pattern.starts_with("^[a-z") && !pattern.contains('/') => {
            format!("a name of lower-case letters, digits and \"-\"{length}")
        }
        Some(pattern) if pattern.starts_with("^https?://") => {
            "an http or https URL without user, query and fragment".to_owned()
        }
        Some(pattern) => format!("a text{length} that matches {pattern}"),
        None => format!("a text{length}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::api::crd::{definitions, schema};

    /// Each keyword that a definition uses must be one that is checked here, or one that checks nothing.
    #[test]
    fn every_keyword_of_the_definitions_is_known() {
        const KNOWN: &[&str] = &[
            "type",
            "properties",
            "additionalProperties",
            "required",
            "oneOf",
            "items",
            "minItems",
            "maxItems",
            "minLength",
            "maxLength",
            "minimum",
            "maximum",
            "pattern",
            "enum",
            "maxProperties",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-list-type",
            "x-kubernetes-map-type",
            "x-kubernetes-validations",
            "x-kubernetes-preserve-unknown-fields",
            "description",
            "title",
            "default",
            "format",
        ];
        fn check(schema: &Value) {
            for (keyword, below) in schema.as_object().unwrap() {
                assert!(KNOWN.contains(&keyword.as_str()), "{keyword}");
                match keyword.as_str() {
                    "properties" => below.as_object().unwrap().values().for_each(check),
                    "items" | "additionalProperties" => check(below),
                    _ => {}
                }
            }
        }
        for definition in definitions().unwrap() {
            check(schema(&definition));
        }
    }
}
