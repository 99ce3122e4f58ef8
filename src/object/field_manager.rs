//! Who writes an object, from its managed fields.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::ResourceExt;
use kube::core::DynamicObject;

use crate::{
    api::{DIRECT_FIELD_MANAGER, FIELD_MANAGER},
    text::one_line,
};

/// Field managers are at most this long; the API server says so.
const MAX_NAME: usize = 128;

/// Field manager of the last change that was not the hub's. Changes of the status alone do not count.
pub(crate) fn last(objects: &[&DynamicObject]) -> Option<String> {
    let foreign = objects.iter().flat_map(|object| object.managed_fields()).filter(|entry| is_foreign(entry));
    foreign.max_by_key(|entry| entry.time.as_ref().map(|time| time.0)).and_then(name)
}

/// Field manager of the last change of what an object declares, if that was not the hub.
pub(crate) fn declarer(metadata: &ObjectMeta) -> Option<String> {
    let foreign = metadata.managed_fields.iter().flatten().filter(|entry| is_foreign(entry));
    foreign.max_by_key(|entry| entry.time.as_ref().map(|time| time.0)).and_then(name)
}

/// Another manager that owns the field at `path` (keys of `fieldsV1`) by server-side apply. What was made by a plain
/// `kubectl apply` is owned by an Update and may be adopted: nobody applies it again by himself.
pub(crate) fn applier(object: &DynamicObject, path: &[&str]) -> Option<String> {
    let applies = |entry: &&ManagedFieldsEntry| is_foreign(entry) && entry.operation.as_deref() == Some("Apply");
    object.managed_fields().iter().filter(applies).find(|entry| owns(entry, path)).and_then(name)
}

/// The hub set the field at `path` (keys of `fieldsV1`), and nobody has changed it since.
pub(crate) fn is_own(object: &DynamicObject, path: &[&str]) -> bool {
    object.managed_fields().iter().any(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER) && owns(entry, path))
}

/// Another manager that set the field at `path` last; none where that was cutover, or nothing tells.
#[must_use]
pub(crate) fn setter(object: &DynamicObject, path: &[&str]) -> Option<String> {
    let owners = || object.managed_fields().iter().filter(|entry| owns(entry, path));
    let is_ours =
        |entry: &ManagedFieldsEntry| matches!(entry.manager.as_deref(), Some(FIELD_MANAGER | DIRECT_FIELD_MANAGER));
    if owners().any(is_ours) { None } else { owners().find_map(name) }
}

fn is_foreign(entry: &ManagedFieldsEntry) -> bool {
    entry.manager.as_deref() != Some(FIELD_MANAGER) && entry.subresource.as_deref().unwrap_or_default().is_empty()
}

fn owns(entry: &ManagedFieldsEntry, path: &[&str]) -> bool {
    let Some(fields) = &entry.fields_v1 else { return false };
    path.iter().try_fold(&fields.0, |value, key| value.get(format!("f:{key}"))).is_some()
}

fn name(entry: &ManagedFieldsEntry) -> Option<String> {
    entry.manager.as_ref().map(|manager| one_line(manager, MAX_NAME))
}
