//! What clients ask first: groups, versions, resources.

use serde_json::{Value, json};

use super::{
    answer::Answer,
    builtin::EVENTS,
    kind::{Kind, Kinds, api_version},
    openapi,
    status::Failure,
};

/// Kubernetes as which the server answers; clients look at it before they use what is newer.
const MINOR: &str = "34";

/// Answers for a path that is about no object, if it knows it.
pub(super) fn answer(kinds: &Kinds, path: &[String]) -> Option<Result<Answer, Failure>> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let known = |group: &str, answer: Value| {
        if kinds.versions(group).is_empty() { Err(Failure::NO_PATH) } else { Ok(Answer::ok(answer)) }
    };
    Some(match path.as_slice() {
        ["version"] => Ok(Answer::ok(version())),
        ["healthz" | "livez" | "readyz"] => Ok(Answer::Text(http::StatusCode::OK, "ok")),
        ["openapi", "v3", rest @ ..] => openapi::answer(kinds, rest),
        ["api"] => Ok(Answer::ok(json!({"kind": "APIVersions", "versions": ["v1"]}))),
        ["apis"] => Ok(Answer::ok(groups(kinds))),
        ["api", "v1"] => Ok(Answer::ok(resources(kinds, "", "v1"))),
        ["apis", group] => known(group, group_of(kinds, group, true)),
        ["apis", group, version] if kinds.versions(group).iter().any(|known| known == version) => {
            Ok(Answer::ok(resources(kinds, group, version)))
        }
        [] | ["api", _] | ["apis", _, _] => Err(Failure::NO_PATH),
        _ => return None,
    })
}

fn version() -> Value {
    json!({
        "major": "1", "minor": MINOR, "gitVersion": format!("v1.{MINOR}.0+cutover-sandbox"), "gitCommit": "",
        "gitTreeState": "", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": std::env::consts::OS
    })
}

fn groups(kinds: &Kinds) -> Value {
    let mut names: Vec<&str> = kinds.iter().map(|kind| kind.group.as_str()).filter(|group| !group.is_empty()).collect();
    names.dedup();
    let groups: Vec<Value> = names.into_iter().map(|group| group_of(kinds, group, false)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn group_of(kinds: &Kinds, group: &str, alone: bool) -> Value {
    let version = |name: &String| json!({"groupVersion": api_version(group, name), "version": name});
    let versions: Vec<Value> = kinds.versions(group).iter().map(version).collect();
    let mut answer = json!({"name": group, "versions": versions, "preferredVersion": versions.first()});
    if alone {
        answer["kind"] = "APIGroup".into();
        answer["apiVersion"] = "v1".into();
    }
    answer
}

fn resources(kinds: &Kinds, group: &str, version: &str) -> Value {
    let here = kinds.iter().filter(|kind| kind.group == group);
    let resources: Vec<Value> = here.flat_map(|kind| entries(kind, version)).collect();
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version(group, version), "resources": resources})
}

/// A kind, and the door of its status.
fn entries(kind: &Kind, version: &str) -> Vec<Value> {
    const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
    let Some(version) = kind.version(version) else { return Vec::new() };
    let mut entry = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind,
        "verbs": VERBS
    });
    for (key, words) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        // `kubectl get ev` means one of the two groups.
        if !words.is_empty() && kind.group != EVENTS {
            entry[key] = json!(words);
        }
    }
    let status = json!({
        "name": format!("{}/status", kind.plural), "singularName": "", "namespaced": kind.namespaced,
        "kind": kind.kind, "verbs": ["get", "patch", "update"]
    });
    if version.status { vec![entry, status] } else { vec![entry] }
}
