//! RouteGroup of Skipper. Its last route is for other requests, and not the hub's.

use std::{collections::BTreeSet, ops::Range, sync::LazyLock};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{COPIED, Can, Form, MATCHED, Objects, Shows, Weights, definition, is_made, items, items_mut};

pub struct RouteGroup;

static DEFINITION: LazyLock<Value> = LazyLock::new(|| definition("zalando.org", "v1", "RouteGroup", "routegroups"));

/// Where the requests begin that are not the hub's.
const ELSEWHERE: &str = "/admin";
/// How often Skipper reads, and how long that takes.
const POLL: i64 = 3_000;
const READING: SignedDuration = SignedDuration::from_millis(500);
/// Predicates and filters of single members, and of requests that are led elsewhere.
const OF_MEMBERS: [&str; 6] =
    [SEGMENT, COOKIE, HEADER, "Weight(", "appendResponseHeader(\"Set-Cookie\"", "setRequestHeader(\"Host\""];
const SEGMENT: &str = "TrafficSegment(";
const COOKIE: &str = "Cookie(";
const HEADER: &str = "HeaderRegexp(";
/// Parts of all requests.
const UNITS: u32 = 100;

impl Form for RouteGroup {
    fn api(&self) -> &'static str {
        "/apis/zalando.org/v1"
    }

    fn plural(&self) -> &'static str {
        "routegroups"
    }

    fn definition(&self) -> Option<&'static Value> {
        Some(&DEFINITION)
    }

    fn can(&self) -> Can {
        Can { copy: false, keep_users: true, members: 64 }
    }

    fn declared(&self, name: &str) -> Value {
        json!({"skipper": {"form": "RouteGroup", "name": name}})
    }

    /// With weights, as long as nobody cuts segments.
    fn written(&self, name: &str, backends: &[(String, u32)]) -> Value {
        let leads = backends.iter().map(|(name, _)| backend(name)).chain([backend("bystander")]).collect::<Vec<_>>();
        let shares = backends.iter().map(|(name, weight)| json!({"backendName": name, "weight": weight}));
        json!({
            "apiVersion": "zalando.org/v1", "kind": "RouteGroup",
            "metadata": {"name": name, "namespace": "shop", "annotations": {"team": "web"}},
            "spec": {"hosts": [format!("{name}.example.com")], "backends": leads, "routes": [
                {"pathSubtree": "/", "filters": ["setResponseHeader(\"x-team\", \"web\")"],
                 "backends": shares.collect::<Vec<_>>()},
                {"pathSubtree": ELSEWHERE, "backends": [{"backendName": "bystander"}]},
            ]},
        })
    }

    /// A part of the requests that no route takes, or that two take, counts for nobody.
    fn weights(&self, objects: Objects<'_>) -> Weights {
        let mut weights = Weights::new();
        for behind in [None, Some(MATCHED)] {
            let parts = routes(objects).filter(|route| is_ours(route) && has(route, HEADER) == behind.is_some());
            let parts: Vec<(String, Range<u32>)> =
                parts.filter(|route| !has(route, COOKIE)).flat_map(parts_of).collect();
            for (backend, part) in &parts {
                let alone = |unit: &u32| parts.iter().filter(|(_, other)| other.contains(unit)).count() == 1;
                let units = part.clone().filter(alone).count();
                let name = format!("{backend}{}", behind.map(String::from).unwrap_or_default());
                *weights.entry(name).or_default() += u32::try_from(units).unwrap_or(u32::MAX);
            }
        }
        weights
    }

    fn keeping(&self, objects: Objects<'_>) -> BTreeSet<String> {
        let keeping = routes(objects).filter(|route| has(route, COOKIE));
        keeping.flat_map(|route| items(route, "backends")).map(|backend| text(backend, "backendName")).collect()
    }

    fn host_of(&self, objects: Objects<'_>, backend: &str) -> Option<String> {
        let mut backends = objects.iter().flat_map(|object| items(&object["spec"], "backends"));
        let address = backends.find(|one| one["name"] == backend)?["address"].as_str()?;
        Some(address.split_once("://")?.1.split(':').next()?.to_owned())
    }

    fn put(&self, object: &mut Value, weights: &Weights) {
        let mut wanted = weights.clone();
        wanted.retain(|name, weight| *weight > 0 && !name.ends_with([MATCHED, COPIED]));
        let divided = |route: &Value| is_ours(route) && ![HEADER, COOKIE].iter().any(|start| has(route, start));
        let Some(routes) = object.pointer_mut("/spec/routes").and_then(Value::as_array_mut) else { return };
        let Some(first) = routes.iter().position(divided) else { return };
        let mut model = routes[first].clone();
        if items(&model, "backends").count() > 1 {
            let share = |(name, weight): (&String, &u32)| json!({"backendName": name, "weight": weight});
            routes[first]["backends"] = wanted.iter().map(share).collect();
            return;
        }
        // A member keeps the first of its routes; a new one gets a route like the others.
        let mut cut = Vec::new();
        let mut reached = 0;
        let known = routes.iter().filter(|route| divided(route)).cloned().collect::<Vec<_>>();
        for mut route in known {
            if let Some(weight) = wanted.remove(&backend_of(&route)) {
                put_segment(&mut route, &mut reached, weight);
                cut.push(route);
            }
        }
        for (name, weight) in wanted {
            model["backends"] = json!([{"backendName": name}]);
            put_segment(&mut model, &mut reached, weight);
            cut.push(model.clone());
        }
        routes.retain(|route| !divided(route));
        routes.splice(first..first, cut);
    }

    fn put_host(&self, object: &mut Value, host: &str) {
        object["spec"]["hosts"] = json!([host]);
    }

    fn put_timeout(&self, object: &mut Value) {
        for route in items_mut(&mut object["spec"], "routes").filter(|route| is_ours(route)) {
            if let Some(filters) = route["filters"].as_array_mut() {
                filters.insert(0, "backendTimeout(\"30s\")".into());
            }
        }
    }

    /// Routes that differ in nothing but what is cut for members are one.
    fn mask(&self, object: &mut Value) {
        let is_of_members = |item: &Value| OF_MEMBERS.iter().any(|start| begins(item, start));
        for route in items_mut(&mut object["spec"], "routes").filter(|route| is_ours(route)) {
            route["backends"] = Value::Null;
            for list in ["predicates", "filters"] {
                let kept: Vec<Value> = items(route, list).filter(|item| !is_of_members(item)).cloned().collect();
                route[list] = kept.into();
            }
        }
        if let Some(routes) = object.pointer_mut("/spec/routes").and_then(Value::as_array_mut) {
            let mut seen = Vec::new();
            routes.retain(|route| {
                let is_new = !seen.contains(route);
                seen.push(route.clone());
                is_new
            });
        }
        if let Some(backends) = object.pointer_mut("/spec/backends").and_then(Value::as_array_mut) {
            backends.retain(|backend| !is_made(&text(backend, "name")));
        }
    }

    fn shows(&self) -> Shows {
        Shows::Taken
    }

    /// It is read at the next poll.
    fn due(&self, written: Timestamp) -> Timestamp {
        let waits = POLL - written.as_millisecond().rem_euclid(POLL);
        written + SignedDuration::from_millis(waits) + READING
    }
}

