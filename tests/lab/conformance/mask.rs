//! Hides what is different each time, and no more: two equal uids stay equal, an unchanged version stays unchanged.

use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

static UID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("a pattern"));
/// Where messages have a version: `(208)`, `version: 208`, `current: 208`.
static VERSION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\(|version: |current: )[0-9]+").expect("a pattern"));
/// Where etcd has an object.
static PLACE: LazyLock<Regex> = LazyLock::new(|| Regex::new("Key: [^,]*").expect("a pattern"));
static GENERATED: LazyLock<Regex> = LazyLock::new(|| Regex::new("gen-[a-z0-9]{5}").expect("a pattern"));

/// Names for uids and versions, in the order in which they were first seen.
#[derive(Default)]
pub struct Mask {
    uids: Vec<String>,
    versions: Vec<String>,
}

impl Mask {
    pub fn hide(&mut self, body: &mut Value) {
        self.walk(body, "");
        sort_causes(body);
    }

    fn walk(&mut self, value: &mut Value, key: &str) {
        match value {
            Value::Object(fields) => {
                let is_object = fields.contains_key("uid") || fields.contains_key("name");
                for (key, value) in fields.iter_mut() {
                    match key.as_str() {
                        "resourceVersion" if is_object && value.is_string() => {
                            *value = name("rv", &mut self.versions, value);
                        }
                        "resourceVersion" | "continue" if value.as_str().is_some_and(|text| !text.is_empty()) => {
                            *value = "…".into();
                        }
                        "managedFields" => {
                            self.walk(value, key);
                            sort(value);
                        }
                        "clusterIP" | "clusterIPs" => *value = "an address".into(),
                        key => self.walk(value, key),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item, key)),
            Value::String(text) => *value = self.text(key, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, key: &str, text: &str) -> Value {
        if ["creationTimestamp", "deletionTimestamp", "time", "lastTransitionTime"].contains(&key) {
            return "a time".into();
        }
        if key == "uid" && UID.is_match(text) {
            return name("uid", &mut self.uids, &Value::from(text));
        }
        let text = UID.replace_all(text, "a uid");
        let text = PLACE.replace_all(&text, "Key: …");
        let text = GENERATED.replace_all(&text, "gen-…");
        if key == "message" {
            VERSION.replace_all(&text, "${1}…").into_owned().into()
        } else {
            text.into_owned().into()
        }
    }
}

fn name(word: &str, known: &mut Vec<String>, value: &Value) -> Value {
    let text = value.as_str().unwrap_or_default();
    let index = known.iter().position(|other| other == text).unwrap_or_else(|| {
        known.push(text.to_owned());
        known.len() - 1
    });
    format!("{word} {index}").into()
}

/// Entries of one second have no order of their own.
fn sort(entries: &mut Value) {
    if let Some(entries) = entries.as_array_mut() {
        entries.sort_by_key(|entry| {
            ["manager", "subresource", "apiVersion"].map(|key| entry[key].as_str().unwrap_or_default().to_owned())
        });
    }
}

/// The real server finds what is wrong in the order of a hash map.
fn sort_causes(body: &mut Value) {
    let causes = body.pointer_mut("/details/causes").and_then(Value::as_array_mut);
    let Some(causes) = causes.filter(|causes| causes.len() > 1) else { return };
    causes.sort_by_key(Value::to_string);
    let message = body["message"].as_str().unwrap_or_default();
    let start = message.split('[').next().unwrap_or_default().to_owned();
    body["message"] = start.into();
}
