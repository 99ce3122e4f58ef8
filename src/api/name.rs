//! Names as Kubernetes allows them: the patterns that the CRDs carry.

use serde_json::{Value, json};

/// A DNS label, such as the name of a Service or of a namespace; at most 63 characters.
pub const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// DNS labels with dots between them, such as the name of a route or of a Secret; at most 253 characters.
pub const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A namespace and a name in it.
pub const PLACE: &str =
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A host name that clients use; its first label may be `*`.
pub const HOST: &str = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// A rule of a route, by name or by place.
pub const RULE: &str = r"^(#[0-9]{1,3}|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$";
/// An entry of a VirtualService: one of its HTTP routes by name, or any by its list and place.
pub const ENTRY: &str = "^((tcp|tls)?#[0-9]{1,3}|[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?)$";
/// A Gateway of Istio in its namespace, or all sidecars.
pub const GATEWAY: &str =
    r"^(mesh|[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$";
/// A key of a Secret.
pub const KEY: &str = "^[-._a-zA-Z0-9]+$";

/// A key of a label, with its optional prefix.
pub const LABEL_KEY: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";

/// The schema of a host that a mesh knows.
pub(super) fn host() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 253, "pattern": SUBDOMAIN})
}

/// The schema of a label's value.
pub(super) fn label_value() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"})
}

/// The schema of a Service's name. The API server may let it begin with a digit, so this does too.
pub(super) fn service() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 63, "pattern": LABEL})
}
