//! Many plans on one API server: what each of them calls `shop` and `eu-1` has another name there.
//!
//! Namespaces, members and the hub's Lease get a prefix on the way to the server and lose it during a rollback, every object gets a label,
//! and whoever asks for all objects of a kind is given those with the label. So no hub sees another plan's objects.
//! What refers to a member, such as a Service's annotation, needs no other name: only the hub reads it, and to the hub a
//! member is `eu-1`.

use http::{Method, Uri};
use serde_json::Value;

use super::target::Target;

/// Namespaces of a plan.
const NAMESPACES: [&str; 3] = ["shop", "cutover-system", "other"];
const LABEL: &str = "sample";
/// Kinds whose objects every plan shares.
const SHARED: [&str; 1] = ["customresourcedefinitions"];

pub struct Names {
    /// It occurs nowhere but where it was put.
    prefix: String,
}

impl Names {
    pub fn new(number: usize) -> Self {
        Self { prefix: format!("plan{number}-") }
    }

    /// The selector of everything that belongs to the plan.
    pub fn selector(&self) -> String {
        format!("{LABEL}%3D{}x", self.prefix)
    }

    /// Where the server has what is requested.
    pub fn uri(&self, target: &Target) -> Uri {
        let Target { group, version, plural, namespace, name, subresource, .. } = target;
        let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let within = namespace.as_ref().map(|namespace| format!("namespaces/{}", self.namespace(namespace)));
        let name = Some(self.name(plural, name)).filter(|name| !name.is_empty());
        let parts = [Some(root), within, Some(plural.clone()), name, subresource.clone()];
        let path = parts.into_iter().flatten().collect::<Vec<_>>().join("/");
        let of_all_plans = target.method == Method::GET && target.is_whole() && !SHARED.contains(&plural.as_str());
        let query = if of_all_plans { self.selecting(target) } else { target.query().to_owned() };
        let uri = if query.is_empty() { path } else { format!("{path}?{query}") };
        uri.parse().expect("a path of Kubernetes")
    }

    fn name(&self, plural: &str, name: &str) -> String {
        match plural {
            "namespaces" => self.namespace(name),
            "memberclusters" | "leases" if !name.is_empty() => format!("{}{name}", self.prefix),
            _ => name.to_owned(),
        }
    }

    fn selecting(&self, target: &Target) -> String {
        let others = target.query().split('&').filter(|part| !part.is_empty() && !part.starts_with("labelSelector="));
        let mut parts: Vec<String> = others.map(str::to_owned).collect();
        let selector = target.option("labelSelector").filter(|selector| !selector.is_empty());
        let selector = selector.map_or_else(|| self.selector(), |own| format!("{own}%2C{}", self.selector()));
        parts.push(format!("labelSelector={selector}"));
        parts.join("&")
    }

    /// A body as the server shall see it.
    pub fn body(&self, target: &Target, bytes: Vec<u8>) -> Vec<u8> {
        let Ok(mut body) = serde_json::from_slice::<Value>(&bytes) else { return bytes };
        self.namespaces(&mut body);
        let whole = target.method == Method::POST || target.method == Method::PUT;
        if whole && !SHARED.contains(&target.plural.as_str()) {
            self.own(target, &mut body);
        }
        body.to_string().into_bytes()
    }

    fn own(&self, target: &Target, object: &mut Value) {
        object["metadata"]["labels"][LABEL] = format!("{}x", self.prefix).into();
        if let Some(name) = object["metadata"]["name"].as_str().map(|name| self.name(&target.plural, name)) {
            object["metadata"]["name"] = name.into();
        }
    }

    fn namespaces(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    match field {
                        Value::String(name) if key == "namespace" => *name = self.namespace(name),
                        field => self.namespaces(field),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.namespaces(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn namespace(&self, name: &str) -> String {
        if NAMESPACES.contains(&name) { format!("{}{name}", self.prefix) } else { name.to_owned() }
    }

    /// An answer as the plan shall see it.
    pub fn shown(&self, bytes: &[u8]) -> Vec<u8> {
        String::from_utf8_lossy(bytes).replace(&self.prefix, "").into_bytes()
    }
}

/// The person in whose name a request is made of a rollout.
pub fn requested_by(target: &Target, body: &[u8]) -> Option<String> {
    let asks = target.plural == "rolloutrequests" && target.method == Method::POST;
    let object = serde_json::from_slice::<Value>(body).ok().filter(|_| asks)?;
    object["spec"]["requestedBy"].as_str().map(str::to_owned)
}
