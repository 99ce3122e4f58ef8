//! Who wrote which field last, as far as updates and patches tell: manager, time, and the fields that were touched.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::schema::{below, identity};

/// A path, in the words of `fieldsV1`: `f:spec`, `f:members`, `k:{"name":"eu-1"}`, `f:weight`.
type Path = Vec<String>;
type Fields = BTreeSet<Path>;

/// Who writes through which door, in which version, at what time.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    pub(super) manager: &'a str,
    pub(super) api_version: &'a str,
    pub(super) subresource: Option<&'a str>,
    pub(super) time: String,
}

/// What a change did to which fields.
#[derive(Debug, Default)]
struct Touched {
    set: Fields,
    removed: Fields,
}

/// Records in `object` what `writer` changed since `before`. A change of nothing leaves the record as it was.
pub(super) fn record(schema: &Value, before: &Value, object: &mut Value, writer: &Writer<'_>) {
    let mut touched = Touched::default();
    compare(schema, Some(&relevant(before)), Some(&relevant(object)), &mut Vec::new(), &mut touched);
    let mut entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    for entry in &mut entries {
        let others = &touched.set;
        let lost =
            |path: &Path| touched.removed.contains(path) || (!is_of(entry_key(entry), writer) && others.contains(path));
        let had = decode(&entry["fieldsV1"]);
        let kept: Fields = had.iter().filter(|path| !lost(path)).cloned().collect();
        if kept != had {
            entry["fieldsV1"] = encode(&kept);
        }
    }
    take(&mut entries, touched.set, writer);
    entries.retain(|entry| entry["fieldsV1"].as_object().is_some_and(|fields| !fields.is_empty()));
    entries.sort_by_key(order);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        match entries.is_empty() {
            true => metadata.remove("managedFields"),
            false => metadata.insert("managedFields".to_owned(), entries.into()),
        };
    }
}

/// Adds fields to the writer's own entry, which is renewed only when it grows.
fn take(entries: &mut Vec<Value>, set: Fields, writer: &Writer<'_>) {
    if set.is_empty() {
        return;
    }
    let own = entries.iter().position(|entry| is_of(entry_key(entry), writer));
    let mut fields = own.map(|own| decode(&entries[own]["fieldsV1"])).unwrap_or_default();
    fields.extend(set);
    let mut entry = json!({
        "manager": writer.manager, "operation": "Update", "apiVersion": writer.api_version, "time": writer.time,
        "fieldsType": "FieldsV1", "fieldsV1": encode(&fields)
    });
    if let Some(subresource) = writer.subresource {
        entry["subresource"] = subresource.into();
    }
    match own {
        Some(own) => entries[own] = entry,
        None => entries.push(entry),
    }
}

fn entry_key(entry: &Value) -> [Option<&str>; 4] {
    ["manager", "operation", "apiVersion", "subresource"].map(|key| entry[key].as_str())
}

fn is_of(entry: [Option<&str>; 4], writer: &Writer<'_>) -> bool {
    entry == [Some(writer.manager), Some("Update"), Some(writer.api_version), writer.subresource]
}

/// The oldest first, as the real server sorts them.
fn order(entry: &Value) -> [String; 4] {
    ["time", "manager", "apiVersion", "subresource"].map(|key| entry[key].as_str().unwrap_or_default().to_owned())
}

/// Without what is the server's own.
fn relevant(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
        if let Some(metadata) = fields.entry("metadata").or_insert_with(|| json!({})).as_object_mut() {
            metadata.retain(|key, _| {
                ["labels", "annotations", "finalizers", "ownerReferences", "generateName"].contains(&key.as_str())
            });
        }
    }
    object
}

fn compare(schema: &Value, before: Option<&Value>, after: Option<&Value>, path: &mut Path, touched: &mut Touched) {
    if before == after {
        return;
    }
    let leaf = |touched: &mut Touched| {
        if before != after {
            match after {
                Some(_) => touched.set.insert(path.clone()),
                None => touched.removed.insert(path.clone()),
            };
        }
    };
    let (old, new) = (children(schema, before), children(schema, after));
    let (Some(old), Some(new)) = (old, new) else { return leaf(touched) };
    if before.is_some() != after.is_some() && !path.is_empty() {
        leaf(touched);
    }
    let keys: BTreeSet<&String> = old.iter().chain(&new).map(|(key, ..)| key).collect();
    for key in keys {
        let of = |list: &[(String, &Value, Value)]| {
            list.iter().find(|(other, ..)| other == key).map(|(_, value, schema)| ((*value).clone(), schema.clone()))
        };
        let (old, new) = (of(&old), of(&new));
        let schema = new.as_ref().or(old.as_ref()).map(|(_, schema)| schema.clone()).unwrap_or_default();
        path.push(key.clone());
        compare(&schema, old.as_ref().map(|(value, _)| value), new.as_ref().map(|(value, _)| value), path, touched);
        path.pop();
    }
}

