//! `AlertProvider`: a service to which alerts of rollouts are sent.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Duration, member::SecretKeyRef};

/// The value of the label `cutover.dev/purpose` of a Secret that an `AlertProvider` names.
pub const ALERT_PURPOSE: &str = "alert";
/// Labels that are added to an alert of an Alertmanager, at most.
pub const LABELS: usize = 16;

/// A service to which alerts are sent, as exactly one key. A Secret that it names is one of its own namespace, with the label
/// `cutover.dev/purpose: alert`; the hub needs the role of `config/rbac/hub-alerts.yaml` to read it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "cutover.dev",
    version = "v1alpha1",
    kind = "AlertProvider",
    doc = "A service to which the alerts of rollouts are sent.",
    plural = "alertproviders",
    namespaced,
    shortname = "ap",
    category = "cutover",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(has(self.url) && has(self.urlSecretRef))").message("url or urlSecretRef, not both"),
    validation = Rule::new("has(self.url) || has(self.urlSecretRef) || has(self.pagerDuty) || has(self.opsgenie) || has(self.slack)")
        .message("url or urlSecretRef is required"),
    validation = Rule::new("!has(self.slack) || has(self.url) || has(self.urlSecretRef) || has(self.tokenSecretRef)")
        .message("slack needs urlSecretRef, or tokenSecretRef and a channel"),
    validation = Rule::new("!has(self.slack) || !has(self.tokenSecretRef) || has(self.slack.channel)")
        .message("slack with tokenSecretRef needs a channel"),
    validation = Rule::new("!(has(self.pagerDuty) || has(self.opsgenie)) || has(self.tokenSecretRef)")
        .message("tokenSecretRef is required by pagerDuty and opsgenie"),
    validation = Rule::new("!(has(self.microsoftTeams) || has(self.discord) || has(self.googleChat) || has(self.rocketChat) || has(self.mattermost)) || !has(self.tokenSecretRef)")
        .message("tokenSecretRef does nothing here: the URL is the credential; put it into urlSecretRef"),
    validation = Rule::new("!has(self.tokenSecretRef) || !has(self.url) || self.url.startsWith('https://')")
        .message("a token is sent by https only"),
    validation = Rule::new("duration(self.timeout) >= duration('1s') && duration(self.timeout) <= duration('30s')")
        .message("timeout: from 1s to 30s")
)]
pub struct AlertProviderSpec {
    /// The service; exactly one key.
    #[serde(flatten)]
    pub receiver: Receiver,
    /// Where it is, if that is no secret. The hub refuses its own addresses, those of its machine and of its cluster's Services
    /// unless its `--allow-addresses` names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 8, max = 2048), regex(pattern = r"^https?://[^/?#@\s]+([/?][^#\s]*)?$"))]
    pub url: Option<String>,
    /// Where it is, if that is a secret, as are the webhook URLs of chat services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_secret_ref: Option<SecretKeyRef>,
    /// A bot token (`slack`), an integration key (`pagerDuty`), an API key (`opsgenie`), or a bearer token (`alertmanager`,
    /// `webhook`, `cloudEvents`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_secret_ref: Option<SecretKeyRef>,
    /// Maximum duration of one try, 1s to 30s.
    #[serde(default = "ten_seconds")]
    pub timeout: Duration,
    /// Certificates to trust, PEM. Default: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32768))]
    pub ca_bundle: Option<String>,
}

/// A service that takes alerts; exactly one key.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Receiver {
    /// Slack: an incoming webhook, or `chat.postMessage` with a bot token.
    Slack(Slack),
    /// Prometheus' Alertmanager, by its API v2; `url` is its root.
    Alertmanager(Alertmanager),
    /// Any service that takes a POST of JSON.
    Webhook(Webhook),
    /// Any service that takes a CloudEvent 1.0 in structured mode over HTTP.
    CloudEvents(CloudEvents),
    /// Microsoft Teams: a workflow that posts an Adaptive Card.
    MicrosoftTeams(MicrosoftTeams),
    /// Discord: a webhook of a channel.
    Discord(Discord),
    /// Google Chat: a webhook of a space.
    GoogleChat(GoogleChat),
    /// Rocket.Chat: an incoming webhook.
    RocketChat(Chat),
    /// Mattermost: an incoming webhook.
    Mattermost(Chat),
    /// PagerDuty, by its Events API v2.
    PagerDuty(PagerDuty),
    /// Opsgenie, by its Alert API.
    Opsgenie(Opsgenie),
}

