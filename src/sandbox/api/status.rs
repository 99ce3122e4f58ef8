//! What the server says when it refuses: `Status` objects with the real one's codes, reasons and words.

use serde_json::{Value, json};

use super::{field_error::FieldError, kind::Kind};

/// A refusal. Without a body it is the plain `404 page not found` of a path that nobody serves.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) code: u16,
    pub(super) body: Option<Value>,
}

impl Failure {
    /// Nobody serves this path.
    pub(super) const NO_PATH: Self = Self { code: 404, body: None };

    fn new(code: u16, reason: &str, message: &str, details: Option<Value>) -> Self {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "code": code
        });
        if !reason.is_empty() {
            body["reason"] = reason.into();
        }
        if let Some(details) = details {
            body["details"] = details;
        }
        Self { code, body: Some(body) }
    }

    pub(super) fn no_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource", Some(json!({})))
    }

    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {name:?} not found", kind.resource());
        Self::new(404, "NotFound", &message, Some(about(&kind.group, &kind.plural, name)))
    }

    pub(super) fn exists(kind: &Kind, name: &str, going: bool) -> Self {
        let going = if going { "object is being deleted: " } else { "" };
        let message = format!("{going}{} {name:?} already exists", kind.resource());
        Self::new(409, "AlreadyExists", &message, Some(about(&kind.group, &kind.plural, name)))
    }

    /// The object is not the version, or not the object, that the request is about.
    pub(super) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.resource());
        Self::new(409, "Conflict", &message, Some(about(&kind.group, &kind.plural, name)))
    }

    /// A precondition of a deletion does not hold; it names the kind where other conflicts name the resource.
    pub(super) fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", kind.qualified());
        Self::new(409, "Conflict", &message, Some(about(&kind.group, &kind.kind, name)))
    }

    pub(super) fn invalid(kind: &Kind, name: &str, errors: &[FieldError]) -> Self {
        Self::invalid_named(&kind.qualified(), about(&kind.group, &kind.kind, name), name, errors)
    }

    /// An update that does not say which version it is about.
    pub(super) fn versionless(kind: &Kind, name: &str) -> Self {
        let error = FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
        Self::invalid_named(&kind.resource(), about(&kind.group, &kind.plural, name), name, &[error])
    }

    fn invalid_named(what: &str, mut details: Value, name: &str, errors: &[FieldError]) -> Self {
        let mut sentences: Vec<String> = Vec::new();
        for error in errors {
            let sentence = error.sentence();
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        let said = match sentences.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        details["causes"] = errors.iter().map(FieldError::cause).collect();
        Self::new(422, "Invalid", &format!("{what} {name:?} is invalid: {said}"), Some(details))
    }

    /// A JSON patch that does not fit the object.
    pub(super) fn misfit() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(422, "Invalid", message, Some(json!({})))
    }

    pub(super) fn bad_request(message: &str) -> Self {
        Self::new(400, "BadRequest", message, None)
    }

    /// A plain error inside the real server, which has no reason and no details.
    pub(super) fn internal(message: &str) -> Self {
        Self::new(500, "", message, None)
    }

    pub(super) fn unsupported(accepted: &[&str]) -> Self {
        let accepted = accepted.join(", ");
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}");
        Self::new(415, "UnsupportedMediaType", &message, None)
    }

    /// An object of another kind than the path is about.
    pub(super) fn other_kind(kind: &Kind, given: &str, name: &str) -> Self {
        let error = FieldError::invalid("kind", &json!(given), &format!("must be {}", kind.kind));
        let what = format!("{given}.{}", kind.group);
        Self::invalid_named(&what, about(&kind.group, given, name), name, &[error])
    }

    /// A method that a path of a custom resource does not have.
    pub(super) fn verb_not_supported(kind: &Kind, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {:?}", kind.resource());
        Self::new(405, "MethodNotAllowed", &message, Some(about(&kind.group, &kind.plural, "")))
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message, Some(json!({})))
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", &message, None)
    }

    /// The version was compacted away; the reader lists anew.
    pub(super) fn expired(message: &str) -> Self {
        Self::new(410, "Expired", message, None)
    }

    /// A revision that was compacted away.
    pub(super) fn too_old(requested: u64, oldest: u64) -> Self {
        Self::expired(&format!("too old resource version: {requested} ({oldest})"))
    }

    /// A version that this server has not reached.
    pub(super) fn ahead(requested: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
        let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        Self::new(504, "Timeout", &message, Some(json!({"causes": [cause], "retryAfterSeconds": 1})))
    }

    /// Options that make no sense; `kind` is theirs, such as `ListOptions`.
    pub(super) fn options(kind: &str, error: FieldError) -> Self {
        let details = json!({"group": "meta.k8s.io", "kind": kind});
        Self::invalid_named(&format!("{kind}.meta.k8s.io"), details, "", &[error])
    }

    /// New content for a namespace that is going.
    pub(super) fn terminating(kind: &Kind, name: &str, namespace: &str) -> Self {
        let message = format!(
            "{} {name:?} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
            kind.resource()
        );
        let mut details = about(&kind.group, &kind.plural, name);
        let cause = format!("namespace {namespace} is being terminated");
        details["causes"] =
            json!([{"reason": "NamespaceTerminating", "message": cause, "field": "metadata.namespace"}]);
        Self::new(403, "Forbidden", &message, Some(details))
    }
}

/// Which object a failure or a success is about; the core group has no name.
pub(super) fn about(group: &str, kind: &str, name: &str) -> Value {
    let mut details = json!({"kind": kind});
    for (key, value) in [("group", group), ("name", name)] {
        if !value.is_empty() {
            details[key] = value.into();
        }
    }
    details
}

/// What a deletion answers that left nothing behind.
pub(super) fn deleted(kind: &Kind, name: &str, uid: &str) -> Value {
    let mut details = about(&kind.group, &kind.plural, name);
    details["uid"] = uid.into();
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_error_stands_alone_and_the_same_one_is_said_once() {
        let (group, kind) = ("example.com".to_owned(), "Thing".to_owned());
        let kind = Kind { group, kind, ..Kind::default() };
        let error = FieldError::required("spec.a");
        let failure = Failure::invalid(&kind, "x", &[error.clone(), error]);
        let body = failure.body.unwrap();
        assert_eq!(body["message"], "Thing.example.com \"x\" is invalid: spec.a: Required value");
        assert_eq!(body["details"]["causes"].as_array().unwrap().len(), 2);
    }
}