/// What a route leads to: a member's own address, or a Service.
fn backend(name: &str) -> Value {
    match name.split_once("-eu-") {
        Some((_, number)) => {
            json!({"name": name, "type": "network", "address": format!("http://eu-{number}.example.com:80")})
        }
        None => json!({"name": name, "type": "service", "serviceName": name, "servicePort": 80}),
    }
}

fn routes(objects: Objects<'_>) -> impl Iterator<Item = &Value> {
    objects.iter().flat_map(|object| items(&object["spec"], "routes"))
}

fn is_ours(route: &Value) -> bool {
    route["pathSubtree"] != ELSEWHERE
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

fn begins(item: &Value, start: &str) -> bool {
    item.as_str().is_some_and(|item| item.starts_with(start))
}

fn has(route: &Value, predicate: &str) -> bool {
    items(route, "predicates").any(|item| begins(item, predicate))
}

fn backend_of(route: &Value) -> String {
    items(route, "backends").next().map(|backend| text(backend, "backendName")).unwrap_or_default()
}

/// The parts of the requests that a route takes: its segment, or all of them, divided by the weights of its backends.
fn parts_of(route: &Value) -> Vec<(String, Range<u32>)> {
    let mut segments =
        items(route, "predicates").filter_map(Value::as_str).filter_map(|text| text.strip_prefix(SEGMENT));
    if let Some(segment) = segments.next() {
        return units(segment).map(|part| (backend_of(route), part)).into_iter().collect();
    }
    let alone = items(route, "backends").count() == 1;
    let weight = |backend: &Value| if alone { u64::from(UNITS) } else { backend["weight"].as_u64().unwrap_or(0) };
    let mut reached = 0;
    let part = |backend: &Value| {
        let start = reached;
        reached += u32::try_from(weight(backend)).unwrap_or(u32::MAX);
        (text(backend, "backendName"), start..reached)
    };
    items(route, "backends").map(part).collect()
}

/// A segment in whole units; none if it does not lie on them.
fn units(segment: &str) -> Option<Range<u32>> {
    let (start, end) = segment.strip_suffix(')')?.split_once(',')?;
    let unit = |text: &str| {
        let exact = text.trim().parse::<f64>().ok()? * f64::from(UNITS);
        (0..=UNITS).find(|unit| (f64::from(*unit) - exact).abs() < 1e-6)
    };
    Some(unit(start)?..unit(end)?)
}

/// Gives a route the next so many units.
fn put_segment(route: &mut Value, reached: &mut u32, weight: u32) {
    let share = |units: u32| f64::from(units) / f64::from(UNITS);
    let segment = format!("{SEGMENT}{:?}, {:?})", share(*reached), share(*reached + weight));
    *reached += weight;
    let others = items(route, "predicates").filter(|item| !begins(item, SEGMENT)).cloned();
    route["predicates"] = others.chain([segment.into()]).collect();
}
