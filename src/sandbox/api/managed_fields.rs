//! Who wrote which field last, as far as updates and patches tell: manager, time, and the fields that were touched.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json, map::Entry};

use super::schema::{below, identity};

/// A path, in the words of `fieldsV1`: `f:spec`, `f:members`, `k:{"name":"eu-1"}`, `f:weight`.
type Path = Vec<String>;

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
    set: Vec<Path>,
    removed: Vec<Path>,
}

/// Records in `object` what `writer` changed since `before`. A change of nothing leaves the record as it was.
pub(super) fn record(schema: &Value, before: &Value, object: &mut Value, writer: &Writer<'_>) {
    let mut touched = Touched::default();
    compare(schema, Some(before), Some(object), &mut Path::new(), &mut touched);
    let Touched { set, removed } = touched;
    if set.is_empty() && removed.is_empty() {
        return;
    }
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    let mut entries = match metadata.remove("managedFields") {
        Some(Value::Array(entries)) => entries,
        Some(_) | None => Vec::new(),
    };
    for entry in &mut entries {
        let lost = if is_of(entry_key(entry), writer) { &[] } else { set.as_slice() };
        for path in removed.iter().chain(lost) {
            disown(&mut entry["fieldsV1"], path);
        }
    }
    take(&mut entries, &set, writer);
    entries.retain(|entry| entry["fieldsV1"].as_object().is_some_and(|fields| !fields.is_empty()));
    entries.sort_by_key(order);
    if !entries.is_empty() {
        metadata.insert("managedFields".to_owned(), entries.into());
    }
}

/// Adds fields to the writer's own entry, which is renewed only when it grows.
fn take(entries: &mut Vec<Value>, set: &[Path], writer: &Writer<'_>) {
    if set.is_empty() {
        return;
    }
    let found = entries.iter().position(|entry| is_of(entry_key(entry), writer));
    let mut fields = found.map_or_else(|| json!({}), |place| entries[place]["fieldsV1"].take());
    for path in set {
        own(&mut fields, path);
    }
    let mut entry = json!({
        "manager": writer.manager, "operation": "Update", "apiVersion": writer.api_version, "time": writer.time,
        "fieldsType": "FieldsV1"
    });
    entry["fieldsV1"] = fields;
    if let Some(subresource) = writer.subresource {
        entry["subresource"] = subresource.into();
    }
    match found {
        Some(place) => entries[place] = entry,
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

/// What is the server's own belongs to nobody; nor does the fact that there are metadata.
fn is_servers(path: &[String], key: &str) -> bool {
    match path {
        [] => ["apiVersion", "kind"].contains(&key),
        [metadata] if metadata == METADATA => {
            !["labels", "annotations", "finalizers", "ownerReferences", "generateName"].contains(&key)
        }
        _ => false,
    }
}

const METADATA: &str = "f:metadata";

fn compare(schema: &Value, before: Option<&Value>, after: Option<&Value>, path: &mut Path, touched: &mut Touched) {
    if before == after {
        return;
    }
    let leaf = |touched: &mut Touched, path: &Path| match after {
        Some(_) => touched.set.push(path.clone()),
        None => touched.removed.push(path.clone()),
    };
    let (old, new) = (children(schema, before, path), children(schema, after, path));
    let (Some(old), Some(new)) = (old, new) else { return leaf(touched, path) };
    let is_own = !(path.is_empty() || matches!(path.as_slice(), [metadata] if metadata == METADATA));
    if before.is_some() != after.is_some() && is_own {
        leaf(touched, path);
    }
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (old, new) = (old.get(name), new.get(name));
        let schema = new.or(old).map_or(&Value::Null, |(_, schema)| *schema);
        path.push(name.clone());
        compare(schema, old.map(|(value, _)| *value), new.map(|(value, _)| *value), path, touched);
        path.pop();
    }
}

/// Fields by name, each with its schema.
type Children<'a> = BTreeMap<String, (&'a Value, &'a Value)>;

/// The fields that are owned one by one; nothing where the value is owned as a whole.
fn children<'a>(schema: &'a Value, value: Option<&'a Value>, path: &[String]) -> Option<Children<'a>> {
    match value {
        None => Some(Children::new()),
        Some(Value::Object(fields)) if schema["x-kubernetes-map-type"] != "atomic" => {
            let of = |key: &String| below(schema, key).unwrap_or(&Value::Null);
            let owned = fields.iter().filter(|(key, _)| !is_servers(path, key));
            Some(owned.map(|(key, value)| (format!("f:{key}"), (value, of(key)))).collect())
        }
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| {
                let name = match (identity(schema, item)?, schema["x-kubernetes-list-type"].as_str()) {
                    (identity, Some("map")) => format!("k:{identity}"),
                    (identity, _) => format!("v:{identity}"),
                };
                Some((name, (item, &schema["items"])))
            })
            .collect(),
        Some(_) => None,
    }
}

/// Adds a field to nested `fieldsV1`, where a `.` stands for a field that has owned fields below it.
fn own(fields: &mut Value, path: &[String]) {
    let Some(here) = fields.as_object_mut() else { return };
    let Some((name, below)) = path.split_first() else {
        if !here.is_empty() {
            here.insert(".".to_owned(), json!({}));
        }
        return;
    };
    let there = here.entry(name);
    let is_new = matches!(there, Entry::Vacant(_));
    let field = there.or_insert_with(|| json!({}));
    if !is_new && !below.is_empty() && field.as_object().is_some_and(Map::is_empty) {
        field["."] = json!({});
    }
    own(field, below);
}

/// Takes a field away, and what held nothing else; says whether nothing is left.
fn disown(fields: &mut Value, path: &[String]) -> bool {
    let Some(here) = fields.as_object_mut() else { return false };
    let Some((name, below)) = path.split_first() else {
        here.remove(".");
        return here.is_empty();
    };
    if !here.get_mut(name).is_some_and(|field| disown(field, below)) {
        return false;
    }
    here.remove(name);
    let is_owned = here.len() == 1 && here.remove(".").is_some();
    here.is_empty() && !is_owned
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
    fn fields_come_and_go() {
        let path = |text: &str| text.split('/').map(str::to_owned).collect::<Path>();
        let mut fields = json!({});
        for owned in ["f:a/f:b", "f:c", "f:a", "f:c/f:d"] {
            own(&mut fields, &path(owned));
        }
        assert_eq!(fields, json!({"f:a": {".": {}, "f:b": {}}, "f:c": {".": {}, "f:d": {}}}));
        for lost in ["f:a/f:b", "f:c", "f:x/f:y"] {
            disown(&mut fields, &path(lost));
        }
        assert_eq!(fields, json!({"f:a": {}, "f:c": {"f:d": {}}}));
        assert!(!disown(&mut fields, &path("f:c/f:d")) && disown(&mut fields, &path("f:a")));
    }
}
