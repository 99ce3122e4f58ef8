//! What a hook is sent: the fields that Flagger sends (<https://docs.flagger.app/usage/webhooks>), and what it needs to know beside
//! them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    api::{
        Distribution, FleetRolloutSpec, FleetRolloutStatus,
        hook::Hook,
        status::{Check, Outcome, Transition},
    },
    rollout::{HookCall, input::Occasion},
};

/// Whose call it is.
#[derive(Clone, Copy)]
pub(crate) struct Moment<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) rollout: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) spec: &'a FleetRolloutSpec,
    /// What is recorded at that moment.
    pub(crate) status: &'a FleetRolloutStatus,
}

/// The body of a call.
pub(crate) fn payload(moment: &Moment<'_>, hook: &Hook, call: &HookCall) -> Vec<u8> {
    let status = moment.status;
    let mut body = json!({
        "name": moment.rollout,
        "namespace": moment.namespace,
        "phase": status.phase,
        "checksum": revision(status),
        "metadata": metadata(moment, hook, call),
        "hook": hook.name,
        "type": hook.kind,
        "key": call.key(moment.uid),
        "uid": moment.uid,
        "services": moment.spec.services.iter().map(|service| &service.name).collect::<Vec<_>>(),
        "reason": status.reason,
        "message": status.message,
    });
    let about = match call.occasion {
        Occasion::Step { attempt, .. } => of_run(status, attempt),
        Occasion::Ended { run } => of_ended(status, run),
        Occasion::Transition { number } => of_event(status, number),
    };
    if let Some(body) = body.as_object_mut() {
        body.extend(about);
    }
    // Plain data with string keys always serialises.
    serde_json::to_vec(&body).unwrap_or_default()
}

/// Names what the run is about; between runs, what the last one was about.
fn revision(status: &FleetRolloutStatus) -> &str {
    let last = || status.history.last().map(|record| record.revision.as_str());
    status.run.as_ref().map(|run| run.revision.as_str()).or_else(last).unwrap_or_default()
}

/// What the hook declares, and for an event what Flagger adds to that.
fn metadata(moment: &Moment<'_>, hook: &Hook, call: &HookCall) -> BTreeMap<String, String> {
    let mut metadata = hook.metadata.clone();
    if let Occasion::Transition { number } = call.occasion
        && let Some(transition) = transition(moment.status, number)
    {
        metadata.insert("eventMessage".to_owned(), transition.message.clone());
        metadata.insert("eventType".to_owned(), if transition.warning { "Warning" } else { "Normal" }.to_owned());
        metadata.insert("timestamp".to_owned(), transition.at.as_millisecond().to_string());
    }
    metadata
}

fn transition(status: &FleetRolloutStatus, number: u64) -> Option<&Transition> {
    status.transitions.iter().find(|transition| transition.number == number)
}

fn of_run(status: &FleetRolloutStatus, attempt: u64) -> Map<String, Value> {
    let Some(run) = &status.run else { return Map::new() };
    let weights = status.desired.as_ref().map_or(&run.start, |desired| &desired.split.weights);
    object(json!({
        "run": run.number,
        "step": run.step(),
        "steps": run.plan.len(),
        "attempt": attempt,
        "weights": weighed(weights),
        "nextWeights": run.next().map(|next| weighed(&next.split.weights)),
        "target": weighed(&run.target),
        "rollbackTo": weighed(&run.rollback_to),
        "canaries": run.canaries(),
        "check": run.check.as_ref().map(judged),
    }))
}

fn of_ended(status: &FleetRolloutStatus, number: u64) -> Map<String, Value> {
    let Some(record) = status.history.iter().find(|record| record.number == number) else { return Map::new() };
    // Flagger has two words for the end.
    let phase = match record.outcome {
        Outcome::Succeeded => "Succeeded",
        Outcome::Failed => "Failed",
        Outcome::RolledBack => "RolledBack",
        Outcome::Superseded => "Superseded",
    };
    object(json!({
        "phase": phase,
        "checksum": record.revision,
        "run": number,
        "step": record.step,
        "steps": record.steps,
        "reason": record.reason,
        "message": record.message,
        "endedBy": record.ended_by,
        "weights": weighed(&record.weights),
        "check": record.check.as_ref().map(judged),
    }))
}

fn of_event(status: &FleetRolloutStatus, number: u64) -> Map<String, Value> {
    let Some(transition) = transition(status, number) else { return Map::new() };
    object(json!({
        "event": number,
        "reason": transition.reason,
        "message": transition.message,
        "warning": transition.warning,
        "at": transition.at,
    }))
}

fn judged(check: &Check) -> Value {
    json!({"verdict": check.verdict, "reason": check.reason, "message": check.message, "at": check.at})
}

fn weighed(weights: &Distribution) -> BTreeMap<&str, u32> {
    weights.carrying().collect()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
