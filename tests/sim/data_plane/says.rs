//! What a data plane says of a route, and whether it serves it.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{super::plan::sorts::DataPlaneFault, weights};

/// A data plane that is late serves a route so long after it was written.
const LATE: SignedDuration = SignedDuration::from_secs(20);
/// For so long it says one thing, and then the other.
const FLAPS: i64 = 3;

#[derive(PartialEq)]
pub struct Said {
    pub is_served: bool,
    /// The status of its parents, if there is something to say.
    pub parents: Option<Value>,
}

/// Of a route that was written so long ago.
pub fn of(route: &Value, age: SignedDuration, fault: Option<DataPlaneFault>) -> Said {
    let accepts = |accepted: bool| json!([parent(route, "public", accepted, true)]);
    let said = |is_served, parents| Said { is_served, parents };
    match fault {
        None => said(true, Some(accepts(true))),
        Some(DataPlaneFault::Refuses) => said(false, Some(accepts(false))),
        Some(DataPlaneFault::Flaps) => said(true, Some(accepts(age.as_secs() / FLAPS % 2 == 1))),
        Some(DataPlaneFault::OneParent) => {
            let both = json!([parent(route, "public", true, true), parent(route, "internal", false, true)]);
            said(true, Some(both))
        }
        Some(DataPlaneFault::Unresolved) => {
            let names_idle = weights(route).values().any(|weight| *weight == 0);
            said(true, Some(json!([parent(route, "public", true, !names_idle)])))
        }
        Some(DataPlaneFault::Late) if age < LATE => said(false, None),
        Some(DataPlaneFault::Late) => said(true, Some(accepts(true))),
        Some(DataPlaneFault::OldConditions) => said(true, None),
        Some(DataPlaneFault::Silent) => said(true, Some(json!([]))),
    }
}

fn parent(route: &Value, name: &str, accepted: bool, resolved: bool) -> Value {
    let condition = |kind: &str, is_so: bool, otherwise: &str| {
        json!({"type": kind, "status": if is_so { "True" } else { "False" }, "reason": if is_so { kind } else { otherwise },
               "message": "", "observedGeneration": route["metadata"]["generation"],
               "lastTransitionTime": "2026-11-21T12:00:00Z"})
    };
    json!({"parentRef": {"name": name}, "controllerName": "example.com/gateway",
           "conditions": [condition("Accepted", accepted, "NotAllowed"), condition("ResolvedRefs", resolved, "BackendNotFound")]})
}
