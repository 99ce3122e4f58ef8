//! Webhooks become hooks: their moments and the first fields of what is sent are the same.

use std::collections::{BTreeMap, BTreeSet};

use super::names::{free, label};
use crate::{
    api::{
        Duration,
        hook::{Hook, HookType, METADATA, MOST},
    },
    import::{
        fields::Fields,
        go_duration::go_duration,
        remarks::{Remarks, shown},
    },
};

/// Where Flagger says nothing.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most that a hook may have: bytes of a value of its metadata, tries, time.
const LONGEST_VALUE: usize = 1024;
const RETRIES: u32 = 5;
const LONGEST_TIMEOUT: Duration = Duration::from_secs(300);

/// A type of webhook, by its name in a Canary; without one it is called at every check.
fn kind(name: &str) -> Option<HookType> {
    Some(match name {
        "confirm-rollout" => HookType::ConfirmRollout,
        "pre-rollout" => HookType::PreRollout,
        "" | "rollout" => HookType::Rollout,
        "confirm-traffic-increase" => HookType::ConfirmTrafficIncrease,
        "confirm-promotion" => HookType::ConfirmPromotion,
        "post-rollout" => HookType::PostRollout,
        "rollback" => HookType::Rollback,
        "event" => HookType::Event,
        _ => return None,
    })
}

/// Every webhook that a hook can take the place of; the others are named.
pub(super) fn webhooks(fields: &mut Fields<'_>, remarks: &mut Remarks) -> Vec<Hook> {
    let mut names = BTreeSet::new();
    let hooks = fields.each("webhooks", remarks, |webhook, remarks| {
        let hook = hook(webhook, remarks)?;
        if names.len() >= MOST {
            remarks.lose(webhook.path(), format!("a rollout has at most {MOST} hooks"));
            return None;
        }
        Some(Hook { name: free(&hook.name, &mut names), ..hook })
    });
    let hooks: Vec<Hook> = hooks.into_iter().flatten().collect();
    if !hooks.is_empty() {
        remarks.note(
            "spec.hooks",
            "The hub calls only addresses that it may: for Services of its own cluster start it with --allow-addresses \
             (docs/hooks.md).",
        );
    }
    hooks
}

fn hook(webhook: &mut Fields<'_>, remarks: &mut Remarks) -> Option<Hook> {
    let name = label(&webhook.take::<String>("name", remarks).unwrap_or_default(), "hook");
    let type_ = webhook.take::<String>("type", remarks).unwrap_or_default();
    let url = webhook.take::<String>("url", remarks).unwrap_or_default();
    let timeout = webhook.take::<String>("timeout", remarks);
    let retries = webhook.take::<i64>("retries", remarks).and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
    let metadata = webhook.take::<BTreeMap<String, String>>("metadata", remarks).unwrap_or_default();
    webhook.lose(&["muteAlert"], "an alert is about what happened to the rollout, whatever caused it", remarks);
    if webhook.take::<bool>("disableTLS", remarks) == Some(true) {
        let why = "TLS is always verified; give the certificates of the receiver as caBundle";
        remarks.lose(webhook.at("disableTLS"), why);
    }
    let Some(kind) = kind(&type_) else {
        webhook.refuse("type", format!("{:?} is no type of webhook", shown(&type_)), "correct it", remarks);
        return None;
    };
    if !is_called(&url) {
        let why =
            format!("{} ({kind:?}); a hook has an http or https URL without user, query and fragment", shown(&name));
        remarks.lose(webhook.path(), why);
        return None;
    }
    let timeout = match timeout.map(|text| go_duration(&text).ok_or(text)).transpose() {
        Ok(timeout) => timeout.unwrap_or(TIMEOUT).clamp(Duration::from_millis(100), LONGEST_TIMEOUT),
        Err(text) => {
            webhook.refuse("timeout", format!("{:?} is no duration", shown(&text)), "correct it", remarks);
            return None;
        }
    };
    if metadata.len() > METADATA || metadata.values().any(|value| value.len() > LONGEST_VALUE) {
        let why = format!("a hook sends at most {METADATA} texts of {LONGEST_VALUE} bytes; it is left out");
        remarks.lose(webhook.at("metadata"), why);
        return None;
    }
    let retries = retries.min(RETRIES);
    Some(Hook { name, kind, url, timeout, retries, metadata, ca_bundle: None, signing_key_secret_ref: None })
}

/// What [`Hook::url`] may be.
fn is_called(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let is_plain = |letter: char| !letter.is_whitespace() && !"?#".contains(letter);
    rest.is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        !host.is_empty() && !host.contains('@') && rest.chars().all(is_plain)
    })
}
