//! PagerDuty, by its Events API v2: what only informs is a change event; a hold is an incident that ends with it.

use serde_json::json;

use super::{
    Alert,
    alert::cut,
    request::{Credentials, Request},
};
use crate::api::{Severity, alert::About};

/// Characters of a summary.
const SUMMARY: usize = 1024;

pub(super) fn render(alert: &Alert, credentials: &Credentials) -> Request {
    let what = &alert.what;
    let summary = cut(&format!("{}: {}", alert.title(), what.message), SUMMARY);
    if what.about == About::Transition && what.severity == Severity::Info {
        let payload =
            json!({"summary": summary, "timestamp": what.at, "source": alert.place(), "custom_details": alert.data()});
        return Request::json(&json!({"routing_key": credentials.token(), "payload": payload}))
            .to("/v2/change/enqueue");
    }
    let (action, key) = match what.about {
        About::Transition => ("trigger", alert.key()),
        About::Hold | About::Reminder => ("trigger", alert.hold_key()),
        About::HoldEnd => ("resolve", alert.hold_key()),
    };
    let payload = json!({
        "summary": summary, "source": alert.place(), "severity": severity(what.severity), "timestamp": what.at,
        "component": alert.rollout, "group": alert.namespace, "class": what.reason, "custom_details": alert.data(),
    });
    let body = json!({
        "routing_key": credentials.token(), "event_action": action, "dedup_key": key, "client": "cutover",
        "payload": payload,
    });
    Request::json(&body).to("/v2/enqueue")
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warn => "warning",
        Severity::Error => "critical",
    }
}
