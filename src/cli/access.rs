//! The rights that a verb needs, and which of them are missing.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::{Api, Client, api::PostParams};

use crate::api::GROUP;

/// A right to one resource of cutover's API group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    resource: &'static str,
    verb: &'static str,
}

const fn need(verb: &'static str, resource: &'static str) -> Need {
    Need { resource, verb }
}

/// For verbs that read.
pub(super) const READ: &[Need] = &[
    need("get", "fleetrollouts"),
    need("list", "fleetrollouts"),
    need("watch", "fleetrollouts"),
    need("list", "memberclusters"),
];

/// For verbs that create a request.
pub(super) const REQUEST: &[Need] = &[
    need("get", "fleetrollouts"),
    need("create", "rolloutrequests"),
    need("list", "rolloutrequests"),
    need("watch", "rolloutrequests"),
];

/// A message that names all missing rights at once; `None` if none is known to be missing.
pub(super) async fn missing(client: &Client, namespace: &str, needs: &[Need]) -> Option<String> {
    let answers = futures::future::join_all(needs.iter().map(|need| is_allowed(client, namespace, *need))).await;
    let denied = needs.iter().zip(answers).filter(|(_, allowed)| !allowed).map(|(need, _)| *need);
    describe(&denied.collect::<Vec<_>>(), namespace)
}

fn describe(denied: &[Need], namespace: &str) -> Option<String> {
    let verbs: Vec<String> = denied.iter().map(|need| format!("{} {}", need.verb, need.resource)).collect();
    let is_request = denied.iter().any(|need| need.resource == "rolloutrequests");
    let role = if is_request { "cutover-operator" } else { "cutover-viewer" };
    (!denied.is_empty()).then(|| {
        format!(
            "you may not: {} (namespace {namespace}, group {GROUP})\nask for the ClusterRole {role}",
            verbs.join(", ")
        )
    })
}

/// Unknown counts as allowed: only what the server denies is called missing.
async fn is_allowed(client: &Client, namespace: &str, need: Need) -> bool {
    let attributes = ResourceAttributes {
        group: Some(GROUP.to_owned()),
        resource: Some(need.resource.to_owned()),
        verb: Some(need.verb.to_owned()),
        namespace: (need.resource != "memberclusters").then(|| namespace.to_owned()),
        ..ResourceAttributes::default()
    };
    own(client, attributes).await.unwrap_or(true)
}

/// Whether the user of this client has a right, as the API server says.
pub(super) async fn own(client: &Client, right: ResourceAttributes) -> kube::Result<bool> {
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(right), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answer = api.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_none_or(|status| status.allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_missing_rights_are_named_at_once_with_the_role_that_has_them() {
        assert_eq!(
            describe(REQUEST, "shop").as_deref(),
            Some(
                "you may not: get fleetrollouts, create rolloutrequests, list rolloutrequests, watch rolloutrequests \
                 (namespace shop, group cutover.dev)\nask for the ClusterRole cutover-operator"
            )
        );
        let list = describe(&READ[1..2], "shop").unwrap();
        assert!(list.ends_with("\nask for the ClusterRole cutover-viewer"), "{list}");
        assert_eq!(describe(&[], "shop"), None);
    }
}
