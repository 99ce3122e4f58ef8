//! What makes Envoy refuse the routes of a whole port: until it is repaired, no VirtualService of that port changes any
//! more. istiod's webhook refuses the same, where it is installed.

use kube::core::DynamicObject;
use serde_json::Value;

use super::re2;
use crate::route::json::items;

/// Where a match has one condition.
const SINGLE: [&str; 4] = ["uri", "scheme", "method", "authority"];
/// Where a match has conditions by name.
const BY_NAME: [&str; 3] = ["headers", "withoutHeaders", "queryParams"];
/// In a condition by name it stands for any value, and is no regular expression.
const ANY: &str = "*";

/// The first such place of a VirtualService, and what is wrong there.
pub(super) fn frozen(object: &DynamicObject) -> Option<String> {
    ["http", "tls", "tcp"].into_iter().find_map(|list| {
        let entries = items(object.data.pointer(&format!("/spec/{list}")));
        entries.iter().enumerate().find_map(|(index, entry)| {
            let what = without_weight(entry).or_else(|| unreadable(entry))?;
            Some(format!("spec.{list}[{index}]: {what}, which freezes every VirtualService of its port: correct it"))
        })
    })
}

fn without_weight(entry: &Value) -> Option<String> {
    let destinations = items(entry.get("route"));
    let weight = |destination: &Value| destination.get("weight").and_then(Value::as_i64).unwrap_or(0);
    let is_empty = destinations.len() > 1 && destinations.iter().all(|destination| weight(destination) == 0);
    is_empty.then(|| "all weights are 0".to_owned())
}

fn unreadable(entry: &Value) -> Option<String> {
    let broken = |condition: &Value| {
        let text = condition.get("regex").and_then(Value::as_str)?;
        re2::is_broken(text).then(|| format!("{text:?} is no regular expression"))
    };
    let of_match = |one: &Value| {
        let single = SINGLE.iter().find_map(|key| broken(one.get(*key)?));
        let by_name = || {
            let conditions = BY_NAME.iter().filter_map(|key| one.get(*key)?.as_object()).flat_map(|of| of.values());
            conditions.filter(|condition| condition.get("regex").is_none_or(|text| text != ANY)).find_map(broken)
        };
        single.or_else(by_name)
    };
    let origins = || items(entry.pointer("/corsPolicy/allowOrigins")).iter().find_map(broken);
    items(entry.get("match")).iter().find_map(of_match).or_else(origins)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(spec: &Value) -> Option<String> {
        let object = json!({"metadata": {"name": "public"}, "spec": spec});
        frozen(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn what_freezes_a_port_is_found_with_its_place() {
        let two = |one: u32, other: u32| json!([{"destination": {"host": "a"}, "weight": one}, {"destination": {"host": "b"}, "weight": other}]);
        let frozen = |what: &str| Some(format!("{what}, which freezes every VirtualService of its port: correct it"));
        for (spec, expected) in [
            (json!({"http": [{"route": two(1, 0)}, {"route": two(0, 0)}]}), frozen("spec.http[1]: all weights are 0")),
            (json!({"tcp": [{"route": [{}, {}]}]}), frozen("spec.tcp[0]: all weights are 0")),
            (json!({"http": [{"route": [{"weight": 0}]}]}), None),
            (
                json!({"http": [{"match": [{"uri": {"prefix": "/"}}, {"uri": {"regex": "/a("}}]}]}),
                frozen("spec.http[0]: \"/a(\" is no regular expression"),
            ),
            (
                json!({"http": [{"match": [{"headers": {"x-a": {"regex": "*"}, "x-b": {"regex": "(?=a)"}}}]}]}),
                frozen("spec.http[0]: \"(?=a)\" is no regular expression"),
            ),
            (
                json!({"http": [{"corsPolicy": {"allowOrigins": [{"regex": "a{2000}"}]}}]}),
                frozen("spec.http[0]: \"a{2000}\" is no regular expression"),
            ),
            (
                json!({"http": [{"match": [{"withoutHeaders": {"x-a": {"regex": "*"}}, "uri": {"regex": r"\p{Greek}"}}]}]}),
                None,
            ),
            (json!({"http": "x"}), None),
        ] {
            assert_eq!(found(&spec), expected, "{spec}");
        }
    }
}
