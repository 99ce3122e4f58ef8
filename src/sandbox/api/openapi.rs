//! As much of OpenAPI v3 as `kubectl` reads: that writes take `fieldValidation`, so that it leaves validation to the
//! server, and the schemas of custom resources, for `kubectl explain`.

use serde_json::{Map, Value, json};

use super::{
    answer::Answer,
    kind::{Kind, Kinds, Version, api_version},
    status::Failure,
};

/// Answers for what is behind `/openapi/v3`.
pub(super) fn answer(kinds: &Kinds, path: &[&str]) -> Result<Answer, Failure> {
    match path {
        [] => Ok(Answer::ok(index(kinds))),
        ["api", version] => Ok(Answer::ok(document(kinds, "", version))),
        ["apis", group, version] => Ok(Answer::ok(document(kinds, group, version))),
        _ => Err(Failure::NO_PATH),
    }
}

/// Where the documents are.
fn index(kinds: &Kinds) -> Value {
    let versions = kinds.iter().flat_map(|kind| kind.versions.iter().map(move |version| root(kind, version)));
    let paths: Map<String, Value> =
        versions.map(|root| (root.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{root}")}))).collect();
    json!({"paths": paths})
}

fn root(kind: &Kind, version: &Version) -> String {
    let prefix = if kind.group.is_empty() { "api" } else { "apis" };
    format!("{prefix}/{}", kind.api_version(version))
}

fn document(kinds: &Kinds, group: &str, version: &str) -> Value {
    let here =
        || kinds.iter().filter(|kind| kind.group == group).filter_map(|kind| Some((kind, kind.version(version)?)));
    let paths: Map<String, Value> = here().map(|(kind, version)| path(kind, version)).collect();
    let schemas: Map<String, Value> =
        here().map(|(kind, version)| (kind.kind.clone(), schema(kind, version))).collect();
    json!({
        "openapi": "3.0.0", "info": {"title": "sandbox", "version": api_version(group, version)},
        "paths": paths, "components": {"schemas": schemas}
    })
}

fn identity(kind: &Kind, version: &Version) -> Value {
    json!({"group": kind.group, "version": version.name, "kind": kind.kind})
}

fn path(kind: &Kind, version: &Version) -> (String, Value) {
    let namespace = if kind.namespaced { "namespaces/{namespace}/" } else { "" };
    let parameter = json!({"name": "fieldValidation", "in": "query", "schema": {"type": "string"}});
    let reads = json!({"x-kubernetes-group-version-kind": identity(kind, version), "responses": {}});
    let mut writes = reads.clone();
    writes["parameters"] = json!([parameter]);
    let path = format!("/{}/{namespace}{}/{{name}}", root(kind, version), kind.plural);
    (path, json!({"get": reads, "patch": writes}))
}

fn schema(kind: &Kind, version: &Version) -> Value {
    let mut schema = if kind.is_custom() { version.schema.source().clone() } else { json!({"type": "object"}) };
    schema["x-kubernetes-group-version-kind"] = json!([identity(kind, version)]);
    schema
}
