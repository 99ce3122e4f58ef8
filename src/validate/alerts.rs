//! Alert providers: where an alert goes, and with which credential.

use super::problem::Problem;
use crate::api::{
    AlertProviderSpec, Duration,
    alert_provider::{Receiver, Slack, TokenUse},
};

/// Everything that is wrong with an alert provider's spec; paths begin with `spec`.
pub fn alert_provider(spec: &AlertProviderSpec) -> Vec<Problem> {
    let problems = [address(spec), token(spec), plaintext(spec), timeout(spec)];
    problems.into_iter().flatten().collect()
}

fn address(spec: &AlertProviderSpec) -> Option<Problem> {
    let has_token = spec.token_secret_ref.is_some() || spec.receiver.token_use() == TokenUse::Required;
    let has_default = spec.receiver.default_url().is_some() && has_token;
    match (&spec.url, &spec.url_secret_ref) {
        (Some(_), Some(_)) => {
            Some(Problem::error("spec", "url and urlSecretRef are given", "give one of url, urlSecretRef"))
        }
        (None, None) if !has_default => {
            let found = format!("{} has no address", spec.receiver.key());
            Some(Problem::error("spec", found, "give urlSecretRef, or url if the address is no secret"))
        }
        _ => None,
    }
}

fn token(spec: &AlertProviderSpec) -> Option<Problem> {
    let key = spec.receiver.key();
    match (spec.receiver.token_use(), &spec.token_secret_ref) {
        (TokenUse::Required, None) => {
            let found = format!("{key} takes no alert without a key");
            Some(Problem::error("spec.tokenSecretRef", found, "name the Secret with the integration's key"))
        }
        (TokenUse::None, Some(_)) => {
            let found = format!("{key} uses no token: its URL is the credential");
            Some(Problem::error("spec.tokenSecretRef", found, "leave it out, and put the URL into urlSecretRef"))
        }
        (TokenUse::Optional, Some(_)) => channel(&spec.receiver),
        (TokenUse::Optional | TokenUse::None, None) | (TokenUse::Required, Some(_)) => None,
    }
}

/// Slack's incoming webhooks have a channel, its bots have none.
fn channel(receiver: &Receiver) -> Option<Problem> {
    let Receiver::Slack(Slack { channel: None, .. }) = receiver else { return None };
    let remedy = "a bot token posts to a channel; name it, such as \"#shop\"";
    Some(Problem::error("spec.slack.channel", "missing", remedy))
}

fn plaintext(spec: &AlertProviderSpec) -> Option<Problem> {
    let is_plain = spec.url.as_ref().is_some_and(|url| !url.starts_with("https://"));
    (is_plain && spec.token_secret_ref.is_some())
        .then(|| Problem::error("spec.url", "a token would be sent without TLS", "write an https URL"))
}

fn timeout(spec: &AlertProviderSpec) -> Option<Problem> {
    let fits = (Duration::from_secs(1)..=Duration::from_secs(30)).contains(&spec.timeout);
    (!fits).then(|| Problem::error("spec.timeout", format!("is {}", spec.timeout), "from 1s to 30s"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(spec: Value) -> Vec<String> {
        let spec: AlertProviderSpec = serde_json::from_value(spec).unwrap();
        alert_provider(&spec).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_provider_that_can_be_reached_is_right() {
        let (url, token) = (json!({"name": "chat", "key": "url"}), json!({"name": "chat", "key": "token"}));
        for spec in [
            json!({"slack": {}, "urlSecretRef": url}),
            json!({"slack": {"channel": "#shop"}, "tokenSecretRef": token}),
            json!({"alertmanager": {}, "url": "http://alertmanager.example.com:9093"}),
            json!({"pagerDuty": {}, "tokenSecretRef": token}),
            json!({"opsgenie": {}, "url": "https://api.eu.opsgenie.com", "tokenSecretRef": token, "timeout": "30s"}),
        ] {
            assert_eq!(said(spec.clone()), [""; 0], "{spec}");
        }
    }

    #[test]
    fn what_cannot_be_delivered_is_refused_with_the_remedy() {
        let (url, token) = (json!({"name": "chat", "key": "url"}), json!({"name": "chat", "key": "token"}));
        for (spec, expected) in [
            (
                json!({"webhook": {}}),
                "spec: webhook has no address; give urlSecretRef, or url if the address is no secret",
            ),
            (
                json!({"webhook": {}, "url": "https://a.example.com", "urlSecretRef": url}),
                "spec: url and urlSecretRef are given; give one of url, urlSecretRef",
            ),
            (
                json!({"slack": {}, "tokenSecretRef": token}),
                "spec.slack.channel: missing; a bot token posts to a channel; name it, such as \"#shop\"",
            ),
            (
                json!({"opsgenie": {}}),
                "spec.tokenSecretRef: opsgenie takes no alert without a key; name the Secret with the integration's key",
            ),
            (
                json!({"discord": {}, "urlSecretRef": url, "tokenSecretRef": token}),
                "spec.tokenSecretRef: discord uses no token: its URL is the credential; leave it out, and put the URL into urlSecretRef",
            ),
            (
                json!({"webhook": {}, "url": "http://a.example.com", "tokenSecretRef": token}),
                "spec.url: a token would be sent without TLS; write an https URL",
            ),
            (
                json!({"webhook": {}, "url": "http://a.example.com", "timeout": "31s"}),
                "spec.timeout: is 31s; from 1s to 30s",
            ),
        ] {
            assert_eq!(said(spec), [expected]);
        }
    }
}
