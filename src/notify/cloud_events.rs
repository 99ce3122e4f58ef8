//! Any service that takes a CloudEvent 1.0 in structured mode over HTTP.

use http::header::CONTENT_TYPE;
use serde_json::json;

use super::{
    Alert,
    request::{Credentials, Request},
};
use crate::api::{alert::About, alert_provider::CloudEvents};

pub(super) fn render(events: &CloudEvents, alert: &Alert, credentials: &Credentials) -> Request {
    let default =
        || format!("/apis/cutover.dev/v1alpha1/namespaces/{}/fleetrollouts/{}", alert.namespace, alert.rollout);
    let event = json!({
        "specversion": "1.0", "id": alert.key(), "source": events.source.clone().unwrap_or_else(default),
        "type": of_type(alert.what.about), "subject": alert.place(), "time": alert.what.at,
        "datacontenttype": "application/json", "data": alert.data(),
    });
    let request = Request::json(&event).with(CONTENT_TYPE, "application/cloudevents+json");
    request.authorized("Bearer", credentials)
}

const fn of_type(about: About) -> &'static str {
    match about {
        About::Transition => "dev.cutover.rollout.transition",
        About::Hold => "dev.cutover.rollout.hold",
        About::Reminder => "dev.cutover.rollout.reminder",
        About::HoldEnd => "dev.cutover.rollout.holdend",
    }
}
