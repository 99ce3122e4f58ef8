//! Cookies that an entry gives and looks at.

use serde_json::{Map, Value, json};

use super::matches::narrowed_by_cookie;
use crate::route::lists::Cookies;

const SET_COOKIE: &str = "Set-Cookie";

pub(super) const COOKIES: Cookies = Cookies { add, remove, narrow: narrowed_by_cookie };

/// A destination adds one header of a name.
fn add(destination: &Value, cookie: &str) -> Option<Value> {
    let gives = |pointer: &str| changes(destination, pointer).keys().any(|key| key.eq_ignore_ascii_case(SET_COOKIE));
    if ["/headers/response/add", "/headers/response/set"].into_iter().any(gives) {
        return None;
    }
    let mut giving = destination.clone();
    json_patch::merge(&mut giving, &json!({"headers": {"response": {"add": {SET_COOKIE: cookie}}}}));
    Some(giving)
}

fn remove(destination: &Value, beginning: &str) -> Option<Value> {
    let cookie = changes(destination, "/headers/response/add");
    cookie.get(SET_COOKIE)?.as_str().filter(|cookie| cookie.starts_with(beginning))?;
    let mut without = destination.clone();
    without.pointer_mut("/headers/response/add")?.as_object_mut()?.remove(SET_COOKIE);
    for (parent, key) in [("/headers/response", "add"), ("/headers", "response"), ("", "headers")] {
        let fields = without.pointer_mut(parent)?.as_object_mut()?;
        if fields.get(key).and_then(Value::as_object).is_some_and(Map::is_empty) {
            fields.remove(key);
        }
    }
    Some(without)
}

fn changes(destination: &Value, pointer: &str) -> Map<String, Value> {
    destination.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default()
}
