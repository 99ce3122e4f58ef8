//! Names and other metadata, as an API server will take them.

use serde_json::Value;

use super::{
    problem::{Problem, quoted},
    suggestion::did_you_mean,
};

const KNOWN: &[&str] = &[
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// What is wrong with an object's metadata.
pub(super) fn metadata(kind: &str, metadata: &Value) -> Vec<Problem> {
    let Some(fields) = metadata.as_object() else {
        return vec![Problem::error("metadata.name", "missing", "give the object a name")];
    };
    let unknown = fields.keys().filter(|key| !KNOWN.contains(&key.as_str()));
    let mut problems: Vec<Problem> = unknown
        .map(|key| {
            Problem::error(
                crate::yaml::below("metadata", key),
                "unknown field",
                did_you_mean(key, KNOWN.iter().copied()),
            )
        })
        .collect();
    problems.extend(match fields.get("name") {
        None if fields.contains_key("generateName") => None,
        None | Some(Value::Null) => Some(Problem::error("metadata.name", "missing", "give the object a name")),
        Some(name) => name_problem(kind, name),
    });
    let scoped = fields.get("namespace").filter(|_| kind == "MemberCluster");
    problems.extend(
        scoped.map(|_| Problem::error("metadata.namespace", "a MemberCluster has no namespace", "leave namespace out")),
    );
    problems
}

fn name_problem(kind: &str, name: &Value) -> Option<Problem> {
    let Some(name) = name.as_str() else {
        return Some(Problem::error("metadata.name", format!("{name} is not a text"), "put it in quotes"));
    };
    // A member's name is part of a backend's, after a service and a dash.
    let longest = match kind {
        "MemberCluster" => 61,
        "FleetRollout" => 63,
        _ => 253,
    };
    let label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = (1..=longest).contains(&name.len())
        && name.bytes().all(|byte| label(byte) || byte == b'-' || (byte == b'.' && kind != "MemberCluster"))
        && name.bytes().next().is_some_and(label)
        && name.bytes().last().is_some_and(label);
    (!fits).then(|| {
        let allowed = format!("write lower-case letters, digits and \"-\", at most {longest} characters");
        Problem::error("metadata.name", format!("{} is not an allowed name", quoted(name)), allowed)
    })
}
