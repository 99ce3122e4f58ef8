//! Bodies of requests: objects and options.

use std::fmt::Display;

use serde_json::{Value, json};

use super::{json::text, meta, protobuf, state::Call, status::Failure};

/// An object that a request brought, with words about what was unknown in it.
pub(super) struct Brought {
    pub(super) object: Value,
    pub(super) warnings: Vec<String>,
}

/// What bodies may be in.
const ACCEPTED: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The object in a body, sifted.
pub(super) fn object(call: &Call<'_>) -> Result<Brought, Failure> {
    let object = parse(call)?;
    let kind = &call.kind.kind;
    let unrecognized = |why: &str| {
        Failure::bad_request(&format!("the object provided is unrecognized (must be of type {kind}): {why}"))
    };
    if !object.is_object() {
        return Err(unrecognized("it is no object"));
    }
    if call.kind.is_custom() && text(&object, "/kind").is_empty() {
        let body = String::from_utf8_lossy(&call.request.body);
        return Err(unrecognized(&format!("Object 'Kind' is missing in '{body}' ({body})")));
    }
    identified(call, object)
}

/// An object that is of the kind and version of the path, sifted.
pub(super) fn identified(call: &Call<'_>, mut object: Value) -> Result<Brought, Failure> {
    let (given, expected) = (text(&object, "/apiVersion"), call.api_version());
    if given != expected && (call.kind.is_custom() || !given.is_empty()) {
        let message =
            format!("the API version in the data ({given}) does not match the expected API version ({expected})");
        return Err(Failure::bad_request(&message));
    }
    let given = text(&object, "/kind");
    if call.kind.is_custom() && given != call.kind.kind {
        return Err(Failure::other_kind(call.kind, given, text(&object, "/metadata/name")));
    }
    object["apiVersion"] = expected.into();
    object["kind"] = call.kind.kind.clone().into();
    sift(call, object)
}

/// Takes out what the schema does not know; the request decides whether that is refused, warned of or ignored.
fn sift(call: &Call<'_>, mut object: Value) -> Result<Brought, Failure> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    meta::typed(&mut object).map_err(|error| misfit(call, error))?;
    if let Some(built_in) = call.kind.built_in() {
        object = (built_in.typed)(object).map_err(|error| misfit(call, error))?;
    }
    let unknown = call.version.schema.prune(&mut object);
    let said: Vec<String> = unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
    match call.request.options.get("fieldValidation") {
        Some("Ignore") => Ok(Brought { object, warnings: Vec::new() }),
        Some("Strict") if !said.is_empty() => Err(misfit(call, format!("strict decoding error: {}", said.join(", ")))),
        _ => Ok(Brought { object, warnings: said }),
    }
}

fn misfit(call: &Call<'_>, error: impl Display) -> Failure {
    let (kind, version) = (&call.kind.kind, &call.version.name);
    Failure::bad_request(&format!("{kind} in version {version:?} cannot be handled as a {kind}: {error}"))
}

/// The options of a deletion: those in its body, or else those of the query.
pub(super) fn delete_options(call: &Call<'_>) -> Result<Value, Failure> {
    if call.request.has_body() {
        let options = parse(call)?;
        let wrong = || Failure::bad_request("DeleteOptions must be an object");
        return if options.is_object() { Ok(options) } else { Err(wrong()) };
    }
    let dry: &[&str] = if call.request.options.dry_run() { &["All"] } else { &[] };
    Ok(json!({"propagationPolicy": call.request.options.get("propagationPolicy"), "dryRun": dry}))
}

fn parse(call: &Call<'_>) -> Result<Value, Failure> {
    let body = &call.request.body;
    let kind = &call.kind.kind;
    let unreadable = |words: &str| {
        let message =
            format!("the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; {words}");
        Failure::bad_request(&message)
    };
    match call.request.content_type.as_str() {
        "application/json" | "" => {
            serde_json::from_slice(body).map_err(|error| unreadable(&format!("json parse error: {error}")))
        }
        "application/yaml" => {
            serde_yaml::from_slice(body).map_err(|error| unreadable(&format!("yaml parse error: {error}")))
        }
        "application/vnd.kubernetes.protobuf" => {
            protobuf::object(body).ok_or_else(|| unreadable("of protobuf, only Namespaces and Secrets are read here"))
        }
        _ => Err(Failure::unsupported(&ACCEPTED)),
    }
}
