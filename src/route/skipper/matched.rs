//! An Ingress beside another one, for the requests that are chosen: like it but for its predicates and where it leads.
//!
//! It is tried first, and where there is none the other one takes its requests. So it comes before the others change,
//! and goes after.

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::json;

use crate::api::{ORIGINAL_ANNOTATION, STEERING_ANNOTATION, WRITE_ANNOTATION};
use crate::route::ingress::ingress;
use crate::route::json::{contains, put};
use crate::route::provider::Objects;

/// The annotation with the weights of an Ingress's backends.
pub(super) const WEIGHTS: &str = "zalando.org/backend-weights";
/// The annotation with an Ingress's predicates.
pub(super) const PREDICATE: &str = "zalando.org/skipper-predicate";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The name of such an Ingress; no member's name has a dot.
pub(super) fn matched_name(name: &str) -> String {
    format!("{name}.matched")
}

/// A new Ingress that is like another one.
pub(super) fn copy_of(model: &DynamicObject, name: &str) -> DynamicObject {
    let mut object = DynamicObject::new(name, &ingress()).data(json!({"spec": model.data.get("spec")}));
    object.metadata.namespace.clone_from(&model.metadata.namespace);
    object.metadata.labels.clone_from(&model.metadata.labels);
    object.metadata.annotations.clone_from(&model.metadata.annotations);
    object.annotations_mut().retain(|key, _| !is_own_annotation(key));
    object
}

/// The Ingress with this content, the live one if there is one.
pub(super) fn updated(live: Option<&DynamicObject>, content: DynamicObject) -> DynamicObject {
    let Some(mut object) = live.cloned() else { return content };
    put(&mut object.data, "spec", content.data.get("spec").cloned());
    object.annotations_mut().retain(|key, _| is_own_annotation(key));
    object.annotations_mut().extend(content.metadata.annotations.into_iter().flatten());
    object
}

/// The Ingresses match and route the same requests as these, and there are no others.
pub(super) fn are_equivalent(found: Objects<'_>, wanted: Objects<'_>) -> bool {
    let same = |found: &DynamicObject, wanted: &DynamicObject| {
        let same_annotation = |key| found.annotations().get(key) == wanted.annotations().get(key);
        same_annotation(PREDICATE) && same_annotation(WEIGHTS) && contains(&found.data["spec"], &wanted.data["spec"])
    };
    found.len() == wanted.len()
        && found.iter().zip(wanted).all(|pair| match pair {
            (Some(found), Some(wanted)) => same(found, wanted),
            (found, wanted) => found.is_none() && wanted.is_none(),
        })
}

/// The order in which the others, which stand at the first places, and those beside them change.
pub(super) fn order(others: Vec<usize>, after: Objects<'_>) -> Vec<usize> {
    let first = others.len();
    let (coming, going): (Vec<usize>, Vec<usize>) =
        (first..after.len()).partition(|index| after.get(*index).is_some_and(Option::is_some));
    [coming, others, going].concat()
}

/// An Ingress's predicates.
pub(super) fn predicates(object: &DynamicObject) -> &str {
    object.annotations().get(PREDICATE).map_or("", String::as_str)
}

/// Gives an Ingress its predicates.
pub(super) fn put_predicates(object: &mut DynamicObject, predicates: String) {
    object.annotations_mut().insert(PREDICATE.to_owned(), predicates);
}

/// What every object has for itself.
pub(super) fn is_own_annotation(key: &str) -> bool {
    [WRITE_ANNOTATION, ORIGINAL_ANNOTATION, STEERING_ANNOTATION, LAST_APPLIED].contains(&key)
}
