//! Custom resource definitions: each makes a kind, at once.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    field_error::FieldError,
    json::text,
    kind::{Column, Kind, Nature, Version},
    meta,
    schema::{Schema, with_metadata},
};

/// The kind that a definition makes.
///
/// # Errors
/// Words about a schema that cannot be compiled.
pub(super) fn kind(definition: &Value) -> Result<Kind, String> {
    let spec = &definition["spec"];
    let names = &spec["names"];
    let kind = text(names, "/kind").to_owned();
    let or = |pointer: &str, otherwise: String| {
        let given = text(names, pointer);
        if given.is_empty() { otherwise } else { given.to_owned() }
    };
    let served = spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true);
    Ok(Kind {
        group: text(spec, "/group").to_owned(),
        plural: text(names, "/plural").to_owned(),
        singular: or("/singular", kind.to_lowercase()),
        list: or("/listKind", format!("{kind}List")),
        short_names: words(&names["shortNames"]),
        categories: words(&names["categories"]),
        namespaced: text(spec, "/scope") == "Namespaced",
        versions: served.map(version).collect::<Result<_, _>>()?,
        nature: Nature::Custom,
        kind,
    })
}

/// What is wrong with a definition: it is named after its resource, which is in a group of its own.
pub(super) fn errors(definition: &Value) -> Vec<FieldError> {
    let (group, plural) = (text(definition, "/spec/group"), text(definition, "/spec/names/plural"));
    let name = text(definition, "/metadata/name");
    let mut errors = Vec::new();
    if name != format!("{plural}.{group}") {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", &json!(name), detail));
    }
    if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", &json!(group), detail));
    }
    errors
}

/// Fills in what a definition may leave out.
pub(super) fn complete(definition: &mut Value) {
    let kind = text(definition, "/spec/names/kind").to_owned();
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        names.entry("singular").or_insert_with(|| kind.to_lowercase().into());
        names.entry("listKind").or_insert_with(|| format!("{kind}List").into());
    }
}

/// What the real server's controllers write into a definition's status, some moments later.
pub(super) fn establish(definition: &mut Value, at: Timestamp) {
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    let stored: Vec<&Value> =
        versions.filter(|version| version["storage"] == true).map(|version| &version["name"]).collect();
    let accepted = [
        condition("NamesAccepted", "NoConflicts", "no conflicts found", at),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted", at),
    ];
    // Accepted once, accepted for good.
    let before = definition.pointer("/status/conditions").filter(|before| before.is_array());
    let conditions = before.cloned().unwrap_or_else(|| json!(accepted));
    definition["status"] = json!({"acceptedNames": spec["names"], "conditions": conditions, "storedVersions": stored});
}

fn condition(kind: &str, reason: &str, message: &str, at: Timestamp) -> Value {
    json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": meta::time(at)})
}

fn version(version: &Value) -> Result<Version, String> {
    let schema = version["schema"]["openAPIV3Schema"].clone();
    let columns = version["additionalPrinterColumns"].as_array().into_iter().flatten().map(column);
    let age = || vec![column(&json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}))];
    let columns: Vec<Column> = columns.collect();
    Ok(Version {
        name: text(version, "/name").to_owned(),
        status: version["subresources"]["status"].is_object(),
        schema: Schema::compile(with_metadata_type(schema))?,
        columns: if columns.is_empty() { age() } else { columns },
    })
}

/// Every object has metadata, whether its schema says so or not.
fn with_metadata_type(schema: Value) -> Value {
    let rules = schema["properties"]["metadata"]["properties"]["name"].clone();
    let mut schema = with_metadata(schema);
    if !rules.is_null() {
        schema["properties"]["metadata"]["properties"]["name"] = rules;
    }
    schema
}

fn column(column: &Value) -> Column {
    let path = text(column, "/jsonPath");
    let described = format!("Custom resource definition column (in JSONPath format): {path}");
    Column {
        name: text(column, "/name").to_owned(),
        r#type: text(column, "/type").to_owned(),
        format: text(column, "/format").to_owned(),
        description: column["description"].as_str().map_or(described, str::to_owned),
        priority: column["priority"].as_i64().unwrap_or_default(),
        path: path.to_owned(),
    }
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::crd::definitions;

    #[test]
    fn our_own_definitions_make_kinds() {
        let kinds: Vec<Kind> = definitions().unwrap().iter().map(|definition| kind(definition).unwrap()).collect();
        let rollout = kinds.iter().find(|kind| kind.kind == "FleetRollout").unwrap();
        assert_eq!((rollout.plural.as_str(), rollout.singular.as_str()), ("fleetrollouts", "fleetrollout"));
        assert!(rollout.namespaced && rollout.versions[0].status && rollout.versions[0].columns.len() > 3);
    }
}