/// What a service does with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    /// It works with and without one.
    Optional,
    /// It takes nothing without one.
    Required,
    /// None: its URL is the credential.
    None,
}

impl Receiver {
    /// Its key in a spec.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Slack(_) => "slack",
            Self::Alertmanager(_) => "alertmanager",
            Self::Webhook(_) => "webhook",
            Self::CloudEvents(_) => "cloudEvents",
            Self::MicrosoftTeams(_) => "microsoftTeams",
            Self::Discord(_) => "discord",
            Self::GoogleChat(_) => "googleChat",
            Self::RocketChat(_) => "rocketChat",
            Self::Mattermost(_) => "mattermost",
            Self::PagerDuty(_) => "pagerDuty",
            Self::Opsgenie(_) => "opsgenie",
        }
    }

    /// What it does with a token.
    #[must_use]
    pub const fn token_use(&self) -> TokenUse {
        match self {
            Self::Slack(_) | Self::Alertmanager(_) | Self::Webhook(_) | Self::CloudEvents(_) => TokenUse::Optional,
            Self::PagerDuty(_) | Self::Opsgenie(_) => TokenUse::Required,
            Self::MicrosoftTeams(_)
            | Self::Discord(_)
            | Self::GoogleChat(_)
            | Self::RocketChat(_)
            | Self::Mattermost(_) => TokenUse::None,
        }
    }

    /// Where it is, with a token, if everybody knows its address.
    #[must_use]
    pub const fn default_url(&self) -> Option<&'static str> {
        match self {
            Self::Slack(_) => Some("https://slack.com/api/chat.postMessage"),
            Self::PagerDuty(_) => Some("https://events.pagerduty.com"),
            Self::Opsgenie(_) => Some("https://api.opsgenie.com"),
            Self::Alertmanager(_)
            | Self::Webhook(_)
            | Self::CloudEvents(_)
            | Self::MicrosoftTeams(_)
            | Self::Discord(_)
            | Self::GoogleChat(_)
            | Self::RocketChat(_)
            | Self::Mattermost(_) => None,
        }
    }

    /// The Secret with the key that signs what is sent.
    #[must_use]
    pub const fn signing_key(&self) -> Option<&SecretKeyRef> {
        if let Self::Webhook(webhook) = self { webhook.signing_key_secret_ref.as_ref() } else { None }
    }
}

/// Slack.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Slack {
    /// The channel, by name or id; required with a bot token. An incoming webhook has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 80))]
    pub channel: Option<String>,
    /// The name under which it appears, where Slack allows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 80))]
    pub username: Option<String>,
}

/// An Alertmanager.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Alertmanager {
    /// Labels beside `alertname`, `namespace`, `rollout` and `severity`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = LABELS, "additionalProperties" = {"type": "string", "maxLength": 256}))]
    pub labels: BTreeMap<String, String>,
}

/// A service that takes a POST of JSON.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// The key of an HMAC-SHA256 signature of time and body. Default: no signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_key_secret_ref: Option<SecretKeyRef>,
}

/// A service that takes CloudEvents.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct CloudEvents {
    /// The attribute `source`. Default: the path of the rollout in its API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"^\S+$"))]
    pub source: Option<String>,
}

/// Microsoft Teams.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MicrosoftTeams {}

/// Discord.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Discord {
    /// The name under which it appears.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 80))]
    pub username: Option<String>,
}

/// Google Chat.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GoogleChat {}

/// Rocket.Chat or Mattermost.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Chat {
    /// The channel, if not that of the webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 80))]
    pub channel: Option<String>,
    /// The name under which it appears, where the server allows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 80))]
    pub username: Option<String>,
}

/// PagerDuty.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagerDuty {}

/// Opsgenie.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Opsgenie {
    /// The team that is notified. Default: as the integration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub team: Option<String>,
}

const fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}
