//! The kind `HTTPRoute` of Gateway API, as far as it concerns weights.

use serde_json::{Value, json};

/// Its `CustomResourceDefinition`. Fields that are not about weights are kept as they are, unlike those of the real one,
/// which knows them all.
pub fn definition() -> Value {
    let backend = json!({
        "type": "object",
        "required": ["name"],
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "group": {"type": "string", "default": ""},
            "kind": {"type": "string", "default": "Service"},
            "name": {"type": "string"},
            "port": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
            "weight": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 1_000_000, "default": 1},
        },
    });
    let rule = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "name": {"type": "string"},
            "backendRefs": {"type": "array", "maxItems": 16, "items": backend},
        },
    });
    let spec = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "hostnames": {"type": "array", "maxItems": 16, "items": {"type": "string"}},
            "rules": {"type": "array", "maxItems": 16, "items": rule},
        },
    });
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}});
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [
            {"name": "Hostnames", "type": "string", "jsonPath": ".spec.hostnames"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "httproutes.gateway.networking.k8s.io",
            // A group below k8s.io needs to say who approved it.
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/3328"},
        },
        "spec": {
            "group": "gateway.networking.k8s.io",
            "names": {"kind": "HTTPRoute", "listKind": "HTTPRouteList", "plural": "httproutes", "singular": "httproute"},
            "scope": "Namespaced",
            "versions": [version],
        },
    })
}
