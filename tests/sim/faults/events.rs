//! What becomes of each event on a watch.

use std::sync::Arc;

use axum::body::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    super::plan::{
        Fault,
        sorts::{Blind, WatchFault},
    },
    Faults, Held,
    call::Call,
};

/// What becomes of an event on a watch.
pub enum Delivery {
    As(Vec<Bytes>),
    Later(Arc<Notify>, Bytes),
    Cut(Option<Bytes>),
    Never,
}

impl Faults {
    pub(super) fn event(&mut self, call: &Call, event: Bytes, kept: &mut Option<Bytes>, now: Timestamp) -> Delivery {
        let user_kind = call.plural != "leases";
        if user_kind {
            self.events += 1;
        }
        let this = user_kind && self.events == self.plan.k && self.begun.is_none();
        if this && matches!(self.plan.fault, Fault::Blind(_) | Fault::Watch(_)) {
            self.begun = Some(now);
        }
        if matches!(self.plan.fault, Fault::Failover(_)) && self.active() && self.instances > 1 {
            self.strike();
            return Delivery::Later(self.thaw.clone(), event);
        }
        if let Some(kept) = kept.take() {
            self.strike();
            return Delivery::As(vec![event, kept]);
        }
        match self.plan.fault {
            Fault::Blind(what) if this => self.blind(what, call, event),
            Fault::Watch(what) if this => {
                // A held back event has struck when another one overtakes it.
                if what != WatchFault::Reorder {
                    self.strike();
                }
                delivered(what, event, kept)
            }
            _ => Delivery::As(vec![event]),
        }
    }

    fn blind(&mut self, what: Blind, call: &Call, event: Bytes) -> Delivery {
        match what {
            Blind::HoldWatch => {
                self.held = held(call, &event);
                self.strike();
                Delivery::Later(self.thaw.clone(), event)
            }
            Blind::DropEvent => {
                self.strike();
                Delivery::Cut(Some(error(410, "Expired")))
            }
            Blind::HideWrite => Delivery::As(vec![event]),
        }
    }
}

/// What an event is about.
fn held(call: &Call, event: &[u8]) -> Option<Held> {
    let event = serde_json::from_slice::<Value>(event).ok()?;
    let metadata = &event["object"]["metadata"];
    let revision = metadata["resourceVersion"].as_str()?.parse().ok()?;
    Some(Held { plural: call.plural.clone(), name: metadata["name"].as_str()?.to_owned(), revision })
}

/// `kept` is delivered after the next event.
fn delivered(what: WatchFault, event: Bytes, kept: &mut Option<Bytes>) -> Delivery {
    match what {
        WatchFault::Gone => Delivery::Cut(Some(error(410, "Expired"))),
        WatchFault::Bookmark => {
            let bookmark = bookmark(&event);
            Delivery::As(vec![event, bookmark])
        }
        WatchFault::Duplicate => Delivery::As(vec![event.clone(), event]),
        WatchFault::Reorder => {
            *kept = Some(event);
            Delivery::As(Vec::new())
        }
        WatchFault::Cut => Delivery::Cut(Some(event.slice(..event.len() / 2))),
        WatchFault::Error => Delivery::Cut(Some(error(500, "InternalError"))),
        WatchFault::Idle => Delivery::Never,
        WatchFault::Older => {
            let mut older = serde_json::from_slice::<Value>(&event).unwrap_or_default();
            older["object"]["metadata"]["resourceVersion"] = "1".into();
            Delivery::As(vec![event, line(&older)])
        }
    }
}

fn bookmark(event: &[u8]) -> Bytes {
    let version = serde_json::from_slice::<Value>(event).unwrap_or_default();
    let object = &version["object"];
    line(&json!({"type": "BOOKMARK", "object": {"kind": object["kind"],
        "apiVersion": object["apiVersion"], "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]}}}))
}

fn error(code: u16, reason: &str) -> Bytes {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": reason, "reason": reason, "code": code});
    line(&json!({"type": "ERROR", "object": status}))
}

fn line(event: &Value) -> Bytes {
    Bytes::from(format!("{event}\n"))
}
