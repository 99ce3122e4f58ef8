//! The rules that a definition gives its objects: which fields there are, their defaults, bounds and CEL rules.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use jsonschema::Draft;
use kube::core::cel::{self, CompiledSchema};
use serde_json::{Map, Value, json};

use super::{
    field_error::FieldError,
    json::child,
    violation::{at, field_errors, type_name},
};

/// A compiled schema. An empty one allows everything.
#[derive(Debug)]
pub(super) struct Schema {
    source: Value,
    shape: Option<jsonschema::Validator>,
    rules: Option<Rules>,
}

/// By their sources: one process may run thousands of servers, and all are given the same few definitions.
static COMPILED: LazyLock<Mutex<HashMap<Value, Arc<Schema>>>> = LazyLock::new(Mutex::default);

/// CEL rules, each with the field that it is about, so that what a write leaves as it was is not evaluated again.
#[derive(Debug)]
struct Rules {
    here: Option<Here>,
    fields: Vec<(String, Rules)>,
}

/// The rules of one place, and the fields that they read; none named is all.
#[derive(Debug)]
struct Here {
    rules: CompiledSchema,
    reads: Option<Vec<String>>,
}

impl Schema {
    /// Kinds that are known from the start say no more than how their lists and maps are merged.
    pub(super) fn merging(source: Value) -> Self {
        Self { rules: None, shape: None, source }
    }

    /// The schema of a definition's version.
    ///
    /// # Errors
    /// Words about what cannot be compiled.
    pub(super) fn compile(source: Value) -> Result<Arc<Self>, String> {
        let mut known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(schema) = known.get(&source) {
            return Ok(schema.clone());
        }
        let mut plain = source.clone();
        translate(&mut plain);
        let options = jsonschema::options().with_draft(Draft::Draft4);
        let shape = options.build(&plain).map_err(|error| error.to_string())?;
        let schema = Arc::new(Self { rules: Rules::of(&source), shape: Some(shape), source: source.clone() });
        known.insert(source, schema.clone());
        Ok(schema)
    }

    pub(super) const fn source(&self) -> &Value {
        &self.source
    }

    /// Takes away what the schema does not know, and says where that was.
    pub(super) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        if self.shape.is_some() {
            prune(&self.source, object, "", &mut unknown);
        }
        unknown.sort();
        unknown
    }

    /// Fills in defaults. A null that may not be one counts as left out.
    pub(super) fn default(&self, object: &mut Value) {
        default(&self.source, object);
    }

    /// Everything that is wrong with an object, which was pruned and has its defaults.
    /// `errors` are those that were found before.
    pub(super) fn check(&self, object: &Value, old: Option<&Value>, mut errors: Vec<FieldError>) -> Vec<FieldError> {
        let Some(shape) = &self.shape else { return errors };
        if !shape.is_valid(object) {
            errors.extend(shape.iter_errors(object).flat_map(|error| field_errors(&error)));
        }
        repeated(&self.source, object, "", &mut errors);
        let Some(rules) = &self.rules else { return errors };
        if !errors.iter().any(FieldError::is_blocking) {
            errors.extend(rules.errors(object, old));
            return errors;
        }
        let unchecked = "some validation rules were not checked because the object was invalid; \
                         correct the existing errors to complete validation";
        errors.push(FieldError::invalid("", &Value::Null, unchecked));
        errors
    }
}

