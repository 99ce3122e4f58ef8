//! HTTPProxy of Contour. Its second route is for other requests, and not the hub's.

use std::{collections::BTreeSet, sync::LazyLock};

use serde_json::{Value, json};

use super::{
    COPIED, Can, Form, MATCHED, Objects, Shows, Weights, Words, all_true, condition, definition, items, items_mut,
};

pub struct HttpProxy;

static DEFINITION: LazyLock<Value> =
    LazyLock::new(|| definition("projectcontour.io", "v1", "HTTPProxy", "httpproxies"));

/// Where the requests begin that are not the hub's.
const ELSEWHERE: &str = "/admin";

impl Form for HttpProxy {
    fn api(&self) -> &'static str {
        "/apis/projectcontour.io/v1"
    }

    fn plural(&self) -> &'static str {
        "httpproxies"
    }

    fn definition(&self) -> Option<&'static Value> {
        Some(&DEFINITION)
    }

    fn can(&self) -> Can {
        Can { copy: true, keep_users: false, members: 64 }
    }

    fn declared(&self, name: &str) -> Value {
        json!({"contour": {"name": name, "rules": ["#0"]}})
    }

    fn written(&self, name: &str, backends: &[(String, u32)]) -> Value {
        let service = |(name, weight): &(String, u32)| json!({"name": name, "port": 80, "weight": weight});
        let services: Vec<Value> = backends.iter().map(service).collect();
        json!({
            "apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy",
            "metadata": {"name": name, "namespace": "shop", "annotations": {"team": "web"}},
            "spec": {"virtualhost": {"fqdn": format!("{name}.example.com")}, "routes": [
                {"conditions": [{"prefix": "/"}], "timeoutPolicy": {"response": "10s"}, "services": services},
                {"conditions": [{"prefix": ELSEWHERE}], "services": [{"name": "bystander", "port": 80}]},
            ]},
        })
    }

    fn weights(&self, objects: Objects<'_>) -> Weights {
        let mut weights = Weights::new();
        for route in routes(objects).filter(|route| !is_elsewhere(route)) {
            let behind = if chooses(route) { MATCHED.to_string() } else { String::new() };
            for (service, weight) in divided(route) {
                *weights.entry(format!("{service}{behind}")).or_default() += weight;
            }
            let copies = items(route, "services").filter(|service| is_copy(service));
            weights.extend(copies.map(|service| (format!("{}{COPIED}", name_of(service)), weight_of(service))));
        }
        weights
    }

    fn keeping(&self, _objects: Objects<'_>) -> BTreeSet<String> {
        BTreeSet::new()
    }

    fn put(&self, object: &mut Value, weights: &Weights) {
        let services = object.pointer_mut("/spec/routes/0/services").and_then(Value::as_array_mut);
        for service in services.into_iter().flatten().filter(|service| !is_copy(service)) {
            service["weight"] = weights.get(name_of(service)).copied().unwrap_or(0).into();
        }
    }

    fn put_host(&self, object: &mut Value, host: &str) {
        object["spec"]["virtualhost"]["fqdn"] = host.into();
    }

    fn put_timeout(&self, object: &mut Value) {
        object["spec"]["routes"][0]["timeoutPolicy"]["response"] = "30s".into();
    }

    fn mask(&self, object: &mut Value) {
        if let Some(routes) = object.pointer_mut("/spec/routes").and_then(Value::as_array_mut) {
            routes.retain(|route| !chooses(route));
        }
        for route in items_mut(&mut object["spec"], "routes").filter(|route| !is_elsewhere(route)) {
            route["services"] = Value::Null;
        }
    }

    fn shows(&self) -> Shows {
        Shows::Accepted
    }

    fn is_accepted(&self, object: &Value) -> bool {
        all_true(object, &object["status"]["conditions"])
    }

    fn status(&self, object: &Value, words: Words) -> Option<Value> {
        let conditions = match words {
            Words::Accepted => json!([condition(object, "Valid", None)]),
            Words::Refused => json!([condition(object, "Valid", Some("ErrorPresent"))]),
            Words::Nothing => json!([]),
            Words::AcceptedByOne | Words::Unresolved => return None,
        };
        Some(json!({"conditions": conditions}))
    }
}

fn routes(objects: Objects<'_>) -> impl Iterator<Item = &Value> {
    objects.iter().flat_map(|object| items(&object["spec"], "routes"))
}

fn is_elsewhere(route: &Value) -> bool {
    items(route, "conditions").any(|condition| condition["prefix"] == ELSEWHERE)
}

/// The route is not for everybody.
fn chooses(route: &Value) -> bool {
    items(route, "conditions").any(|condition| condition["header"].is_object())
}

fn is_copy(service: &Value) -> bool {
    service["mirror"] == true
}

fn name_of(service: &Value) -> &str {
    service["name"].as_str().unwrap_or_default()
}

fn weight_of(service: &Value) -> u32 {
    service["weight"].as_u64().and_then(|weight| u32::try_from(weight).ok()).unwrap_or(0)
}

/// How Contour divides the requests of a route: where no service has a weight, each gets as much as the others.
fn divided(route: &Value) -> Vec<(String, u32)> {
    let services: Vec<&Value> = items(route, "services").filter(|service| !is_copy(service)).collect();
    let none = services.iter().all(|service| weight_of(service) == 0);
    services
        .into_iter()
        .map(|service| (name_of(service).to_owned(), if none { 1 } else { weight_of(service) }))
        .collect()
}
