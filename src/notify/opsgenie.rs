//! Opsgenie, by its Alert API: a hold is an alert that is closed with it.

use serde_json::json;

use super::{
    Alert,
    alert::cut,
    request::{Credentials, Request},
};
use crate::api::{Severity, alert::About, alert_provider::Opsgenie};

/// Characters of a message and of a description.
const MESSAGE: usize = 130;
const DESCRIPTION: usize = 15_000;

pub(super) fn render(opsgenie: &Opsgenie, alert: &Alert, credentials: &Credentials) -> Request {
    let what = &alert.what;
    let alias = match what.about {
        About::Transition => alert.key(),
        About::Hold | About::Reminder => alert.hold_key(),
        About::HoldEnd => {
            let body = json!({"source": "cutover", "user": "cutover", "note": cut(&what.message, DESCRIPTION)});
            let path = format!("/v2/alerts/{}/close?identifierType=alias", alert.hold_key());
            return Request::json(&body).to(path).authorized("GenieKey", credentials);
        }
    };
    let details = json!({
        "namespace": alert.namespace, "rollout": alert.rollout, "reason": what.reason, "run": what.run.to_string(),
        "key": alert.key(),
    });
    let description: Vec<String> = alert.lines().into_iter().chain(alert.commands()).collect();
    let mut body = json!({
        "message": cut(&alert.title(), MESSAGE), "alias": alias, "description": cut(&description.join("\n"), DESCRIPTION),
        "priority": priority(what.severity), "source": "cutover", "entity": alert.place(), "tags": ["cutover"],
        "details": details,
    });
    if let Some(team) = &opsgenie.team {
        body["responders"] = json!([{"type": "team", "name": team}]);
    }
    Request::json(&body).to("/v2/alerts").authorized("GenieKey", credentials)
}

const fn priority(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "P5",
        Severity::Warn => "P3",
        Severity::Error => "P1",
    }
}
