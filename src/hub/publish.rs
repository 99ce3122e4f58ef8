//! Says what happened: a log line, a count and an event for each transition. An event's name is made from the
//! transition's number, so that a restart announces nothing twice and loses nothing.

use jiff::Timestamp;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Resource, ResourceExt};

use super::{Hub, calls::CallError, memory::Memory, turns::Turn};
use crate::api::{FleetRollout, status::Transition};

/// Bytes of an event's note that the API server takes.
const NOTE: usize = 1024;
/// Who reports.
const CONTROLLER: &str = "cutover.dev/hub";

/// Announces what was not announced yet. True if something is left for later: the API server failed.
pub(super) async fn publish(hub: &Hub, turn: &Turn, rollout: &FleetRollout, memory: &mut Memory) -> bool {
    for transition in unannounced(rollout, memory.announced) {
        let event = event(rollout, &hub.leader, transition);
        match hub.calls.create_event(turn, &event).await {
            Ok(()) => log_transition(hub, rollout, transition),
            // A former instance of the hub announced it.
            Err(CallError::Conflict) => {}
            Err(error @ (CallError::Refused(_) | CallError::Gone)) => {
                tracing::warn!(rollout = rollout.name_any(), %error, "an event was refused");
                log_transition(hub, rollout, transition);
            }
            Err(CallError::NotLeading | CallError::Late | CallError::Overloaded(_) | CallError::Failed(_)) => {
                return true;
            }
        }
        memory.announced = Some(transition.number);
    }
    false
}

/// The transitions that were not announced yet, if this one was the last that was.
pub(super) fn unannounced(rollout: &FleetRollout, announced: Option<u64>) -> impl Iterator<Item = &Transition> {
    let all = rollout.status.iter().flat_map(|status| &status.transitions);
    all.filter(move |transition| announced.is_none_or(|announced| transition.number > announced))
}

/// Reports an object that cannot be read, once for each version of it.
pub(super) fn unreadable(metadata: &ObjectMeta, leader: &str, error: &str, at: Timestamp) -> Event {
    let uid = metadata.uid.clone().unwrap_or_default();
    let version = metadata.resource_version.clone().unwrap_or_default();
    let namespace = metadata.namespace.clone().unwrap_or_default();
    let name = metadata.name.clone().unwrap_or_default();
    Event {
        metadata: ObjectMeta {
            name: Some(event_name(&name, &uid, &format!("v{version}"))),
            namespace: Some(namespace.clone()),
            ..ObjectMeta::default()
        },
        regarding: Some(regarding(&namespace, &name, &uid)),
        note: Some(truncated(&format!("the object cannot be read and is left alone: {error}"))),
        reason: Some("InvalidSpec".to_owned()),
        type_: Some("Warning".to_owned()),
        event_time: Some(MicroTime(at)),
        ..event_by(leader)
    }
}

fn log_transition(hub: &Hub, rollout: &FleetRollout, transition: &Transition) {
    hub.metrics.count_transition(transition.reason);
    tracing::info!(
        namespace = rollout.namespace(),
        rollout = rollout.name_any(),
        number = transition.number,
        reason = transition.reason.as_str(),
        warning = transition.warning,
        "{}",
        transition.message
    );
}

fn event(rollout: &FleetRollout, leader: &str, transition: &Transition) -> Event {
    let (namespace, name) = (rollout.namespace().unwrap_or_default(), rollout.name_any());
    let uid = rollout.uid().unwrap_or_default();
    Event {
        metadata: ObjectMeta {
            name: Some(event_name(&name, &uid, &transition.number.to_string())),
            namespace: Some(namespace.clone()),
            ..ObjectMeta::default()
        },
        regarding: Some(regarding(&namespace, &name, &uid)),
        note: Some(truncated(&transition.message)),
        reason: Some(transition.reason.as_str().to_owned()),
        type_: Some(if transition.warning { "Warning" } else { "Normal" }.to_owned()),
        event_time: Some(MicroTime(transition.at)),
        ..event_by(leader)
    }
}

fn event_by(leader: &str) -> Event {
    Event {
        action: Some("Reconcile".to_owned()),
        reporting_controller: Some(CONTROLLER.to_owned()),
        reporting_instance: Some(leader.chars().take(128).collect()),
        ..Event::default()
    }
}

fn regarding(namespace: &str, name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(FleetRollout::api_version(&()).into_owned()),
        kind: Some(FleetRollout::kind(&()).into_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

fn event_name(rollout: &str, uid: &str, number: &str) -> String {
    let instance: String = uid.chars().take(8).collect();
    format!("{rollout}.{instance}.{number}")
}

fn truncated(text: &str) -> String {
    let end = text.floor_char_boundary(NOTE);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_has_one_name_in_every_life_of_the_hub() {
        assert_eq!(event_name("shop", "6f1e9a52-77aa", "12"), "shop.6f1e9a52.12");
    }

    #[test]
    fn a_note_is_cut_between_characters() {
        let note = truncated(&"ä".repeat(1000));
        assert_eq!((note.len(), note.chars().count()), (1024, 512));
        assert_eq!(truncated("short"), "short");
    }
}
