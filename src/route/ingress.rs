//! What every Ingress has: a kind, and paths that lead to Services.

use kube::core::ApiResource;
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