/// The fields that are owned one by one, with their schemas; nothing where the value is owned as a whole.
fn children<'a>(schema: &Value, value: Option<&'a Value>) -> Option<Vec<(String, &'a Value, Value)>> {
    match value {
        None => Some(Vec::new()),
        Some(Value::Object(fields)) if schema["x-kubernetes-map-type"] != "atomic" => Some(
            fields
                .iter()
                .map(|(key, value)| (format!("f:{key}"), value, below(schema, key).cloned().unwrap_or_default()))
                .collect(),
        ),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| {
                let name = match (identity(schema, item)?, schema["x-kubernetes-list-type"].as_str()) {
                    (identity, Some("map")) => format!("k:{identity}"),
                    (identity, _) => format!("v:{identity}"),
                };
                Some((name, item, schema["items"].clone()))
            })
            .collect(),
        Some(_) => None,
    }
}

/// Paths as nested `fieldsV1`; a `.` stands for a field that has owned fields below it.
fn encode(fields: &Fields) -> Value {
    let mut root = json!({});
    for path in fields {
        let mut here = &mut root;
        for part in path {
            here = &mut here[part];
        }
        here["."] = json!({});
    }
    drop_lonely_dots(&mut root);
    root
}

fn drop_lonely_dots(value: &mut Value) {
    let Some(fields) = value.as_object_mut() else { return };
    if fields.len() == 1 {
        fields.remove(".");
    }
    fields.values_mut().for_each(drop_lonely_dots);
}

fn decode(fields: &Value) -> Fields {
    fn walk(value: &Value, path: &mut Path, found: &mut Fields) {
        let fields = value.as_object();
        let leaf = fields.is_none_or(Map::is_empty);
        for (key, below) in fields.into_iter().flatten() {
            if key == "." {
                found.insert(path.clone());
            } else {
                path.push(key.clone());
                walk(below, path, found);
                path.pop();
            }
        }
        if leaf && !path.is_empty() {
            found.insert(path.clone());
        }
    }
    let mut found = Fields::new();
    walk(fields, &mut Path::new(), &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        let members = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]});
        json!({"properties": {"spec": {"properties": {"members": members}}}})
    }

    fn write(object: &mut Value, manager: &str, change: impl Fn(&mut Value)) {
        let before = object.clone();
        change(object);
        let writer = Writer { manager, api_version: "g/v1", subresource: None, time: manager.to_owned() };
        record(&schema(), &before, object, &writer);
    }

    #[test]
    fn a_field_belongs_to_who_changed_it_last() {
        let mut object = json!({"metadata": {}});
        write(&mut object, "a", |object| object["spec"] = json!({"members": [{"name": "x", "weight": 1}], "n": [1]}));
        write(&mut object, "b", |object| object["spec"]["members"][0]["weight"] = 2.into());
        let fields = |index: usize| object["metadata"]["managedFields"][index]["fieldsV1"].clone();
        let key = "k:{\"name\":\"x\"}";
        assert_eq!(
            fields(0),
            json!({"f:spec": {".": {}, "f:members": {".": {}, key: {".": {}, "f:name": {}}}, "f:n": {}}})
        );
        assert_eq!(fields(1), json!({"f:spec": {"f:members": {key: {"f:weight": {}}}}}));
    }

    #[test]
    fn what_is_gone_belongs_to_nobody_and_nothing_new_keeps_the_time() {
        let mut object = json!({"metadata": {"labels": {"x": "y"}}});
        write(&mut object, "a", |object| object["spec"] = json!({"n": 1}));
        let before = object.clone();
        write(&mut object, "a", |_| {});
        assert_eq!(object, before);
        write(&mut object, "b", |object| object["spec"] = json!({}));
        assert_eq!(object["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:spec": {}}));
    }

    #[test]
    fn fields_are_read_back() {
        let fields = json!({"f:a": {".": {}, "f:b": {}, "k:{\"n\":1}": {".": {}, "f:n": {}}}, "f:c": {}});
        assert_eq!(encode(&decode(&fields)), fields);
    }
}
