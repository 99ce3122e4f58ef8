//! The paths of an Ingress: Skipper divides requests among those that differ only in their backend.

use kube::core::DynamicObject;
use serde_json::Value;

use crate::object::{Context, describe};
use crate::route::RouteError;
use crate::route::ingress::{self, is_of_service, pointing_to, service_of};
use crate::route::json::items;

/// Every rule's paths; those that differ only in their backend stand together.
pub(super) fn paths(object: &DynamicObject) -> Vec<(usize, Vec<Vec<Value>>)> {
    let rules = items(object.data.pointer("/spec/rules")).iter().enumerate();
    rules.map(|(index, rule)| (index, grouped(items(rule.pointer("/http/paths"))))).collect()
}

fn grouped(paths: &[Value]) -> Vec<Vec<Value>> {
    let mut groups: Vec<Vec<Value>> = Vec::new();
    for path in paths {
        match groups.iter_mut().find(|group| group.first().map(place) == Some(place(path))) {
            Some(group) => group.push(path.clone()),
            None => groups.push(vec![path.clone()]),
        }
    }
    groups
}

/// What tells a group of paths from another.
pub(super) fn place(path: &Value) -> (Option<&Value>, Option<&Value>) {
    (path.get("path"), path.get("pathType"))
}

/// A group leads to the service.
pub(super) fn is_ours(context: &Context<'_>, group: &[Value]) -> bool {
    group.iter().any(|path| is_of_service(context, path))
}

/// Some path leads to the service.
pub(super) fn check_ours(context: &Context<'_>, object: &DynamicObject) -> Result<(), RouteError> {
    let groups: Vec<Vec<Value>> = paths(object).into_iter().flat_map(|(_, groups)| groups).collect();
    if groups.iter().any(|group| is_ours(context, group)) {
        return Ok(());
    }
    match groups.iter().flatten().next() {
        Some(other) => Err(ingress::unknown(context, object, service_of(other))),
        None => Err(RouteError::Unreadable(format!("{}: no rule to read weights from", describe(object)))),
    }
}

/// Leaves the paths of the service alone, and leads each of them to these members.
pub(super) fn lead_to(context: &Context<'_>, object: &mut DynamicObject, members: &[&str]) {
    for (index, groups) in paths(object) {
        let ours = groups.iter().filter(|group| is_ours(context, group)).filter_map(|group| group.first());
        put_paths(object, index, ours.flat_map(|path| pointing_to(context, path, members)).collect());
    }
    if let Some(spec) = object.data.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("defaultBackend");
        let has_paths = |rule: &Value| !items(rule.pointer("/http/paths")).is_empty();
        spec.get_mut("rules").and_then(Value::as_array_mut).into_iter().for_each(|rules| rules.retain(has_paths));
    }
}

/// Gives a rule other paths.
pub(super) fn put_paths(object: &mut DynamicObject, rule: usize, paths: Vec<Value>) {
    if let Some(list) = object.data.pointer_mut(&format!("/spec/rules/{rule}/http/paths")) {
        *list = paths.into();
    }
}
