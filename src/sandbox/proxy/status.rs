//! What the data plane says of a route, in `status.parents`.

use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicObject},
};
use serde_json::{Value, json};

use super::table::Verdict;
use crate::clock::Clock;

/// Writes the status of a route unless it is there already. A write that fails is made up for by the next change.
pub(super) async fn tell(cluster: &Client, resource: &ApiResource, route: &DynamicObject, verdict: &Verdict) {
    let desired = parents(route, verdict);
    if route.data.pointer("/status/parents").is_some_and(|said| is_same(said, &desired)) {
        return;
    }
    let routes: Api<DynamicObject> =
        Api::namespaced_with(cluster.clone(), &route.namespace().unwrap_or_default(), resource);
    let patch = Patch::Merge(json!({"status": {"parents": desired}}));
    if let Err(error) = routes.patch_status(&route.name_any(), &PatchParams::default(), &patch).await {
        tracing::debug!(%error, "the data plane could not write a status");
    }
}

/// One entry for each parent, as the controllers of real data planes write them.
fn parents(route: &DynamicObject, verdict: &Verdict) -> Value {
    let generation = route.metadata.generation;
    let condition = |kind: &str, problem: Option<String>, good: &str, bad: &str| {
        json!({
            "type": kind,
            "status": if problem.is_none() { "True" } else { "False" },
            "reason": if problem.is_none() { good } else { bad },
            "message": problem.unwrap_or_default(),
            "observedGeneration": generation,
            "lastTransitionTime": Clock::default().now(),
        })
    };
    let unresolved = (!verdict.unresolved.is_empty()).then(|| format!("not found: {}", verdict.unresolved.join(", ")));
    let conditions = [
        condition("Accepted", verdict.refused.clone(), "Accepted", "UnsupportedValue"),
        condition("ResolvedRefs", unresolved, "ResolvedRefs", "BackendNotFound"),
    ];
    let all = route.data.pointer("/spec/parentRefs").and_then(Value::as_array);
    let about = |parent: &Value| json!({"parentRef": parent, "controllerName": "cutover.dev/sandbox", "conditions": conditions});
    all.into_iter().flatten().map(about).collect()
}

/// Whether both say the same, whenever they said it.
fn is_same(said: &Value, desired: &Value) -> bool {
    let without_times = |parents: &Value| {
        let mut parents = parents.clone();
        for parent in parents.as_array_mut().into_iter().flatten() {
            for condition in parent["conditions"].as_array_mut().into_iter().flatten() {
                condition.as_object_mut().map(|fields| fields.remove("lastTransitionTime"));
            }
        }
        parents
    };
    without_times(said) == without_times(desired)
}
