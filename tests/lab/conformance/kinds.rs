//! The kinds that cases are about: cutover's own, and two that are made for the purpose.

use super::{case::Case, side::Side};
use crate::wait::{eventually, seconds};
use anyhow::Result;
use serde_json::{Value, json};

/// Cutover's definitions, and: a namespaced `Thing` with everything that schemas have, a cluster-scoped `Plain` without
/// a status of its own.
pub fn definitions() -> Result<Vec<Value>> {
    let mut definitions = vec![thing(), plain()];
    definitions.extend(cutover::api::crd::definitions()?);
    Ok(definitions)
}

fn definition(kind: &str, scope: &str, subresources: &Value, spec: &Value) -> Value {
    let singular = kind.to_lowercase();
    let root = json!({"type": "object", "properties": {
        "spec": spec,
        "status": {"type": "object", "properties": {
            "phase": {"type": "string", "enum": ["Good", "Bad"]}, "seen": {"type": "integer"}
        }}
    }});
    let column = json!({"name": "Size", "type": "integer", "jsonPath": ".spec.size"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{singular}s.conformance.example.com")},
        "spec": {
            "group": "conformance.example.com", "scope": scope,
            "names": {"kind": kind, "plural": format!("{singular}s"), "singular": singular, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": root}, "additionalPrinterColumns": [column]
            }]
        }
    })
}

fn thing() -> Value {
    let part = json!({
        "type": "object", "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "maxLength": 5},
            "weight": {"type": "integer", "default": 1, "minimum": 0, "maximum": 100}
        }
    });
    let spec = json!({
        "type": "object", "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 0},
            "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
            "code": {"type": "string", "pattern": "^[a-z]+$"},
            "ratio": {"type": "number", "maximum": 0.5},
            "on": {"type": "boolean"},
            "parts": {"type": "array", "minItems": 1, "maxItems": 3, "items": part,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
            "tags": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 8}, "x-kubernetes-list-type": "set"},
            "words": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "string"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "maybe": {"type": "string", "nullable": true},
            "deep": {"type": "object", "default": {"level": 2}, "properties": {
                "level": {"type": "integer"}, "mode": {"type": "string", "default": "easy"}
            }},
            "choice": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
        },
        "x-kubernetes-validations": [
            {"rule": "self.size != 13", "message": "not thirteen"},
            {"rule": "!has(oldSelf.code) || (has(self.code) && self.code == oldSelf.code)", "message": "the code stays"}
        ]
    });
    definition("Thing", "Namespaced", &json!({"status": {}}), &spec)
}

fn plain() -> Value {
    let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    definition("Plain", "Cluster", &json!({}), &spec)
}

/// Creates a definition and waits until its kind is served.
pub async fn install(side: &mut Side, definition: &Value) -> Result<()> {
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    // The lab has cutover's kinds already, and another test of this file may have made ours.
    if side.must(&Case::new("GET", &format!("{crds}/{name}"), "")).await.is_err() {
        let _another_was_faster = side.must(&Case::new("POST", crds, &definition.to_string())).await;
    }
    let spec = &definition["spec"];
    let (group, version) = (&spec["group"], &spec["versions"][0]["name"]);
    let list = format!("/apis/{group}/{version}/{}", spec["names"]["plural"]).replace('"', "");
    eventually(&list, seconds(20), async || side.must(&Case::new("GET", &list, "")).await.map(|_| ())).await
}

/// Where the objects with this short name are.
pub fn path(short: &str, namespace: &str) -> Option<String> {
    let custom = |plural: &str| format!("/apis/conformance.example.com/v1/{plural}");
    let namespaced = |group: &str, plural: &str| format!("/{group}/namespaces/{namespace}/{plural}");
    Some(match short {
        "things" => namespaced("apis/conformance.example.com/v1", "things"),
        "plains" => custom("plains"),
        "requests" => namespaced("apis/cutover.dev/v1alpha1", "rolloutrequests"),
        "rollouts" => namespaced("apis/cutover.dev/v1alpha1", "fleetrollouts"),
        "members" => "/apis/cutover.dev/v1alpha1/memberclusters".to_owned(),
        "services" | "configmaps" | "secrets" | "events" => namespaced("api/v1", short),
        "namespaces" => "/api/v1/namespaces".to_owned(),
        "newevents" => namespaced("apis/events.k8s.io/v1", "events"),
        "leases" => namespaced("apis/coordination.k8s.io/v1", short),
        "slices" => namespaced("apis/discovery.k8s.io/v1", "endpointslices"),
        "ingresses" => namespaced("apis/networking.k8s.io/v1", short),
        _ => return None,
    })
}

/// What an object at a path is.
pub fn kind(path: &str) -> Option<(&'static str, &'static str)> {
    let kinds = [
        ("/things", "conformance.example.com/v1", "Thing"),
        ("/plains", "conformance.example.com/v1", "Plain"),
        ("/rolloutrequests", "cutover.dev/v1alpha1", "RolloutRequest"),
        ("/fleetrollouts", "cutover.dev/v1alpha1", "FleetRollout"),
        ("/memberclusters", "cutover.dev/v1alpha1", "MemberCluster"),
    ];
    kinds.into_iter().find(|(part, ..)| path.contains(part)).map(|(_, version, kind)| (version, kind))
}
