//! Creating, replacing, patching and deleting.

use axum::body::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    answer::Answer,
    builtin, crd, decode,
    kind::text,
    managed_fields::{self, Writer},
    meta, patch,
    state::{Call, State},
    status::{self, Failure, FieldError},
    store::Range,
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

/// An object that a request brought, with what was unknown in it.
pub(super) struct Brought {
    pub(super) object: Value,
    pub(super) warnings: Vec<String>,
}

/// What was unknown is told, whatever becomes of the rest.
fn warned(outcome: Result<Answer, Failure>, warnings: Vec<String>) -> Answer {
    outcome.unwrap_or_else(Answer::from).warned(warnings)
}

fn create(state: &mut State, call: &Call<'_>, mut object: Value) -> Result<Answer, Failure> {
    place(call, &mut object)?;
    name(state, &mut object);
    let name = text(&object, "/metadata/name").to_owned();
    admit(state, call, &name)?;
    if object["metadata"].get("resourceVersion").is_some_and(|version| version.as_str().is_some_and(|v| !v.is_empty()))
    {
        return Err(Failure::internal("resourceVersion should not be set on objects to be created"));
    }
    let at = state.now();
    let uid = state.dice.uid();
    meta::begin(call.kind, &mut object, uid, at);
    if let (true, Some(fields)) = (call.version.status, object.as_object_mut()) {
        fields.remove("status");
    }
    complete(state, call, &mut object);
    let errors = meta::name_errors(call.kind, &object).into_iter().collect();
    check(call, &object, None, errors)?;
    if let Some(there) = state.store.get(&call.key(&name)) {
        return Err(Failure::exists(call.kind, &name, meta::is_deleted(&there)));
    }
    let blank = call.kind.built_in().map_or_else(|| json!({}), |built_in| (built_in.blank)());
    record(state, call, &blank, &mut object);
    if is_service(call) {
        let range = Range { group: String::new(), plural: "services".to_owned(), namespace: None };
        builtin::address(&mut object, state.store.list(&range).len());
    }
    let stored = commit(state, call, &name, object)?;
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
    complete(state, call, &mut object);
    if is_service(call) {
        builtin::keep_address(&mut object, old);
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
        remove(state, call, &name);
        return Ok(Answer::json(StatusCode::OK, object));
    }
    if object == *old {
        return Ok(Answer::json(StatusCode::OK, object));
    }
    let stored = commit(state, call, &name, object)?;
    Ok(Answer::json(StatusCode::OK, stored))
}

/// Whether the object that a request brings is the one that is stored, in the version that is stored.
fn same(call: &Call<'_>, object: &Value, old: &Value) -> Result<(), Failure> {
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

fn put(object: &mut Value, key: &str, value: Option<Value>) {
    let Some(fields) = object.as_object_mut() else { return };
    match value {
        Some(value) => fields.insert(key.to_owned(), value),
        None => fields.remove(key),
    };
}

fn delete(state: &mut State, call: &Call<'_>) -> Result<Answer, Failure> {
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
    let dry = call.request.options.dry_run() || options["dryRun"] == json!(["All"]);
    take_away(state, call, old, dry, finalizer(&options))
}

/// The finalizer that a propagation policy asks for.
fn finalizer(options: &Value) -> Option<&'static str> {
    match text(options, "/propagationPolicy") {
        "Foreground" => Some("foregroundDeletion"),
        "Orphan" => Some("orphan"),
        _ => None,
    }
}

fn take_away(
    state: &mut State,
    call: &Call<'_>,
    mut object: Value,
    dry: bool,
    finalizer: Option<&str>,
) -> Result<Answer, Failure> {
    let name = text(&object, "/metadata/name").to_owned();
    if let (Some(finalizer), false) = (finalizer, meta::is_deleted(&object)) {
        let mut all: Vec<&str> = meta::finalizers(&object);
        all.push(finalizer);
        object["metadata"]["finalizers"] = json!(all);
    }
    if meta::finalizers(&object).is_empty() && !is_held(call, &object) {
        let uid = text(&object, "/metadata/uid").to_owned();
        let status = status::deleted(call.kind, &name, &uid);
        let gone = if dry { object } else { remove(state, call, &name).unwrap_or(object) };
        return Ok(Answer::json(StatusCode::OK, if call.kind.returns_deleted() { gone } else { status }));
    }
    if meta::is_deleted(&object) {
        return Ok(Answer::json(StatusCode::OK, object));
    }
    meta::mark_deleted(&mut object, state.now());
    if is_held(call, &object) {
        object["status"]["phase"] = "Terminating".into();
        put(&mut object["metadata"], "deletionGracePeriodSeconds", None);
    }
    if dry {
        return Ok(Answer::json(StatusCode::OK, object));
    }
    let stored = commit(state, call, &name, object)?;
    Ok(Answer::json(StatusCode::OK, stored))
}

