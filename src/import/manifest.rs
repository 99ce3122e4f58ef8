//! An object of cutover with its comments: only what differs from the defaults is written.

use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;

use super::{Translated, foreign::Foreign, remarks::Remarks, writer};
use crate::{
    api::crd,
    yaml::{self, Ordered},
};

/// The object as a manifest.
pub(super) fn manifest(object: &impl Serialize, of: &Foreign, remarks: &Remarks) -> Translated {
    let mut document = yaml::ordered(object).unwrap_or(Ordered::Map(Vec::new()));
    let schema = schema(&document);
    if let Ordered::Map(fields) = &mut document {
        for (key, value) in fields {
            match key.as_str() {
                "metadata" => name_first(value),
                "spec" => leave_defaults_out(value, &schema),
                _ => {}
            }
        }
    }
    let text = writer::written(&document, remarks);
    Translated { of: of.title(), file: of.file.clone(), line: of.document.line(""), text }
}

/// They are made of types, which takes a while.
static DEFINITIONS: LazyLock<Vec<Value>> = LazyLock::new(|| crd::definitions().unwrap_or_default());

/// The schema of the spec of the document's kind.
fn schema(document: &Ordered) -> Value {
    let Ordered::Map(fields) = document else { return Value::Null };
    let kind = fields.iter().find(|(key, _)| key == "kind").map(|(_, kind)| value(kind));
    let definition = DEFINITIONS.iter().find(|known| Some(&known["spec"]["names"]["kind"]) == kind.as_ref());
    definition.map_or(Value::Null, |definition| crd::schema(definition)["properties"]["spec"].clone())
}

fn name_first(metadata: &mut Ordered) {
    if let Ordered::Map(fields) = metadata {
        fields.sort_by_key(|(key, _)| !["name", "namespace"].contains(&key.as_str()));
    }
}

/// Fields that are written even so: what they say is to be looked at.
const SHOWN: [&str; 2] = ["backend", "limit"];

/// Takes out every field that says what it would be without it.
fn leave_defaults_out(node: &mut Ordered, schema: &Value) {
    match node {
        Ordered::Scalar(_) => {}
        Ordered::List(entries) => entries.iter_mut().for_each(|entry| leave_defaults_out(entry, &schema["items"])),
        Ordered::Map(fields) => {
            let of = |key: &str| &schema["properties"][key];
            fields
                .retain(|(key, field)| SHOWN.contains(&key.as_str()) || of(key).get("default") != Some(&value(field)));
            for (key, field) in fields {
                leave_defaults_out(field, of(key));
            }
        }
    }
}

fn value(node: &Ordered) -> Value {
    match node {
        Ordered::Scalar(value) => value.clone(),
        Ordered::List(entries) => entries.iter().map(value).collect(),
        Ordered::Map(fields) => fields.iter().map(|(key, field)| (key.clone(), value(field))).collect(),
    }
}
