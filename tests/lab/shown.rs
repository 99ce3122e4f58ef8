//! What a live route shows, read by the lab's own eyes.

use kube::{ResourceExt, api::DynamicObject};
use serde_json::Value;
use std::collections::BTreeMap;

/// Member -> weight in percent; members without weight are left out.
pub type Shown = BTreeMap<String, u32>;

/// Reads an `HTTPRoute`, `HTTPProxy`, `VirtualService`, `RouteGroup` or Ingress with one rule; backends are `<service>-<member>`.
pub fn shown(object: &DynamicObject, service: &str) -> Shown {
    let spec = &object.data["spec"];
    let pairs = match object.types.as_ref().map_or("", |types| types.kind.as_str()) {
        "HTTPRoute" => weighted(&spec["rules"][0]["backendRefs"]),
        "HTTPProxy" => weighted(&spec["routes"][0]["services"]),
        "VirtualService" => destinations(&spec["http"]),
        "RouteGroup" => spec["routes"].as_array().into_iter().flatten().map(segment_route).collect(),
        _ => ingress(object),
    };
    let member = |backend: &str| backend.strip_prefix(&format!("{service}-")).unwrap_or(backend).to_owned();
    pairs.into_iter().filter(|(_, weight)| *weight > 0).map(|(backend, weight)| (member(&backend), weight)).collect()
}

fn weighted(list: &Value) -> Vec<(String, u32)> {
    let weight = |entry: &Value| entry["weight"].as_u64().map_or(100, |weight| u32::try_from(weight).unwrap());
    list.as_array().into_iter().flatten().map(|entry| (backend(&text(&entry["name"])), weight(entry))).collect()
}

/// Of the last entry, before which those for some requests stand; a single destination has everything. A subset is named as
/// the backend that it stands for.
fn destinations(entries: &Value) -> Vec<(String, u32)> {
    let last = entries.as_array().and_then(|entries| entries.last()).unwrap_or(&Value::Null);
    let destinations = last["route"].as_array().map_or(&[][..], Vec::as_slice);
    let weight = |one: &Value| match destinations {
        [_] => 100,
        _ => one["weight"].as_u64().map_or(0, |weight| u32::try_from(weight).unwrap()),
    };
    let name = |destination: &Value| match destination["subset"].as_str() {
        Some(subset) => subset.to_owned(),
        None => backend(&text(&destination["host"])),
    };
    destinations.iter().map(|one| (name(&one["destination"]), weight(one))).collect()
}

/// The first label of a host is the name of the backend.
fn backend(host: &str) -> String {
    host.split('.').next().unwrap_or_default().to_owned()
}

fn segment_route(route: &Value) -> (String, u32) {
    let predicates = route["predicates"].as_array().into_iter().flatten().map(text).collect::<String>();
    (text(&route["backends"][0]["backendName"]), segment(&predicates))
}

/// Either weights in an annotation, or a segment for the only backend.
fn ingress(object: &DynamicObject) -> Vec<(String, u32)> {
    let annotation = |name: &str| object.annotations().get(name).map_or("", String::as_str);
    if let Ok(weights) = serde_json::from_str::<BTreeMap<String, u32>>(annotation("zalando.org/backend-weights")) {
        return weights.into_iter().collect();
    }
    let service = object.data.pointer("/spec/rules/0/http/paths/0/backend/service/name").unwrap_or(&Value::Null);
    vec![(text(service), segment(annotation("zalando.org/skipper-predicate")))]
}

/// The width of `TrafficSegment(a, b)` in percent; everything where there is none.
fn segment(predicates: &str) -> u32 {
    let Some((_, rest)) = predicates.split_once("TrafficSegment(") else { return 100 };
    let bounds: Vec<f64> =
        rest.trim_end_matches(')').split(',').filter_map(|bound| bound.trim().parse().ok()).collect();
    let width = (bounds[1] - bounds[0]) * 100.0;
    (0..=100).find(|percent| (f64::from(*percent) - width).abs() < 0.01).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
