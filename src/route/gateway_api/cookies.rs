//! Cookies that an HTTPRoute gives and looks at.

use serde_json::{Value, json};

use crate::route::json::{items, put};
use crate::route::lists::Cookies;

const FILTER: &str = "ResponseHeaderModifier";

pub(super) const COOKIES: Cookies = Cookies { add, remove, narrow };

/// A list of filters may have one of this type.
fn add(service: &Value, cookie: &str) -> Option<Value> {
    let filters = items(service.get("filters"));
    if filters.iter().any(is_modifier) {
        return None;
    }
    let filter = json!({"type": FILTER, "responseHeaderModifier": {"add": [{"name": "Set-Cookie", "value": cookie}]}});
    let mut giving = service.clone();
    put(&mut giving, "filters", filters.iter().cloned().chain([filter]).collect::<Vec<_>>());
    Some(giving)
}

fn remove(service: &Value, beginning: &str) -> Option<Value> {
    let gives = |filter: &Value| {
        let cookie = filter.pointer("/responseHeaderModifier/add/0/value").and_then(Value::as_str);
        is_modifier(filter) && cookie.is_some_and(|cookie| cookie.starts_with(beginning))
    };
    let filters = items(service.get("filters"));
    let kept: Vec<Value> = filters.iter().filter(|filter| !gives(filter)).cloned().collect();
    if kept.len() == filters.len() {
        return None;
    }
    let mut without = service.clone();
    if kept.is_empty() {
        without.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("filters")));
    } else {
        put(&mut without, "filters", kept);
    }
    Some(without)
}

/// Of two conditions on one header only the first counts. The rule with more headers comes first, wherever it stands.
fn narrow(rule: &Value, pattern: &str) -> Option<Value> {
    let any = [json!({})];
    let own = Some(items(rule.get("matches"))).filter(|own| !own.is_empty()).unwrap_or(&any);
    let is_cookie = |header: &Value| {
        header.get("name").and_then(Value::as_str).is_some_and(|name| name.eq_ignore_ascii_case("cookie"))
    };
    if own.iter().any(|own| items(own.get("headers")).iter().any(is_cookie)) {
        return None;
    }
    let cookie = json!({"type": "RegularExpression", "name": "Cookie", "value": pattern});
    let matching = |own: &Value| {
        let headers: Vec<Value> = items(own.get("headers")).iter().cloned().chain([cookie.clone()]).collect();
        let mut narrowed = own.clone();
        put(&mut narrowed, "headers", headers);
        narrowed
    };
    let mut narrowed = rule.clone();
    put(&mut narrowed, "matches", own.iter().map(matching).collect::<Vec<_>>());
    narrowed.as_object_mut().into_iter().for_each(|fields| drop(fields.remove("name")));
    Some(narrowed)
}

fn is_modifier(filter: &Value) -> bool {
    filter.get("type").and_then(Value::as_str) == Some(FILTER)
}
