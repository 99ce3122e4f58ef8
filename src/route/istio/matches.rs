//! Conditions of an entry. It looks at each header and each parameter once.

use serde_json::{Map, Value, json};

use crate::api::RequestMatch;
use crate::api::matches::{FieldMatch, Value as Chosen};
use crate::route::cookie_pattern::cookie_pattern;
use crate::route::json::{items, put};

const COOKIE: &str = "cookie";

/// One entry for all sorts: each of the entry's own matches, with each sort's conditions.
pub(super) fn narrowed(entry: &Value, sorts: &[RequestMatch]) -> Result<Vec<Value>, String> {
    let own = own_matches(entry);
    let narrowed = own.iter().flat_map(|own| sorts.iter().map(move |sort| narrow(own, sort)));
    let mut entry = without_name(entry);
    put(&mut entry, "match", narrowed.collect::<Result<Vec<Value>, String>>()?);
    Ok(vec![entry])
}

/// The same for requests whose header `Cookie` is like this regular expression; nothing where the entry looks at it itself.
pub(super) fn narrowed_by_cookie(entry: &Value, pattern: &str) -> Option<Value> {
    let narrow = |own: &Value| {
        let mut headers = fields(own, "headers");
        add(&mut headers, "header", COOKIE, json!({"regex": pattern})).ok()?;
        let mut own = own.clone();
        put(&mut own, "headers", headers);
        Some(own)
    };
    let matches = own_matches(entry).iter().map(narrow).collect::<Option<Vec<Value>>>()?;
    let mut entry = without_name(entry);
    put(&mut entry, "match", matches);
    Some(entry)
}

/// The conditions of each match.
pub(super) fn conditions(entry: &Value) -> Vec<Vec<Value>> {
    let of = |own: &Value, key: &str| -> Vec<Value> {
        fields(own, key).into_iter().map(|(name, value)| json!({ key: { name: value } })).collect()
    };
    items(entry.get("match")).iter().map(|own| [of(own, "headers"), of(own, "queryParams")].concat()).collect()
}

fn narrow(own: &Value, sort: &RequestMatch) -> Result<Value, String> {
    let (mut headers, mut query) = (fields(own, "headers"), fields(own, "queryParams"));
    for field in &sort.headers {
        add(&mut headers, "header", &field.name.to_ascii_lowercase(), value(field))?;
    }
    for field in &sort.cookies {
        add(&mut headers, "header", COOKIE, json!({"regex": cookie_pattern(field)}))?;
    }
    for field in &sort.query {
        add(&mut query, "query parameter", &field.name, value(field))?;
    }
    let mut narrowed = own.clone();
    for (key, conditions) in [("headers", headers), ("queryParams", query)] {
        if !conditions.is_empty() {
            put(&mut narrowed, key, conditions);
        }
    }
    Ok(narrowed)
}

fn add(conditions: &mut Map<String, Value>, sort: &str, name: &str, value: Value) -> Result<(), String> {
    let is_same = |key: &String| if sort == "header" { key.eq_ignore_ascii_case(name) } else { key == name };
    if conditions.keys().any(is_same) {
        return Err(format!("a route looks at the {sort} {name} already, and looks at each once"));
    }
    conditions.insert(name.to_owned(), value);
    Ok(())
}

fn value(field: &FieldMatch) -> Value {
    match field.value() {
        Some(Chosen::Exact(text)) => json!({"exact": text}),
        Some(Chosen::Prefix(text)) => json!({"prefix": text}),
        Some(Chosen::Regex(text)) => json!({"regex": text}),
        None => json!({}),
    }
}

fn own_matches(entry: &Value) -> Vec<Value> {
    let own = items(entry.get("match"));
    if own.is_empty() { vec![json!({})] } else { own.to_vec() }
}

fn fields(own: &Value, key: &str) -> Map<String, Value> {
    own.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn without_name(entry: &Value) -> Value {
    let mut entry = entry.clone();
    entry.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("name")));
    entry
}