/// A namespace stays until a controller, of which there is none here, has emptied it.
fn is_held(call: &Call<'_>, object: &Value) -> bool {
    call.kind.plural == "namespaces" && object["spec"]["finalizers"].as_array().is_some_and(|held| !held.is_empty())
}

fn delete_all(state: &mut State, call: &Call<'_>) -> Result<Answer, Failure> {
    let options = decode::delete_options(call)?;
    let (labels, fields) = (call.request.options.labels()?, call.request.options.fields()?);
    let listed = state.store.list(&call.range());
    let chosen = listed.iter().filter(|(_, object)| labels.matches(object) && fields.matches(object));
    let dry = call.request.options.dry_run();
    let mut items = Vec::new();
    for (_, stored) in chosen {
        let object = call.show(stored);
        items.push(call.item(&object));

        take_away(state, call, object, dry, finalizer(&options))?;
    }
    let metadata = json!({"resourceVersion": state.store.revision().to_string()});
    let list = json!({"apiVersion": call.api_version(), "kind": call.kind.list, "metadata": metadata, "items": items});
    Ok(Answer::json(StatusCode::OK, list))
}

/// The name of the path, which the object repeats.
fn named(call: &Call<'_>, object: &Value) -> Result<(), Failure> {
    let (given, wanted) = (text(object, "/metadata/name"), call.name());
    if given.is_empty() {
        let message =
            format!("the name of the object ({wanted} based on URL) was undeterminable: name must be provided");
        return Err(Failure::bad_request(&message));
    }
    if given != wanted {
        let message = format!("the name of the object ({given}) does not match the name on the URL ({wanted})");
        return Err(Failure::bad_request(&message));
    }
    Ok(())
}

/// The namespace of the path, which the object may repeat but not contradict.
fn place(call: &Call<'_>, object: &mut Value) -> Result<(), Failure> {
    let given = text(object, "/metadata/namespace");
    let wanted = call.target.namespace.as_deref().unwrap_or_default();
    if !given.is_empty() && given != wanted {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Failure::bad_request(message));
    }
    put(&mut object["metadata"], "namespace", (!wanted.is_empty()).then(|| wanted.into()));
    Ok(())
}

fn name(state: &mut State, object: &mut Value) {
    let prefix = text(object, "/metadata/generateName");
    if text(object, "/metadata/name").is_empty() && !prefix.is_empty() {
        let prefix: String = prefix.chars().take(58).collect();
        object["metadata"]["name"] = format!("{prefix}{}", state.dice.suffix()).into();
    }
}

/// New content needs a namespace that stays.
fn admit(state: &State, call: &Call<'_>, name: &str) -> Result<(), Failure> {
    let Some(namespace) = &call.target.namespace else { return Ok(()) };
    let Some(namespaces) = state.kinds.get("", "namespaces") else { return Ok(()) };
    let range = Range { group: String::new(), plural: "namespaces".to_owned(), namespace: None };
    let found = state.store.list(&range).into_iter().find(|(key, _)| key.name == *namespace);
    match found {
        None => Err(Failure::not_found(&namespaces, namespace)),
        Some((_, found)) if meta::is_deleted(&found) => Err(Failure::terminating(call.kind, name, namespace)),
        Some(_) => Ok(()),
    }
}

fn complete(state: &State, call: &Call<'_>, object: &mut Value) {
    match call.kind.built_in() {
        Some(built_in) => (built_in.complete)(object),
        None => call.version.schema.default(object),
    }
    if is_definition(call) {
        crd::establish(object, state.now());
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

fn is_definition(call: &Call<'_>) -> bool {
    (call.kind.group.as_str(), call.kind.plural.as_str()) == builtin::DEFINITIONS
}

/// Stores an object, unless the request only asks what would be, and shows it.
fn commit(state: &mut State, call: &Call<'_>, name: &str, object: Value) -> Result<Value, Failure> {
    let kind = is_definition(call).then(|| crd::kind(&object)).transpose();
    let kind = kind.map_err(|words| Failure::bad_request(&words))?;
    if call.request.options.dry_run() {
        return Ok(object);
    }
    let (at, key) = (state.now(), call.key(name));
    let stored = state.store.commit(key, Some(call.to_stored(object)), call.author(), at);
    if let Some(kind) = kind {
        state.kinds.add(kind);
    }
    Ok(call.show(&stored))
}

/// Takes an object away, unless the request only asks what would be, and shows what it was at last.
fn remove(state: &mut State, call: &Call<'_>, name: &str) -> Option<Value> {
    if call.request.options.dry_run() {
        return None;
    }
    let at = state.now();
    let gone = state.store.commit(call.key(name), None, call.author(), at);
    if is_definition(call) {
        state.forget_definition(&gone, &call.author());
    }
    Some(call.show(&gone))
}

/// What is a body at all.
pub(super) fn is_empty(body: &Bytes) -> bool {
    body.iter().all(u8::is_ascii_whitespace)
}
