//! An Ingress of ingress-nginx, and the canary Ingress that the hub makes beside it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Can, Form, MATCHED, Objects, Shows, Weights, items, items_mut};

pub struct CanaryIngress;

const PREFIX: &str = "nginx.ingress.kubernetes.io";
const BEHIND: &str = "-canary";
/// Where the requests begin that are not the hub's.
const ELSEWHERE: &str = "/admin";

impl Form for CanaryIngress {
    fn api(&self) -> &'static str {
        "/apis/networking.k8s.io/v1"
    }

    fn plural(&self) -> &'static str {
        "ingresses"
    }

    fn definition(&self) -> Option<&'static Value> {
        None
    }

    fn can(&self) -> Can {
        Can { copy: false, keep_users: false, members: 2 }
    }

    fn declared(&self, name: &str) -> Value {
        json!({"nginx": {"name": name}})
    }

    /// An Ingress leads to one Service: to the one with the most.
    fn written(&self, name: &str, backends: &[(String, u32)]) -> Value {
        let backend = backends.iter().max_by_key(|(_, weight)| *weight).map(|(name, _)| name.as_str());
        let to = |service: &str| json!({"service": {"name": service, "port": {"number": 80}}});
        let paths = json!([
            {"path": "/", "pathType": "Prefix", "backend": to(backend.unwrap_or_default())},
            {"path": ELSEWHERE, "pathType": "Prefix", "backend": to("bystander")},
        ]);
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": name, "namespace": "shop",
                         "annotations": {"team": "web", format!("{PREFIX}/load-balance"): "ewma"}},
            "spec": {"ingressClassName": "nginx",
                     "rules": [{"host": format!("{name}.example.com"), "http": {"paths": paths}}]},
        })
    }

    fn names(&self, route: &str) -> Vec<String> {
        vec![route.to_owned(), format!("{route}{BEHIND}")]
    }

    fn route_of<'n>(&self, object: &'n str) -> &'n str {
        object.strip_suffix(BEHIND).unwrap_or(object)
    }

    /// The canary takes its part, unless both lead to one Service.
    fn weights(&self, objects: Objects<'_>) -> Weights {
        let [stable, canary] = objects else { return Weights::new() };
        let (kept, taken) = (led_to(stable), led_to(canary));
        let applies = is_canary(canary) && kept != taken;
        let (part, total) = if applies { share(canary) } else { (0, 100) };
        let mut weights = Weights::from([(kept.to_owned(), total - part)]);
        if applies {
            weights.insert(taken.to_owned(), part);
        }
        if applies && annotation(canary, "canary-by-header").is_some() {
            weights.insert(format!("{taken}{MATCHED}"), total);
        }
        weights
    }

    /// A canary for other requests than its Ingress takes nothing.
    fn served(&self, objects: Objects<'_>) -> Weights {
        match objects {
            [stable, canary] if places(stable) != places(canary) => self.weights(&[stable, &Value::Null]),
            _ => self.weights(objects),
        }
    }

    fn keeping(&self, _objects: Objects<'_>) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// The canary takes what its Service shall get; an Ingress whose Service shall get nothing is led to who gets most.
    fn put(&self, object: &mut Value, weights: &Weights) {
        let wanted = weights.get(led_to(object)).copied().unwrap_or(0);
        if is_canary(object) {
            object["metadata"]["annotations"][format!("{PREFIX}/canary-weight")] = wanted.to_string().into();
            return;
        }
        let most = weights.iter().max_by_key(|(_, weight)| **weight).map(|(name, _)| name.clone());
        for path in paths_mut(object).filter(|_| wanted == 0).filter(|path| is_ours(path)) {
            path["backend"]["service"]["name"] = most.clone().unwrap_or_default().into();
        }
    }

    fn put_host(&self, object: &mut Value, host: &str) {
        if !is_canary(object) {
            object["spec"]["rules"][0]["host"] = host.into();
        }
    }

    fn put_timeout(&self, object: &mut Value) {
        object["metadata"]["annotations"][format!("{PREFIX}/proxy-read-timeout")] = "30".into();
    }

    /// Of the Ingress that the user wrote, where its paths lead; the canary is the hub's own.
    fn mask(&self, object: &mut Value) {
        if is_canary(object) {
            *object = Value::Null;
            return;
        }
        for path in paths_mut(object).filter(|path| is_ours(path)) {
            path["backend"] = Value::Null;
        }
    }

    fn shows(&self) -> Shows {
        Shows::Stored
    }
}

fn paths(ingress: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    items(&ingress["spec"], "rules").flat_map(|rule| items(&rule["http"], "paths").map(|path| (&rule["host"], path)))
}

fn paths_mut(ingress: &mut Value) -> impl Iterator<Item = &mut Value> {
    items_mut(&mut ingress["spec"], "rules").flat_map(|rule| items_mut(&mut rule["http"], "paths"))
}

fn service_of(path: &Value) -> &str {
    path.pointer("/backend/service/name").and_then(Value::as_str).unwrap_or_default()
}

fn is_ours(path: &Value) -> bool {
    path["path"] != ELSEWHERE
}

/// The one Service to which an Ingress leads; none where it leads to several.
fn led_to(ingress: &Value) -> &str {
    let mut services: Vec<&str> =
        paths(ingress).map(|(_, path)| path).filter(|path| is_ours(path)).map(service_of).collect();
    services.dedup();
    if let [one] = services[..] { one } else { "" }
}

/// Hosts and paths of the requests that are ours.
fn places(ingress: &Value) -> BTreeSet<String> {
    paths(ingress).filter(|(_, path)| is_ours(path)).map(|(host, path)| format!("{host}{}", path["path"])).collect()
}

fn annotation<'v>(ingress: &'v Value, name: &str) -> Option<&'v str> {
    ingress["metadata"]["annotations"][format!("{PREFIX}/{name}")].as_str()
}

fn is_canary(ingress: &Value) -> bool {
    annotation(ingress, "canary") == Some("true")
}

/// The part that a canary takes, and of how many.
fn share(canary: &Value) -> (u32, u32) {
    let number = |name: &str| annotation(canary, name).and_then(|text| text.parse::<u32>().ok());
    let total = number("canary-weight-total").unwrap_or(100);
    (number("canary-weight").unwrap_or(0).min(total), total)
}
