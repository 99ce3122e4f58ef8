//! What every Ingress has: a kind, and paths that lead to Services.
//!
//! In service mode an adopted Ingress may name the user's own Service, which the primary was made like. An Ingress names
//! no Service without sending requests there, so such a path is led to the primary with the first write, in its place.

use std::borrow::Cow;
use std::sync::Arc;

use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};

use super::json::{items, put};
use super::provider::{Objects, resource};
use super::{RouteError, weights};
use crate::api::PRIMARY;
use crate::backend;
use crate::object::{Context, describe};

/// The kind.
pub(super) fn ingress() -> ApiResource {
    resource("networking.k8s.io", "v1", "Ingress", "ingresses")
}

/// The Service that a path leads to.
pub(super) fn service_of(path: &Value) -> &str {
    path.pointer("/backend/service/name").and_then(Value::as_str).unwrap_or_default()
}

/// Service mode: the path leads to the user's own Service, by the port that is declared or by a name.
pub(super) fn is_own_service(context: &Context<'_>, path: &Value) -> bool {
    let port = path.pointer("/backend/service/port/number");
    let is_declared = |port: &Value| *port == backend::port(context, PRIMARY);
    !context.copies.is_empty() && service_of(path) == context.service.name && port.is_none_or(is_declared)
}

/// The error for an Ingress that leads to no member of the service.
pub(super) fn unknown(context: &Context<'_>, object: &DynamicObject, backend: &str) -> RouteError {
    let (title, own) = (describe(object), &context.service.name);
    if context.copies.is_empty() || backend != own {
        return weights::unknown(context, &title, backend);
    }
    let port = backend::port(context, PRIMARY);
    RouteError::Unreadable(format!(
        "{title}: it leads to Service {own} by another port than {port}: correct spec.services[].port"
    ))
}

/// The path leads to a member of the service, or to what stands for one.
pub(super) fn is_of_service(context: &Context<'_>, path: &Value) -> bool {
    is_own_service(context, path) || backend::is_of_service(context, service_of(path))
}

/// All paths, each with the index of its rule.
pub(super) fn paths(object: &DynamicObject) -> impl Iterator<Item = (usize, &Value)> {
    let rules = items(object.data.pointer("/spec/rules")).iter().enumerate();
    rules.flat_map(|(index, rule)| items(rule.pointer("/http/paths")).iter().map(move |path| (index, path)))
}

pub(super) fn paths_mut(object: &mut DynamicObject) -> impl Iterator<Item = (usize, &mut Value)> {
    let rules = object.data.pointer_mut("/spec/rules").and_then(Value::as_array_mut).into_iter().flatten().enumerate();
    rules
        .filter_map(|(index, rule)| Some((index, rule.pointer_mut("/http/paths")?.as_array_mut()?)))
        .flat_map(|(index, paths)| paths.iter_mut().map(move |path| (index, path)))
}

/// An Ingress still sends requests to the user's own Service.
pub(super) fn has_own_service(context: &Context<'_>, object: &DynamicObject) -> bool {
    paths(object).any(|(_, path)| is_own_service(context, path))
}

/// The Ingresses with the primary in the place of the user's own Service.
pub(super) fn with_primary<'o>(context: &Context<'_>, objects: Objects<'o>) -> Cow<'o, [Option<Arc<DynamicObject>>]> {
    if !objects.iter().flatten().any(|object| has_own_service(context, object)) {
        return Cow::Borrowed(objects);
    }
    let mut objects = objects.to_vec();
    let paths = objects.iter_mut().flatten().flat_map(|object| paths_mut(Arc::make_mut(object)));
    for (_, path) in paths.filter(|(_, path)| is_own_service(context, path)) {
        point_to(path, context, PRIMARY);
    }
    Cow::Owned(objects)
}

/// The paths of the service, for [`restore_paths`].
pub(super) fn original_paths(context: &Context<'_>, object: &DynamicObject) -> Value {
    let own = paths(object).filter(|(_, path)| is_of_service(context, path));
    own.map(|(index, path)| json!({"rule": index, "path": path})).collect()
}

/// Puts back what paths that are still there were.
pub(super) fn restore_paths(context: &Context<'_>, object: &mut DynamicObject, original: &Value) {
    let place = |path: &Value| (path.get("path").cloned(), path.get("pathType").cloned());
    for (rule, path) in paths_mut(object).filter(|(_, path)| is_of_service(context, path)) {
        let was = |original: &&Value| original["rule"] == rule && place(&original["path"]) == place(path);
        if let Some(original) = items(Some(original)).iter().find(was) {
            *path = original["path"].clone();
        }
    }
}

/// Points a path to a member's backend.
pub(super) fn point_to(path: &mut Value, context: &Context<'_>, member: &str) {
    let service =
        json!({"name": backend::name(context.service, member), "port": {"number": backend::port(context, member)}});
    put(path, "backend", json!({"service": service}));
}

/// Copies of a path, one pointing to each of these members.
pub(super) fn pointing_to(context: &Context<'_>, path: &Value, members: &[&str]) -> Vec<Value> {
    let copy = |member: &&str| {
        let mut path = path.clone();
        point_to(&mut path, context, member);
        path
    };
    members.iter().map(copy).collect()
}

/// A new Ingress whose only path leads to these members.
pub(super) fn draft(name: &str, context: &Context<'_>, hosts: &[String], members: &[&str]) -> DynamicObject {
    let paths = pointing_to(context, &json!({"path": "/", "pathType": "Prefix"}), members);
    let rules: Vec<Value> = hosts.iter().map(|host| json!({"host": host, "http": {"paths": paths}})).collect();
    DynamicObject::new(name, &ingress()).within(context.namespace).data(json!({"spec": {"rules": rules}}))
}
