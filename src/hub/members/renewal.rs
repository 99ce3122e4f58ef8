//! Members' tokens, renewed before they end. A member opts in by its role; nothing else of it is ever written.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::join_all;
use k8s_openapi::api::core::v1::Secret;
use secrecy::ExposeSecret;
use tokio::time::{Instant, sleep_until};

use super::{Backoff, CallError, Hub, Key};
use crate::{
    clock::time_until,
    member::{Member, NotRenewed, Renewal},
    rollout::Urgency,
};

/// The least time between two requests to one member, whatever it answers.
const LEAST: Duration = Duration::from_mins(1);
/// The most: a role that was granted meanwhile is used within this time. A third of the shortest life of a token is little more
/// than three minutes, in which there are three attempts.
const MOST: Duration = Duration::from_mins(10);

/// Renews every token when it is due, while this process leads. Never ends.
pub(in crate::hub) async fn keep_tokens(hub: &Hub) {
    let mut members = hub.registry.changes();
    let mut paces = BTreeMap::new();
    loop {
        hub.leadership.gained().await;
        renew_due(hub, &mut paces).await;
        let next = next(hub, &paces);
        tokio::select! {
            biased;
            _ = members.changed() => {}
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
        }
    }
}

/// Renews at once what is due and was not tried just before.
async fn renew_due(hub: &Hub, paces: &mut BTreeMap<String, Backoff>) {
    let (members, now) = (hub.registry.all(), Instant::now());
    paces.retain(|name, _| members.iter().any(|member| member.declared.name == *name));
    let is_due = |member: &&Arc<Member>| attempt_at(hub, member, paces, now).is_some_and(|at| at <= now);
    let due: Vec<_> = members.iter().filter(is_due).collect();
    let attempts = due.into_iter().map(async |member| (member, attempt(hub, member).await));
    for (member, is_renewed) in join_all(attempts).await {
        let name = member.declared.name.clone();
        let pace = paces.entry(name).or_insert_with(|| Backoff::between(LEAST, MOST));
        if is_renewed {
            pace.succeeded(Instant::now());
        } else {
            pace.failed(Instant::now());
        }
    }
}

/// When there is something to do next, if no member changes until then.
fn next(hub: &Hub, paces: &BTreeMap<String, Backoff>) -> Option<Instant> {
    let (members, now) = (hub.registry.all(), Instant::now());
    members.iter().filter_map(|member| attempt_at(hub, member, paces, now)).min()
}

/// When the token of a member is renewed: when it is due, and not too soon after the last attempt.
fn attempt_at(hub: &Hub, member: &Member, paces: &BTreeMap<String, Backoff>, now: Instant) -> Option<Instant> {
    let due = now + time_until(member.renewal()?.due(), hub.clock.now());
    let blocked = paces.get(&member.declared.name).and_then(|pace| pace.blocked_until(now));
    Some(blocked.map_or(due, |until| until.max(due)))
}

/// One attempt, and whether it succeeded; else the log and the member's status say why.
async fn attempt(hub: &Hub, member: &Member) -> bool {
    let Some(renewal) = member.renewal() else { return false };
    let (name, account) = (&member.declared.name, renewal.account());
    match renew(hub, &renewal).await {
        Ok(()) => {
            tracing::info!(member = name, %account, "the token of the member was renewed");
            true
        }
        Err(why) => {
            tracing::warn!(member = name, %why, "the token of the member was not renewed");
            member.renewal_failed(why);
            false
        }
    }
}

/// Puts a new token in the place of the present one, over the very version that was read.
async fn renew(hub: &Hub, renewal: &Renewal<'_>) -> Result<(), NotRenewed> {
    let not_stored = |why| NotRenewed::NotStored { secret: renewal.secret.name.clone(), why };
    let stored = hub.secrets.get(&Key::new(&hub.namespace, &renewal.secret.name));
    let read = stored.filter(|secret| has_present_token(secret, renewal)).ok_or_else(|| not_stored(CHANGED))?;
    let kubeconfig = renewal.request().await?;
    let turn = hub.turns.wait("", Urgency::Ordinary).await;
    let written = hub.calls.set_secret_value(&turn, &read, &renewal.secret.key, kubeconfig.expose_secret()).await;
    written.map_err(|error| not_stored(why_not_stored(&error)))
}

/// The registry follows a change of a Secret a moment later.
fn has_present_token(secret: &Secret, renewal: &Renewal<'_>) -> bool {
    let value = secret.data.as_ref().and_then(|data| data.get(&renewal.secret.key));
    value.is_some_and(|value| value.0 == renewal.kubeconfig.as_bytes())
}

const CHANGED: &str = "it changed meanwhile; the hub tries again";

/// In words of our own: the error may repeat what an admission webhook said of the Secret.
const fn why_not_stored(error: &CallError) -> &'static str {
    match error {
        CallError::NotLeading => "this process does not lead any more",
        CallError::Conflict | CallError::Gone => CHANGED,
        CallError::Late | CallError::Overloaded(_) | CallError::Failed(_) => {
            "the API server of the hub cluster failed or did not answer in time; the hub tries again"
        }
        CallError::Refused(_) => {
            "the API server of the hub cluster refused it; apply config/rbac/hub-token-renewal.yaml there (an immutable Secret, \
             and an admission policy, refuse it too)"
        }
    }
}

#[cfg(test)]
mod tests;
