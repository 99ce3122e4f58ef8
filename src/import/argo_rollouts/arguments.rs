//! Arguments of an analysis, written into the texts of its templates.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::import::{
    fields::Fields,
    foreign::Foreign,
    remarks::{Remarks, shown},
};

/// The value of an argument, or why it has none here.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Argument {
    Known(String),
    Unknown(String),
}

/// Arguments by name.
pub(super) type Arguments = BTreeMap<String, Argument>;

/// Reads `args`: values, or where they come from.
pub(super) fn arguments(fields: &mut Fields<'_>, rollout: Option<&Foreign>, remarks: &mut Remarks) -> Arguments {
    let mut arguments = Arguments::new();
    fields.each("args", remarks, |fields, remarks| {
        let Some(name) = fields.take::<String>("name", remarks) else { return };
        let value = fields.any("value").map(|value| Argument::Known(text(&value)));
        let from = fields.any("valueFrom").map(|from| of_source(&from, rollout));
        if let Some(argument) = value.or(from) {
            arguments.insert(name, argument);
        }
    });
    arguments
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn of_source(from: &Value, rollout: Option<&Foreign>) -> Argument {
    let unknown = |why: &str| Argument::Unknown(why.to_owned());
    if from["podTemplateHashValue"].is_string() {
        return unknown("names Pods by the hash of a ReplicaSet; select the Service by {{ backend }} instead");
    }
    if from["secretKeyRef"].is_object() {
        return unknown("comes from a Secret, and a query holds none");
    }
    let path = from["fieldRef"]["fieldPath"].as_str().unwrap_or_default();
    match rollout.and_then(|rollout| field(&rollout.document.value, path)) {
        Some(value) => Argument::Known(value),
        None => Argument::Unknown(format!("comes from the field {:?}, which the manifest does not have", shown(path))),
    }
}

/// A field of the Rollout, such as `metadata.labels['region']`.
fn field(object: &Value, path: &str) -> Option<String> {
    let mut value = object;
    for part in path.split('.') {
        let (name, key) = part.split_once("['").map_or((part, None), |(name, key)| (name, key.strip_suffix("']")));
        value = value.get(name)?;
        if let Some(key) = key {
            value = value.get(key)?;
        }
    }
    if value.is_object() || value.is_array() { None } else { Some(text(value)) }
}

/// A text with its arguments written in.
///
/// # Errors
/// When one has no value: its name, and why.
pub(super) fn filled(template: &str, arguments: &Arguments) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { return Err("a {{ without its }}".to_owned()) };
        let name = name.trim().trim_start_matches("args.");
        text.push_str(before);
        match arguments.get(name) {
            Some(Argument::Known(value)) if value.contains("{{") => {
                return Err(format!("argument {} holds {{{{", shown(name)));
            }
            Some(Argument::Known(value)) => text.push_str(value),
            Some(Argument::Unknown(why)) => return Err(format!("argument {} {why}", shown(name))),
            None => return Err(format!("argument {} has no value", shown(name))),
        }
        rest = after;
    }
    Ok(text + rest)
}
