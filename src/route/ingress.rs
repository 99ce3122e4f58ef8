//! What every Ingress has: a kind, and paths that lead to Services.

use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::Context;
use super::json::put;
use super::provider::resource;
use crate::backend;

/// The kind.
pub(super) fn ingress() -> ApiResource {
    resource("networking.k8s.io", "v1", "Ingress", "ingresses")
}

/// The Service that a path leads to.
pub(super) fn service_of(path: &Value) -> &str {
    path.pointer("/backend/service/name").and_then(Value::as_str).unwrap_or_default()
}

/// Leads a path to a member's backend.
pub(super) fn lead(path: &mut Value, context: &Context<'_>, member: &str) {
    let service =
        json!({"name": backend::name(context.service, member), "port": {"number": backend::port(context, member)}});
    put(path, "backend", json!({"service": service}));
}

/// Copies of a path that lead to these members.
pub(super) fn leading(context: &Context<'_>, path: &Value, members: &[&String]) -> Vec<Value> {
    let lead = |member: &&String| {
        let mut path = path.clone();
        lead(&mut path, context, member);
        path
    };
    members.iter().map(lead).collect()
}

/// A new Ingress whose only path leads to these members.
pub(super) fn draft(name: &str, context: &Context<'_>, hosts: &[String], members: &[&String]) -> DynamicObject {
    let paths = leading(context, &json!({"path": "/", "pathType": "Prefix"}), members);
    let rules: Vec<Value> = hosts.iter().map(|host| json!({"host": host, "http": {"paths": paths}})).collect();
    DynamicObject::new(name, &ingress()).within(context.namespace).data(json!({"spec": {"rules": rules}}))
}
