//! Bodies of requests: objects and options.

use serde_json::{Value, json};

use super::{
    kind::text,
    state::Call,
    status::Failure,
    write::{Brought, is_empty},
};

/// What bodies may be in.
const ACCEPTED: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The object in a body, sifted.
pub(super) fn object(call: &Call<'_>) -> Result<Brought, Failure> {
    let mut object = parse(call)?;
    let kind = &call.kind.kind;
    if !object.is_object() {
        let message = format!("the object provided is unrecognized (must be of type {kind}): it is no object");
        return Err(Failure::bad_request(&message));
    }
    if call.kind.is_custom() {
        named(call, &object)?;
    }
    let (given, wanted) = (text(&object, "/apiVersion"), call.api_version());
    if !given.is_empty() && given != wanted {
        let message =
            format!("the API version in the data ({given}) does not match the expected API version ({wanted})");
        return Err(Failure::bad_request(&message));
    }
    object["apiVersion"] = wanted.into();
    object["kind"] = kind.clone().into();
    sift(call, object)
}

/// Custom objects say what they are.
fn named(call: &Call<'_>, object: &Value) -> Result<(), Failure> {
    let body = String::from_utf8_lossy(&call.request.body);
    let missing = |what: &str| {
        let kind = &call.kind.kind;
        format!(
            "the object provided is unrecognized (must be of type {kind}): Object '{what}' is missing in '{body}' ({body})"
        )
    };
    match (text(object, "/kind"), text(object, "/apiVersion")) {
        ("", _) => Err(Failure::bad_request(&missing("Kind"))),
        (_, "") => Err(Failure::bad_request(&missing("apiVersion"))),
        _ => Ok(()),
    }
}

/// Takes out what the schema does not know; it is refused, told or passed over, as the request wants it.
pub(super) fn sift(call: &Call<'_>, mut object: Value) -> Result<Brought, Failure> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    let unknown = call.version.schema.prune(&mut object);
    let said: Vec<String> = unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
    match call.request.options.get("fieldValidation") {
        Some("Ignore") => Ok(Brought { object, warnings: Vec::new() }),
        Some("Strict") if !said.is_empty() => Err(Failure::bad_request(&strict(call, &said.join(", ")))),
        _ => Ok(Brought { object, warnings: said }),
    }
}

fn strict(call: &Call<'_>, said: &str) -> String {
    let (kind, version) = (&call.kind.kind, &call.version.name);
    format!("{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {said}")
}

/// The options in the body of a deletion, with those of the query put over them.
pub(super) fn delete_options(call: &Call<'_>) -> Result<Value, Failure> {
    let mut options = if is_empty(&call.request.body) { json!({}) } else { parse(call)? };
    if let Some(policy) = call.request.options.get("propagationPolicy") {
        options["propagationPolicy"] = policy.into();
    }
    if options.is_object() { Ok(options) } else { Err(Failure::bad_request("DeleteOptions must be an object")) }
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
        _ => Err(Failure::unsupported(&ACCEPTED)),
    }
}
