//! HTTPRoute of Gateway API.

use std::{collections::BTreeSet, sync::LazyLock};

use serde_json::{Value, json};

use super::{
    COPIED, Can, Form, MATCHED, Objects, Shows, Weights, Words, all_true, condition, definition, is_made, items,
};

pub struct HttpRoute;

static DEFINITION: LazyLock<Value> =
    LazyLock::new(|| definition("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"));

impl Form for HttpRoute {
    fn api(&self) -> &'static str {
        "/apis/gateway.networking.k8s.io/v1"
    }

    fn plural(&self) -> &'static str {
        "httproutes"
    }

    fn definition(&self) -> Option<&'static Value> {
        Some(&DEFINITION)
    }

    fn can(&self) -> Can {
        Can { copy: true, keep_users: true, members: 64 }
    }

    fn declared(&self, name: &str) -> Value {
        json!({"gatewayAPI": {"name": name}})
    }

    fn written(&self, name: &str, backends: &[(String, u32)]) -> Value {
        let backend = |(name, weight): &(String, u32)| json!({"name": name, "port": 80, "weight": weight});
        let backends: Vec<Value> = backends.iter().map(backend).collect();
        // Copies stand among filters; the user's own stay.
        let header = json!({"set": [{"name": "x-team", "value": "web"}]});
        let filters = json!([{"type": "RequestHeaderModifier", "requestHeaderModifier": header}]);
        let rule = json!({"timeouts": {"request": "10s"}, "filters": filters, "backendRefs": backends});
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": name, "namespace": "shop", "annotations": {"team": "web"}},
            "spec": {"parentRefs": [{"name": "public"}], "hostnames": [format!("{name}.example.com")], "rules": [rule]},
        })
    }

    fn weights(&self, objects: Objects<'_>) -> Weights {
        let of = |rule| {
            let behind = if chooses(rule) { MATCHED.to_string() } else { String::new() };
            let one = move |backend: &Value| {
                let weight = backend["weight"].as_u64().unwrap_or(1);
                let name = backend["name"].as_str().unwrap_or_default();
                (format!("{name}{behind}"), u32::try_from(weight).unwrap_or(u32::MAX))
            };
            let copies = items(rule, "filters").filter_map(copies_to).map(|name| (format!("{name}{COPIED}"), 100));
            items(rule, "backendRefs").map(one).chain(copies)
        };
        // Those who are kept were sent by these weights too; a Service stands in a rule as often as it has users to keep.
        let mut weights = Weights::new();
        for (name, weight) in rules(objects).filter(|rule| !keeps(rule)).flat_map(of) {
            *weights.entry(name).or_default() += weight;
        }
        weights
    }

    fn keeping(&self, objects: Objects<'_>) -> BTreeSet<String> {
        let backends = rules(objects).filter(|rule| keeps(rule)).flat_map(|rule| items(rule, "backendRefs"));
        backends.filter_map(|backend| backend["name"].as_str()).map(str::to_owned).collect()
    }

    fn put(&self, object: &mut Value, weights: &Weights) {
        let backends = object.pointer_mut("/spec/rules/0/backendRefs").and_then(Value::as_array_mut);
        // A Service may stand there twice; the first gets all.
        let mut wanted = weights.clone();
        for backend in backends.into_iter().flatten() {
            let weight = backend["name"].as_str().and_then(|name| wanted.remove(name));
            backend["weight"] = weight.unwrap_or(0).into();
        }
    }

    fn put_host(&self, object: &mut Value, host: &str) {
        object["spec"]["hostnames"] = json!([host]);
    }

    fn put_timeout(&self, object: &mut Value) {
        object["spec"]["rules"][0]["timeouts"]["request"] = "30s".into();
    }

    fn mask(&self, object: &mut Value) {
        if let Some(rules) = object.pointer_mut("/spec/rules").and_then(Value::as_array_mut) {
            rules.retain(|rule| !chooses(rule));
            rules.iter_mut().for_each(take_copies_out);
        }
        if let Some(backends) = object.pointer_mut("/spec/rules/0/backendRefs") {
            *backends = Value::Null;
        }
    }

    fn shows(&self) -> Shows {
        Shows::Accepted
    }

    fn is_accepted(&self, object: &Value) -> bool {
        object.pointer("/status/parents/0/conditions").is_some_and(|conditions| all_true(object, conditions))
    }

    fn status(&self, object: &Value, words: Words) -> Option<Value> {
        let names_idle = || self.weights(&[object]).values().any(|weight| *weight == 0);
        let parents = match words {
            Words::Accepted => json!([parent(object, "public", None, None)]),
            Words::Refused => json!([parent(object, "public", Some("NotAllowed"), None)]),
            Words::AcceptedByOne => {
                json!([parent(object, "public", None, None), parent(object, "internal", Some("NotAllowed"), None)])
            }
            Words::Unresolved => json!([parent(object, "public", None, names_idle().then_some("BackendNotFound"))]),
            Words::Nothing => json!([]),
        };
        Some(json!({"parents": parents}))
    }
}

fn parent(route: &Value, name: &str, refused: Option<&str>, unresolved: Option<&str>) -> Value {
    let conditions = [condition(route, "Accepted", refused), condition(route, "ResolvedRefs", unresolved)];
    json!({"parentRef": {"name": name}, "controllerName": "example.com/gateway", "conditions": conditions})
}

fn rules(objects: Objects<'_>) -> impl Iterator<Item = &Value> {
    objects.iter().flat_map(|object| items(&object["spec"], "rules"))
}

/// The Service to which a filter sends copies.
fn copies_to(filter: &Value) -> Option<&str> {
    filter.pointer("/requestMirror/backendRef/name").and_then(Value::as_str)
}

/// The rule is not for everybody.
fn chooses(rule: &Value) -> bool {
    items(rule, "matches").any(|one| items(one, "headers").next().is_some())
}

/// The rule is for users with a cookie.
fn keeps(rule: &Value) -> bool {
    items(rule, "matches").any(|one| items(one, "headers").any(|header| header["name"] == "Cookie"))
}

fn take_copies_out(rule: &mut Value) {
    let Some(filters) = rule.get_mut("filters").and_then(Value::as_array_mut) else { return };
    filters.retain(|filter| !copies_to(filter).is_some_and(is_made));
    if filters.is_empty() {
        rule.as_object_mut().map(|fields| fields.remove("filters"));
    }
}