impl Rules {
    /// The rules of a schema, if it has any.
    fn of(schema: &Value) -> Option<Self> {
        if !has_rules(schema) {
            return None;
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        let fields = properties.filter_map(|(key, field)| Some((key.clone(), Self::of(field)?))).collect();
        let mut rest = schema.clone();
        let properties = rest.get_mut("properties").and_then(Value::as_object_mut);
        properties.into_iter().flat_map(Map::values_mut).for_each(take_rules_out);
        Some(Self { here: has_rules(&rest).then(|| Here::of(rest)), fields })
    }

    fn errors(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut broken = Vec::new();
        self.collect("", object, old, &mut broken);
        // The rules are walked in the order of a hash map.
        broken.sort_by(|a, b| (&a.field_path, &a.rule).cmp(&(&b.field_path, &b.rule)));
        let said = |error: &cel::ValidationError| {
            let shown = json!(type_name(at(object, &error.field_path)));
            FieldError::invalid(&error.field_path, &shown, &error.message)
        };
        broken.iter().map(said).collect()
    }

    /// What was admitted and stays as it was, stays: the real server goes on from that too (ratcheting).
    fn collect(&self, path: &str, value: &Value, old: Option<&Value>, broken: &mut Vec<cel::ValidationError>) {
        if old == Some(value) {
            return;
        }
        let here = self.here.iter().flat_map(|here| here.broken(path, value, old));
        broken.extend(here.map(|mut error| {
            error.field_path = below_path(path, &error.field_path);
            error
        }));
        for (key, rules) in &self.fields {
            if let Some(field) = value.get(key) {
                rules.collect(&child(path, key), field, old.and_then(|old| old.get(key)), broken);
            }
        }
    }
}

/// A field, as rules see it: no more of an object's own metadata than the names.
fn readable(path: &str, key: &str, field: &Value) -> Value {
    match field {
        Value::Object(metadata) if path.is_empty() && key == "metadata" => {
            let names = metadata.iter().filter(|(key, _)| ["name", "generateName"].contains(&key.as_str()));
            names.map(|(key, name)| (key.clone(), name.clone())).collect()
        }
        field => field.clone(),
    }
}

impl Here {
    fn of(mut schema: Value) -> Self {
        let texts = schema[RULES].to_string();
        let whole = texts.to_lowercase().replace("self.", "").contains("self");
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        let reads = properties.filter(|_| !whole).map(|properties| {
            properties.retain(|key, _| texts.contains(&format!("elf.{key}")));
            properties.keys().cloned().collect()
        });
        Self { rules: cel::compile_schema(&schema), reads }
    }

    fn broken(&self, path: &str, value: &Value, old: Option<&Value>) -> Vec<cel::ValidationError> {
        let (value, old) = (self.seen(path, value), old.map(|old| self.seen(path, old)));
        if old.as_ref() == Some(&value) {
            return Vec::new();
        }
        let outcome = cel::Validator::new().validate_compiled(&self.rules, &value, old.as_deref());
        outcome.err().map(cel::ValidationErrors::into_vec).unwrap_or_default()
    }

    /// As much of a value as the rules read: to show them a whole object takes longer than all else of a write.
    fn seen<'a>(&self, path: &str, value: &'a Value) -> Cow<'a, Value> {
        let Some(fields) = value.as_object().filter(|_| self.reads.is_some() || path.is_empty()) else {
            return Cow::Borrowed(value);
        };
        let is_read = |key: &String| self.reads.as_ref().is_none_or(|reads| reads.contains(key));
        let seen = fields.iter().filter(|(key, _)| is_read(key));
        Cow::Owned(seen.map(|(key, field)| (key.clone(), readable(path, key, field))).collect())
    }
}

const RULES: &str = "x-kubernetes-validations";

fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key(RULES) || fields.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn take_rules_out(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove(RULES);
            fields.values_mut().for_each(take_rules_out);
        }
        Value::Array(items) => items.iter_mut().for_each(take_rules_out),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A path within a field, seen from the object.
fn below_path(path: &str, within: &str) -> String {
    match within.chars().next() {
        None => path.to_owned(),
        Some('[') => format!("{path}{within}"),
        Some(_) => child(path, within),
    }
}

/// The schema of a field: a property, or what all other keys share.
pub(super) fn below<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    let property = schema["properties"].get(key);
    property.or_else(|| Some(&schema["additionalProperties"]).filter(|rest| rest.is_object()))
}

/// The merging of every object's metadata.
pub(super) fn with_metadata(mut schema: Value) -> Value {
    schema["properties"]["metadata"] = json!({"properties": {
        "finalizers": {"x-kubernetes-list-type": "set"},
        "ownerReferences": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"]}
    }});
    schema
}

fn keeps_unknown(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true || schema["additionalProperties"] == true
}

/// What OpenAPI says in its own way, as JSON Schema says it; what it does not check is taken out.
fn translate(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    fields.retain(|key, _| {
        !key.starts_with("x-kubernetes-") && !["default", "description", "format"].contains(&key.as_str())
    });
    let nullable = fields.remove("nullable") == Some(Value::Bool(true));
    if let Some(name) = fields.get("type").cloned().filter(|_| nullable) {
        fields.insert("type".to_owned(), json!([name, "null"]));
    }
    for (key, value) in fields.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(translate),
            ("oneOf" | "anyOf" | "allOf", Value::Array(arms)) => arms.iter_mut().for_each(translate),
            ("items" | "additionalProperties" | "not", value) => translate(value),
            _ => {}
        }
    }
}

