//! Each service gets the request that it documents, on a real HTTP server; and whatever a server does, a delivery ends.

mod requests;
mod servers;

use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{Alert, Credentials, Failure, Target, deliver, render};
use crate::{
    api::alert_provider::Receiver,
    http::{
        SigningKey,
        fixtures::{Server, loopback},
    },
};

/// When it happened.
const AT: &str = "2026-01-01T00:00:00Z";

/// What is in no error, whatever happens.
const SECRET: &str = "T0KEN-xyzzy";

/// The alert about a hold, with what others may have written in it.
fn alert(change: &Value) -> Alert {
    let mut what = json!({
        "number": 12, "at": AT, "severity": "Warn", "about": "Hold", "phase": "Held", "reason": "MetricsUnknown",
        "message": "errors: no answer of <!channel> & @all `eu-3`", "run": 3, "step": "2/4", "weights": "eu-1:75 eu-3:25",
        "verbs": ["Retry", "Abort"], "since": AT, "until": "2026-01-01T00:15:00Z", "to": ["team"],
    });
    json_patch::merge(&mut what, change);
    Alert {
        namespace: "shop".to_owned(),
        rollout: "storefront".to_owned(),
        uid: "6f1e9a52".to_owned(),
        what: serde_json::from_value(what).unwrap(),
    }
}

fn receiver(spec: Value) -> Receiver {
    serde_json::from_value(spec).unwrap()
}

fn credentials() -> Credentials {
    let signing_key = Some(SigningKey::of(b"JefeJefeJefeJefe").unwrap());
    Credentials { token: Some(SecretString::from(SECRET)), signing_key }
}

fn target(url: String) -> Target {
    Target { url: SecretString::from(url), roots: None, timeout: Duration::from_secs(2) }
}

/// Sends the alert to a server at a path and query that are a secret.
async fn send(server: &Server, spec: Value, alert: &Alert, credentials: &Credentials) -> Result<(), Failure> {
    let now: Timestamp = "2026-01-01T00:00:07Z".parse().unwrap();
    let request = render(&receiver(spec), alert, credentials, now);
    deliver(&loopback(), &target(format!("{}/hooks/{SECRET}?key={SECRET}", server.url())), request).await
}
