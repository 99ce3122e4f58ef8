//! Tables, which `kubectl get` asks for: a row per object, with the columns of its definition.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{json::text, kind::Column, request::Request, state::Call};

/// What a name is, in the real server's words.
const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources \
    may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for \
    creation idempotence and configuration definition. Cannot be updated. \
    More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// Whether the client would rather have a table.
pub(super) fn is_requested(request: &Request) -> bool {
    request.accept.contains("as=Table")
}

/// The objects as rows.
pub(super) fn of(call: &Call<'_>, objects: &[Arc<Value>], metadata: &Value, now: Timestamp) -> Value {
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "priority": 0,
        "description": NAME
    });
    let columns = call.version.columns.iter().map(|column| {
        json!({
            "name": column.name, "type": column.r#type, "format": column.format,
            "description": column.description, "priority": column.priority
        })
    });
    let columns: Vec<Value> = std::iter::once(name).chain(columns).collect();
    let rows: Vec<Value> = objects.iter().map(|object| row(call, object, now)).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": columns, "rows": rows
    })
}

fn row(call: &Call<'_>, object: &Value, now: Timestamp) -> Value {
    let cells = call.version.columns.iter().map(|column| cell(column, object, now));
    let cells: Vec<Value> = std::iter::once(object["metadata"]["name"].clone()).chain(cells).collect();
    let kept = match call.request.options.get("includeObject") {
        Some("None") => return json!({"cells": cells, "object": null}),
        Some("Object") => object.clone(),
        _ => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
        }
    };
    json!({"cells": cells, "object": kept})
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let Some(found) = find(object, &column.path) else { return Value::Null };
    match (column.r#type.as_str(), found) {
        ("date", Value::String(time)) => since(time, now).into(),
        (_, Value::Array(_) | Value::Object(_)) => found.to_string().into(),
        ("string", other) if !other.is_string() => other.to_string().into(),
        (_, other) => other.clone(),
    }
}

/// What a path such as `.status.conditions[?(@.type=="Ready")].status` leads to.
fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut here = object;
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(bracket) = rest.strip_prefix('[') {
            let (inside, behind) = bracket.split_once(']')?;
            here = choose(here, inside)?;
            rest = behind;
        } else {
            let name = rest.strip_prefix('.')?;
            let end = name.find(['.', '[']).unwrap_or(name.len());
            here = here.get(&name[..end])?;
            rest = &name[end..];
        }
    }
    Some(here)
}

fn choose<'a>(list: &'a Value, which: &str) -> Option<&'a Value> {
    let Some(condition) = which.strip_prefix("?(@.").and_then(|rest| rest.strip_suffix(')')) else {
        return list.get(which.parse::<usize>().ok()?);
    };
    let (key, value) = condition.split_once("==")?;
    let value = value.trim().trim_matches(['"', '\'']);
    list.as_array()?.iter().find(|item| text(item, &format!("/{}", key.trim())) == value)
}

/// How long ago, as `kubectl` says it: `5s`, `3m20s`, `2h5m`, `3d4h`, `12d`.
fn since(time: &str, now: Timestamp) -> String {
    let Ok(time) = time.parse::<Timestamp>() else { return "<invalid>".to_owned() };
    let seconds = now.duration_since(time).as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |big: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{big}{unit}"),
        small => format!("{big}{unit}{small}{small_unit}"),
    };
    match seconds {
        ..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        _ => two(days / 365, "y", days % 365, "d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let object = json!({"a": {"b": [{"type": "X", "c": 1}, {"type": "Ready", "c": 2}]}});
        assert_eq!(find(&object, ".a.b[?(@.type==\"Ready\")].c"), Some(&json!(2)));
        assert_eq!(find(&object, ".a.b[0].c"), Some(&json!(1)));
        assert_eq!(find(&object, ".a.x"), None);
    }

    #[test]
    fn ages() {
        let ago = |seconds: i64| {
            let now = Timestamp::from_second(1_700_000_000).unwrap();
            since(&Timestamp::from_second(1_700_000_000 - seconds).unwrap().to_string(), now)
        };
        let ages = [5, 119, 200, 3000, 11_000, 100_000, 200_000, 700_000].map(ago);
        assert_eq!(ages, ["5s", "119s", "3m20s", "50m", "3h3m", "27h", "2d7h", "8d"]);
    }
}
