//! What must hold before a write: the right name, namespace, object and version.

use serde_json::Value;

use super::{
    json::{put, text},
    meta,
    state::{Call, State},
    status::Failure,
    store::Key,
};

/// Whether the object that a request brings is the one that is stored, in the version that is stored.
pub(super) fn same(call: &Call<'_>, object: &Value, old: &Value) -> Result<(), Failure> {
    let (uid, stored) = (text(object, "/metadata/uid"), text(old, "/metadata/uid"));
    if !uid.is_empty() && uid != stored {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}",
            call.kind.plural,
            call.name()
        );
        return Err(Failure::conflict(call.kind, call.name(), &why));
    }
    let version = text(object, "/metadata/resourceVersion");
    if version.is_empty() && !call.kind.overwrites() {
        return Err(Failure::versionless(call.kind, call.name()));
    }
    if !version.is_empty() && version != text(old, "/metadata/resourceVersion") {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Failure::conflict(call.kind, call.name(), why));
    }
    Ok(())
}

/// The name of the path, which the object repeats.
pub(super) fn named(call: &Call<'_>, object: &Value) -> Result<(), Failure> {
    let (given, expected) = (text(object, "/metadata/name"), call.name());
    if given.is_empty() {
        let message =
            format!("the name of the object ({expected} based on URL) was undeterminable: name must be provided");
        return Err(Failure::bad_request(&message));
    }
    if given != expected {
        let message = format!("the name of the object ({given}) does not match the name on the URL ({expected})");
        return Err(Failure::bad_request(&message));
    }
    Ok(())
}

/// The namespace of the path, which the object may repeat but not contradict.
pub(super) fn place(call: &Call<'_>, object: &mut Value) -> Result<(), Failure> {
    let given = text(object, "/metadata/namespace");
    let expected = call.target.namespace.as_deref().unwrap_or_default();
    if !given.is_empty() && given != expected {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Failure::bad_request(message));
    }
    put(&mut object["metadata"], "namespace", (!expected.is_empty()).then(|| expected.into()));
    Ok(())
}

pub(super) fn name(state: &mut State, object: &mut Value) {
    let prefix = text(object, "/metadata/generateName");
    if text(object, "/metadata/name").is_empty() && !prefix.is_empty() {
        let prefix: String = prefix.chars().take(58).collect();
        object["metadata"]["name"] = format!("{prefix}{}", state.dice.suffix()).into();
    }
}

/// New content needs a namespace that stays.
pub(super) fn admit(state: &State, call: &Call<'_>, name: &str) -> Result<(), Failure> {
    let Some(namespace) = &call.target.namespace else { return Ok(()) };
    let Some(namespaces) = state.kinds.get("", "namespaces") else { return Ok(()) };
    match state.store.get(&Key::of_namespace(namespace)) {
        None => Err(Failure::not_found(&namespaces, namespace)),
        Some(found) if meta::is_deleted(&found) => Err(Failure::terminating(call.kind, name, namespace)),
        Some(_) => Ok(()),
    }
}
