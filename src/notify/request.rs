//! A request that carries an alert. Pure.

use http::{
    HeaderName,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{
    Alert, alertmanager, chat, cloud_events, discord, google_chat, opsgenie, pager_duty, slack, teams, webhook,
};
use crate::{api::alert_provider::Receiver, http::SigningKey};

/// What a provider's Secrets hold beside its URL.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    /// A token, an integration key or an API key.
    pub token: Option<SecretString>,
    /// The key of signatures.
    pub signing_key: Option<SigningKey>,
}

impl Credentials {
    pub(super) fn token(&self) -> &str {
        self.token.as_ref().map(ExposeSecret::expose_secret).unwrap_or_default()
    }
}

/// What counts as taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Any status 2xx.
    ByStatus,
    /// Status 2xx and `"ok": true` in the body, as Slack's Web API answers.
    ByOk,
}

/// A POST.
pub(crate) struct Request {
    /// Below the provider's URL.
    pub(super) path: String,
    pub(super) headers: Vec<(HeaderName, String)>,
    pub(super) body: Vec<u8>,
    pub(super) taken: Taken,
}

impl Request {
    /// A POST of JSON to the provider's URL itself.
    pub(super) fn json(body: &Value) -> Self {
        let headers = vec![(CONTENT_TYPE, "application/json".to_owned())];
        Self { path: String::new(), headers, body: body.to_string().into_bytes(), taken: Taken::ByStatus }
    }

    pub(super) fn to(self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self }
    }

    pub(super) fn with(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }

    /// With the token in front of which this scheme stands, if there is one.
    pub(super) fn authorized(self, scheme: &str, credentials: &Credentials) -> Self {
        if credentials.token.is_none() {
            return self;
        }
        let value = format!("{scheme} {}", credentials.token());
        self.with(AUTHORIZATION, value)
    }
}

/// The request that this service documents, with the idempotency key as a header.
pub(crate) fn render(receiver: &Receiver, alert: &Alert, credentials: &Credentials, now: Timestamp) -> Request {
    let request = match receiver {
        Receiver::Slack(slack) => slack::render(slack, alert, credentials),
        Receiver::Alertmanager(alertmanager) => alertmanager::render(alertmanager, alert, credentials),
        Receiver::Webhook(_) => webhook::render(alert, credentials, now),
        Receiver::CloudEvents(events) => cloud_events::render(events, alert, credentials),
        Receiver::MicrosoftTeams(_) => teams::render(alert),
        Receiver::Discord(discord) => discord::render(discord, alert),
        Receiver::GoogleChat(_) => google_chat::render(alert),
        Receiver::RocketChat(chat) => chat::rocket_chat(chat, alert),
        Receiver::Mattermost(chat) => chat::mattermost(chat, alert),
        Receiver::PagerDuty(_) => pager_duty::render(alert, credentials),
        Receiver::Opsgenie(opsgenie) => opsgenie::render(opsgenie, alert, credentials),
    };
    request.with(HeaderName::from_static("idempotency-key"), alert.key())
}
