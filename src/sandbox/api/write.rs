//! Creating, replacing and patching.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    admit::{admit, name, named, place, same},
    answer::Answer,
    commit::{commit, is_definition, remove},
    completion, crd,
    decode::{self, Brought},
    delete::{delete, delete_all, is_held},
    field_error::FieldError,
    json::{put, text},
    managed_fields::{self, Writer},
    meta, patch,
    state::{Call, State},
    status::Failure,
};

/// Does what a request that changes something asks.
pub(super) fn answer(state: &mut State, call: &Call<'_>) -> Result<Answer, Failure> {
    match (&call.request.method, call.target.name.is_some()) {
        (&Method::POST, _) => {
            let Brought { object, warnings } = decode::object(call)?;
            Ok(warned(create(state, call, object), warnings))
        }
        (&Method::PUT, _) => replace(state, call),
        (&Method::PATCH, _) => amend(state, call),
        (_, true) => delete(state, call),
        (_, false) => delete_all(state, call),
    }
}

/// Unknown fields are warned of, whether the request succeeds or not.
fn warned(outcome: Result<Answer, Failure>, warnings: Vec<String>) -> Answer {
    outcome.unwrap_or_else(Answer::from).warned(warnings)
}

fn create(state: &mut State, call: &Call<'_>, mut object: Value) -> Result<Answer, Failure> {
    place(call, &mut object)?;
    name(state, &mut object);
    let name = text(&object, "/metadata/name").to_owned();
    admit(state, call, &name)?;
    if !text(&object, "/metadata/resourceVersion").is_empty() {
        return Err(Failure::internal("resourceVersion should not be set on objects to be created"));
    }
    let at = state.now();
    let uid = state.dice.uid();
    meta::begin(call.kind, &mut object, uid, at);
    if let (true, Some(fields)) = (call.version.status, object.as_object_mut()) {
        fields.remove("status");
    }
    complete(call, &mut object);
    let errors = meta::name_errors(call.kind, &object).into_iter().collect();
    check(call, &object, None, errors)?;
    if let Some(there) = state.store.get(&call.key(&name)) {
        return Err(Failure::exists(call.kind, &name, meta::is_deleted(&there)));
    }
    let blank = call.kind.built_in().map_or_else(|| json!({}), |built_in| (built_in.blank)());
    record(state, call, &blank, &mut object);
    if is_service(call) {
        completion::address(&mut object, state.store.revision());
    }
    let stored = commit(state, call, &name, object, call.request.options.dry_run())?;
    Ok(Answer::json(StatusCode::CREATED, stored))
}

fn replace(state: &mut State, call: &Call<'_>) -> Result<Answer, Failure> {
    let Brought { object, warnings } = decode::object(call)?;
    Ok(warned(replace_with(state, call, object), warnings))
}

fn replace_with(state: &mut State, call: &Call<'_>, mut object: Value) -> Result<Answer, Failure> {
    named(call, &object)?;
    place(call, &mut object)?;
    match call.load(state) {
        Ok(old) => update(state, call, &old, object),
        Err(_) if call.kind.created_by_put() && !call.is_status() => create(state, call, object),
        Err(missing) => Err(missing),
    }
}

fn amend(state: &mut State, call: &Call<'_>) -> Result<Answer, Failure> {
    let patch = patch::parse(call)?;
    let old = call.load(state)?;
    let object = patch::apply(&patch, &old, call.version.schema.source())?;
    let Brought { object, warnings } = decode::identified(call, object)?;
    named(call, &object)?;
    Ok(warned(update(state, call, &old, object), warnings))
}

/// Writes over `old`, if the request is about it.
fn update(state: &mut State, call: &Call<'_>, old: &Value, mut object: Value) -> Result<Answer, Failure> {
    same(call, &object, old)?;
    isolate(call, &mut object, old);
    meta::keep(&mut object, old);
    complete(call, &mut object);
    if is_service(call) {
        completion::keep_address(&mut object, old);
    }
    meta::count(call.kind, call.version, &mut object, old);
    let mut errors = meta::late_finalizers(&object, old);
    if call.kind.is_custom() {
        // The real server looks twice.
        errors.extend_from_within(..);
    }
    check(call, &object, Some(old), errors)?;
    record(state, call, old, &mut object);
    let name = call.name().to_owned();
    if meta::is_deleted(&object) && meta::finalizers(&object).is_empty() && !is_held(call, &object) {
        if !call.request.options.dry_run() {
            remove(state, call, &name);
        }
        return Ok(Answer::json(StatusCode::OK, object));
    }
    if object == *old {
        return Ok(Answer::json(StatusCode::OK, object));
    }
    let stored = commit(state, call, &name, object, call.request.options.dry_run())?;
    Ok(Answer::json(StatusCode::OK, stored))
}

/// Through the door of the status only the status is written, and through the main one all but the status.
fn isolate(call: &Call<'_>, object: &mut Value, old: &Value) {
    if call.is_status() {
        let status = object.get("status").cloned();
        *object = old.clone();
        put(object, "status", status);
    } else if call.version.status {
        put(object, "status", old.get("status").cloned());
    }
}

fn complete(call: &Call<'_>, object: &mut Value) {
    match call.kind.built_in() {
        Some(built_in) => (built_in.complete)(object),
        None => call.version.schema.default(object),
    }
}

fn check(call: &Call<'_>, object: &Value, old: Option<&Value>, mut errors: Vec<FieldError>) -> Result<(), Failure> {
    if is_definition(call) {
        errors.extend(crd::errors(object));
    }
    let errors = call.version.schema.check(object, old, errors);
    let name = text(object, "/metadata/name");
    if errors.is_empty() { Ok(()) } else { Err(Failure::invalid(call.kind, name, &errors)) }
}

fn record(state: &State, call: &Call<'_>, before: &Value, object: &mut Value) {
    let (manager, api_version) = (call.request.manager(), call.api_version());
    let subresource = call.target.subresource.as_deref();
    let writer = Writer { manager: &manager, api_version: &api_version, subresource, time: meta::time(state.now()) };
    managed_fields::record(call.version.schema.source(), before, object, &writer);
}

fn is_service(call: &Call<'_>) -> bool {
    call.kind.group.is_empty() && call.kind.plural == "services"
}
