//! What a client may do, and who it is: here everybody may do everything.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    answer::Answer,
    request::{Request, Target},
    status::Failure,
};

/// Answers a review, if the request is one.
pub(super) fn answer(request: &Request, target: &Target) -> Option<Result<Answer, Failure>> {
    let (kind, status) = match (target.group.as_str(), target.plural.as_str()) {
        ("authorization.k8s.io", "selfsubjectaccessreviews") => ("SelfSubjectAccessReview", json!({"allowed": true})),
        ("authentication.k8s.io", "selfsubjectreviews") => {
            ("SelfSubjectReview", json!({"userInfo": {"username": "sandbox", "groups": ["system:masters"]}}))
        }
        _ => return None,
    };
    if request.method != Method::POST {
        return Some(Err(Failure::method_not_allowed()));
    }
    let given: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let mut review =
        json!({"kind": kind, "apiVersion": format!("{}/v1", target.group), "metadata": {}, "status": status});
    if given["spec"].is_object() {
        review["spec"] = given["spec"].clone();
    }
    Some(Ok(Answer::json(StatusCode::CREATED, review)))
}