fn prune(schema: &Value, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let root = path.is_empty();
            let known = |key: &str| {
                below(schema, key).is_some()
                    || keeps_unknown(schema)
                    || (root && ["apiVersion", "kind", "metadata"].contains(&key))
            };
            unknown.extend(fields.keys().filter(|key| !known(key)).map(|key| child(path, key)));
            fields.retain(|key, _| known(key));
            for (key, value) in fields.iter_mut().filter(|(key, _)| !(root && *key == "metadata")) {
                if let Some(schema) = below(schema, key) {
                    prune(schema, value, &child(path, key), unknown);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                prune(&schema["items"], item, &format!("{path}[{index}]"), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn default(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let misplaced = |key: &str| below(schema, key).is_some_and(|field| field["nullable"] != true);
            fields.retain(|key, value| !(value.is_null() && misplaced(key)));
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(default) = property.get("default") {
                    fields.entry(key).or_insert_with(|| default.clone());
                }
            }
            for (key, value) in fields.iter_mut() {
                if let Some(schema) = below(schema, key) {
                    default(schema, value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| default(&schema["items"], item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Entries of sets and keyed lists that are there twice.
fn repeated(schema: &Value, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let Some(schema) = below(schema, key) {
                    repeated(schema, value, &child(path, key), errors);
                }
            }
        }
        Value::Array(items) => {
            let mut seen = Vec::new();
            for (index, item) in items.iter().enumerate() {
                let place = format!("{path}[{index}]");
                match identity(schema, item) {
                    Some(identity) if seen.contains(&identity) => {
                        errors.push(FieldError::duplicate(&place, &identity));
                    }
                    Some(identity) => seen.push(identity),
                    None => {}
                }
                repeated(&schema["items"], item, &place, errors);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What makes an entry of a list the same entry: its keys in a keyed list, itself in a set, nothing in any other.
pub(super) fn identity(schema: &Value, item: &Value) -> Option<Value> {
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => Some(item.clone()),
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array()?.iter().filter_map(Value::as_str);
            let given = keys.filter_map(|key| Some((key.to_owned(), item.get(key)?.clone())));
            Some(Value::Object(given.collect::<Map<_, _>>()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Arc<Schema> {
        let members = json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {
                "name": {"type": "string"}, "weight": {"type": "integer", "default": 1, "maximum": 100.0}
            }}
        });
        let spec = json!({
            "type": "object", "properties": {"members": members, "total": {"type": "integer", "default": 1}},
            "x-kubernetes-validations": [{"rule": "self.members.map(m, m.weight).sum() == self.total", "message": "sum"}]
        });
        Schema::compile(json!({"type": "object", "properties": {"spec": spec}})).unwrap()
    }

    fn said(object: &Value) -> Vec<String> {
        schema().check(object, None, Vec::new()).iter().map(|error| format!("{error:?}")).collect()
    }

    #[test]
    fn unknown_fields_go_and_defaults_come() {
        let mut object = json!({"kind": "T", "spec": {"members": [{"name": "a", "x": 1, "weight": null}]}, "y": 1});
        assert_eq!(schema().prune(&mut object), ["spec.members[0].x", "y"]);
        schema().default(&mut object);
        assert_eq!(object, json!({"kind": "T", "spec": {"members": [{"name": "a", "weight": 1}], "total": 1}}));
        assert!(said(&object).is_empty());
    }

    #[test]
    fn bounds_come_before_rules() {
        let member = |weight: u8| json!({"name": "a", "weight": weight});
        let sum = said(&json!({"spec": {"members": [member(3)], "total": 1}}));
        assert!(sum.len() == 1 && sum[0].contains("Invalid value: \\\"object\\\": sum"), "{sum:?}");
        let twice = said(&json!({"spec": {"members": [member(0), member(101)], "total": 1}}));
        assert!(twice[0].contains("spec.members[0]") || twice[0].contains("less than or equal to 100\""), "{twice:?}");
        assert!(twice[1].contains("Duplicate value") && twice[2].contains("sum"), "{twice:?}");
    }
}
