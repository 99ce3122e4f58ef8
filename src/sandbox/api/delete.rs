//! Deleting: at once, or a mark first and the rest when the last finalizer goes.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    answer::Answer,
    commit::{commit, remove},
    decode,
    json::{put, text},
    meta,
    state::{Call, State},
    status::{self, Failure},
};

pub(super) fn delete(state: &mut State, call: &Call<'_>) -> Result<Answer, Failure> {
    let options = decode::delete_options(call)?;
    let old = call.load(state)?;
    let stored_uid = text(&old, "/metadata/uid");
    let uid = text(&options, "/preconditions/uid");
    if !uid.is_empty() && uid != stored_uid {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({stored_uid}). \
             The object might have been deleted and then recreated"
        );
        return Err(Failure::precondition(call.kind, call.name(), &why));
    }
    let stored = text(&old, "/metadata/resourceVersion");
    let version = text(&options, "/preconditions/resourceVersion");
    if !version.is_empty() && version != stored {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({stored}). \
             The object might have been modified"
        );
        return Err(Failure::precondition(call.kind, call.name(), &why));
    }
    take_away(state, call, Arc::unwrap_or_clone(old), &options)
}

/// The finalizer that a propagation policy asks for.
fn finalizer(options: &Value) -> Option<&'static str> {
    match text(options, "/propagationPolicy") {
        "Foreground" => Some("foregroundDeletion"),
        "Orphan" => Some("orphan"),
        _ => None,
    }
}

fn take_away(state: &mut State, call: &Call<'_>, mut object: Value, options: &Value) -> Result<Answer, Failure> {
    let dry = options["dryRun"] == json!(["All"]);
    let name = text(&object, "/metadata/name").to_owned();
    if let (Some(finalizer), false) = (finalizer(options), meta::is_deleted(&object)) {
        let mut all: Vec<&str> = meta::finalizers(&object);
        all.push(finalizer);
        object["metadata"]["finalizers"] = json!(all);
    }
    if meta::finalizers(&object).is_empty() && !is_held(call, &object) {
        let uid = text(&object, "/metadata/uid").to_owned();
        let status = status::deleted(call.kind, &name, &uid);
        let gone = if dry { Arc::new(object) } else { remove(state, call, &name) };
        return Ok(Answer::json(StatusCode::OK, if call.kind.returns_deleted() { gone } else { status.into() }));
    }
    if meta::is_deleted(&object) {
        return Ok(Answer::json(StatusCode::OK, object));
    }
    meta::mark_deleted(&mut object, state.now());
    if is_held(call, &object) {
        object["status"]["phase"] = "Terminating".into();
        put(&mut object["metadata"], "deletionGracePeriodSeconds", None);
    }
    let stored = commit(state, call, &name, object, dry)?;
    Ok(Answer::json(StatusCode::OK, stored))
}

/// A namespace stays until a controller, of which there is none here, has emptied it.
pub(super) fn is_held(call: &Call<'_>, object: &Value) -> bool {
    call.kind.plural == "namespaces" && object["spec"]["finalizers"].as_array().is_some_and(|held| !held.is_empty())
}

pub(super) fn delete_all(state: &mut State, call: &Call<'_>) -> Result<Answer, Failure> {
    let options = decode::delete_options(call)?;
    let (labels, fields) = (call.request.options.labels()?, call.request.options.fields(call.kind)?);
    let listed = state.store.list(&call.range());
    let chosen = listed.iter().filter(|(_, object)| labels.matches(object) && fields.matches(object));
    let mut items = Vec::new();
    for (_, stored) in chosen {
        let object = call.show(stored);
        items.push(object.clone());
        take_away(state, call, Arc::unwrap_or_clone(object), &options)?;
    }
    let metadata = json!({"resourceVersion": state.store.revision().to_string()});
    Ok(Answer::json(StatusCode::OK, call.list(metadata, items)))
}
