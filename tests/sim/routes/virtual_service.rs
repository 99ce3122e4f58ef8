//! VirtualService of Istio. Its first entry is for other requests, and not the hub's.

use std::{collections::BTreeSet, sync::LazyLock};

use serde_json::{Value, json};

use super::{
    super::scenario::{CRDS, MEMBERS},
    COPIED, Can, Form, MATCHED, Objects, Shows, Weights, definition, is_made, items, items_mut,
};

pub struct VirtualService;

const GROUP: &str = "networking.istio.io";

static DEFINITION: LazyLock<Value> = LazyLock::new(|| definition(GROUP, "v1", "VirtualService", "virtualservices"));

/// Where the requests begin that are not the hub's.
const ELSEWHERE: &str = "/admin";

impl Form for VirtualService {
    fn api(&self) -> &'static str {
        "/apis/networking.istio.io/v1"
    }

    fn plural(&self) -> &'static str {
        "virtualservices"
    }

    fn definition(&self) -> Option<&'static Value> {
        Some(&DEFINITION)
    }

    /// An ExternalName Service is an alias of a host that the mesh must know.
    fn beside(&self) -> Vec<(String, Value)> {
        let kinds = [("ServiceEntry", "serviceentries"), ("DestinationRule", "destinationrules")];
        let kinds = kinds.map(|(kind, plural)| (CRDS.to_owned(), definition(GROUP, "v1", kind, plural)));
        let hosts = MEMBERS.map(|member| format!("{member}.example.com"));
        let entry = json!({
            "apiVersion": "networking.istio.io/v1", "kind": "ServiceEntry", "metadata": {"name": "members", "namespace": "shop"},
            "spec": {"hosts": hosts, "location": "MESH_EXTERNAL", "resolution": "DNS",
                     "ports": [{"number": 80, "name": "http", "protocol": "HTTP"}]},
        });
        let entries = format!("{}/namespaces/shop/serviceentries", self.api());
        kinds.into_iter().chain([(entries, entry)]).collect()
    }

    fn can(&self) -> Can {
        Can { copy: true, keep_users: true, members: 64 }
    }

    fn declared(&self, name: &str) -> Value {
        json!({"istio": {"name": name, "routes": ["main"]}})
    }

    fn written(&self, name: &str, backends: &[(String, u32)]) -> Value {
        let to = |(name, weight): &(String, u32)| json!({"destination": {"host": name, "port": {"number": 80}}, "weight": weight});
        let route: Vec<Value> = backends.iter().map(to).collect();
        let others = json!([{"destination": {"host": "bystander"}}]);
        json!({
            "apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
            "metadata": {"name": name, "namespace": "shop", "annotations": {"team": "web"}},
            "spec": {"hosts": [format!("{name}.example.com")], "gateways": ["istio-system/public"], "http": [
                {"match": [{"uri": {"prefix": ELSEWHERE}}], "route": others},
                {"name": "main", "timeout": "10s", "route": route},
            ]},
        })
    }

    fn weights(&self, objects: Objects<'_>) -> Weights {
        let mut weights = Weights::new();
        for entry in entries(objects).filter(|entry| !is_elsewhere(entry) && !keeps(entry)) {
            let behind = if chooses(entry) { MATCHED.to_string() } else { String::new() };
            for (name, weight) in divided(entry) {
                *weights.entry(format!("{name}{behind}")).or_default() += weight;
            }
            let copies = items(entry, "mirrors").map(|copy| (format!("{}{COPIED}", host(copy)), percentage(copy)));
            weights.extend(copies);
        }
        weights
    }

    fn keeping(&self, objects: Objects<'_>) -> BTreeSet<String> {
        entries(objects).filter(|entry| keeps(entry)).flat_map(|entry| items(entry, "route")).map(host).collect()
    }

    fn put(&self, object: &mut Value, weights: &Weights) {
        let mut wanted = weights.clone();
        let all = items_mut(&mut object["spec"], "http");
        for entry in all.filter(|entry| !is_elsewhere(entry) && !chooses(entry)) {
            // A destination may stand there more than once; the first gets all.
            for one in items_mut(entry, "route") {
                one["weight"] = wanted.remove(&host(one)).unwrap_or(0).into();
            }
        }
    }

    fn put_host(&self, object: &mut Value, host: &str) {
        object["spec"]["hosts"] = json!([host]);
    }

    fn put_timeout(&self, object: &mut Value) {
        for entry in items_mut(&mut object["spec"], "http").filter(|entry| !is_elsewhere(entry)) {
            entry["timeout"] = "30s".into();
        }
    }

    fn mask(&self, object: &mut Value) {
        if let Some(entries) = object.pointer_mut("/spec/http").and_then(Value::as_array_mut) {
            entries.retain(|entry| !chooses(entry));
        }
        for entry in items_mut(&mut object["spec"], "http").filter(|entry| !is_elsewhere(entry)) {
            entry["route"] = Value::Null;
            take_copies_out(entry);
        }
    }

    fn shows(&self) -> Shows {
        Shows::Taken
    }

    fn share(&self) -> Option<Value> {
        Some(json!({"within": 10}))
    }

    /// Envoy refuses the routes of the whole port.
    fn freezes(&self, object: &Value) -> bool {
        let no_weight = |entry: &Value| {
            let destinations: Vec<&Value> = items(entry, "route").collect();
            destinations.len() > 1 && destinations.iter().all(|one| weight(one) == 0)
        };
        items(&object["spec"], "http").any(|entry| no_weight(entry) || has_broken_expression(entry))
    }
}

fn entries(objects: Objects<'_>) -> impl Iterator<Item = &Value> {
    objects.iter().flat_map(|object| items(&object["spec"], "http"))
}

fn is_elsewhere(entry: &Value) -> bool {
    items(entry, "match").any(|one| one["uri"]["prefix"] == ELSEWHERE)
}

/// The entry is not for everybody.
fn chooses(entry: &Value) -> bool {
    items(entry, "match").any(|one| one["headers"].is_object())
}

/// The entry is for users with a cookie.
fn keeps(entry: &Value) -> bool {
    items(entry, "match").any(|one| one["headers"]["cookie"].is_object())
}

/// A bracket that nothing closes is enough for one.
fn has_broken_expression(entry: &Value) -> bool {
    let is_broken = |text: &str| text.matches('(').count() != text.matches(')').count();
    items(entry, "match").any(|one| one["uri"]["regex"].as_str().is_some_and(is_broken))
}

/// How Istio divides the requests of an entry: a single destination gets all.
fn divided(entry: &Value) -> Vec<(String, u32)> {
    let destinations: Vec<&Value> = items(entry, "route").collect();
    let single = destinations.len() == 1;
    destinations.into_iter().map(|one| (host(one), if single { 100 } else { weight(one) })).collect()
}

fn host(destination: &Value) -> String {
    destination["destination"]["host"].as_str().unwrap_or_default().to_owned()
}

fn weight(destination: &Value) -> u32 {
    destination["weight"].as_u64().and_then(|weight| u32::try_from(weight).ok()).unwrap_or(0)
}

fn percentage(copy: &Value) -> u32 {
    copy["percentage"]["value"].as_f64().map_or(100, |percent| percent as u32)
}

fn take_copies_out(entry: &mut Value) {
    let Some(mirrors) = entry.get_mut("mirrors").and_then(Value::as_array_mut) else { return };
    mirrors.retain(|copy| !is_made(&host(copy)));
    if mirrors.is_empty() {
        entry.as_object_mut().map(|fields| fields.remove("mirrors"));
    }
}
