//! Prometheus' Alertmanager, by its API v2. A hold is one alert that fires until it ends; everything else fires for an hour.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::{
    Alert,
    request::{Credentials, Request},
};
use crate::api::{Severity, alert::About, alert_provider::Alertmanager};

/// How long what happened is shown.
const SHOWN: SignedDuration = SignedDuration::from_hours(1);

pub(super) fn render(alertmanager: &Alertmanager, alert: &Alert, credentials: &Credentials) -> Request {
    let what = &alert.what;
    let (starts, ends) = times(alert);
    let mut labels: Map<String, Value> =
        alertmanager.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let is_hold = what.about != About::Transition;
    labels.insert("namespace".to_owned(), json!(alert.namespace));
    labels.insert("rollout".to_owned(), json!(alert.rollout));
    labels.insert("severity".to_owned(), json!(severity(what.severity)));
    if is_hold {
        labels.insert("alertname".to_owned(), json!("CutoverRolloutHeld"));
    } else {
        labels.insert("alertname".to_owned(), json!("CutoverRollout"));
        labels.insert("reason".to_owned(), json!(what.reason));
    }
    let annotations = json!({
        "summary": alert.title(), "description": alert.lines().join("\n"), "commands": alert.commands().join("\n"),
        "key": alert.key(),
    });
    let body = json!([{"labels": labels, "annotations": annotations, "startsAt": starts, "endsAt": ends}]);
    Request::json(&body).to("/api/v2/alerts").authorized("Bearer", credentials)
}

/// From when to when it fires.
fn times(alert: &Alert) -> (Timestamp, Timestamp) {
    let what = &alert.what;
    let later = |at: Timestamp, time| at.checked_add(time).unwrap_or(at);
    match what.about {
        About::Transition => (what.at, later(what.at, SHOWN)),
        // The reminder comes before that and moves it.
        About::Hold | About::Reminder => (what.since.unwrap_or(what.at), later(what.until.unwrap_or(what.at), SHOWN)),
        // It must not end before it begins, nor at the same time.
        About::HoldEnd => {
            let since = what.since.unwrap_or(what.at).min(later(what.at, SignedDuration::from_secs(-1)));
            (since, what.at)
        }
    }
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warn => "warning",
        Severity::Error => "critical",
    }
}
