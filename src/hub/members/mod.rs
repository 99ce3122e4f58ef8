//! `MemberClusters`: their declarations fill the registry; their finalizers and status are written from what the hub
//! knows; their tokens are renewed.

mod finalizer;
mod health;
mod renewal;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::Secret;
use kube::{ResourceExt, runtime::watcher};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

pub(super) use renewal::keep_tokens;

use super::{
    Guarded, Hub,
    backoff::Backoff,
    cache::{Availability, Key},
    calls::CallError,
    why_unreadable,
};
use crate::{
    api::{FleetRollout, MemberCluster, Purpose},
    member::{Declared, Manager, Secrets},
};

/// Which Secrets of its namespace the hub sees: those that somebody has given a purpose.
pub(super) fn watched_secrets() -> watcher::Config {
    watcher::Config::default().labels(&Purpose::selector())
}

/// Keeps the registry at what is declared. Members are checked only while `leading`. Never ends.
pub(super) async fn keep_registry(hub: &Hub, leading: watch::Receiver<bool>) {
    let mut manager =
        Manager::new(hub.registry.clone(), hub.network.clone(), hub.clock.clone(), leading, hub.metrics.clone());
    let (mut members, mut secrets) = (hub.members.changes(), hub.secrets.changes());
    let mut known = BTreeMap::new();
    loop {
        // Both lists, or a member would seem to have lost its Secret.
        if [hub.members.availability(), hub.secrets.availability()].iter().all(Availability::is_synced) {
            let unreadable = unreadable(hub);
            log_new(&unreadable, &known);
            manager.declare(declared(hub), unreadable.keys().cloned().collect());
            known = unreadable;
        }
        tokio::select! {
            biased;
            _ = members.changed() => {}
            _ = secrets.changed() => {}
        }
    }
}

/// What is declared now and can be read.
fn declared(hub: &Hub) -> Vec<Declared> {
    let secrets = hub.secrets.all();
    let readable = |member: &Arc<Guarded<MemberCluster>>| {
        member.0.as_ref().ok().map(|readable| declaration(readable, &hub.namespace, &secrets))
    };
    hub.members.all().iter().filter_map(readable).collect()
}

/// What is declared now and cannot be read: the name, and why.
fn unreadable(hub: &Hub) -> BTreeMap<String, String> {
    let why = |member: &Arc<Guarded<MemberCluster>>| {
        member.0.as_ref().err().map(|invalid| (member.name_any(), why_unreadable(invalid)))
    };
    hub.members.all().iter().filter_map(why).collect()
}

fn log_new(unreadable: &BTreeMap<String, String>, known: &BTreeMap<String, String>) {
    for (member, error) in unreadable.iter().filter(|(member, error)| known.get(*member) != Some(error)) {
        tracing::warn!(member, error, "this MemberCluster cannot be read and is left out");
    }
}

fn declaration(member: &MemberCluster, namespace: &str, secrets: &[Arc<Secret>]) -> Declared {
    let find = |name: &str| secrets.iter().find(|secret| secret.name_any() == name).map(AsRef::as_ref);
    Declared {
        name: member.name_any(),
        uid: member.uid(),
        generation: member.metadata.generation,
        spec: member.spec.clone(),
        secrets: Secrets::pick(&member.spec, namespace, find),
    }
}

/// Writes members' finalizers and status while this process leads, whenever something changed that they follow from.
/// Never ends.
pub(super) async fn keep_objects(hub: &Hub) {
    let (mut members, mut rollouts) = (hub.members.changes(), hub.rollouts.changes());
    let mut health = hub.registry.changes();
    let mut paces = BTreeMap::new();
    loop {
        hub.leadership.gained().await;
        let again = write_all(hub, &mut paces).await;
        tokio::select! {
            biased;
            _ = members.changed() => {}
            _ = health.changed() => {}
            _ = rollouts.changed() => {}
            () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {}
        }
    }
}

/// Writes what differs, a member at most once a second; says when to look again though nothing changed.
async fn write_all(hub: &Hub, paces: &mut BTreeMap<String, Backoff>) -> Option<Instant> {
    let members = hub.members.all();
    paces.retain(|name, _| members.iter().any(|member| member.name_any() == *name));
    let rollouts = hub.rollouts.availability().is_synced().then(|| hub.rollouts.all());
    let mut again = None;
    for member in &members {
        let pace = paces.entry(member.name_any()).or_default();
        if pace.blocked_until(Instant::now()).is_none() {
            let written = write(hub, member, rollouts.as_deref()).await;
            keep_pace(pace, &member.name_any(), written);
        }
        again = [again, pace.blocked_until(Instant::now())].into_iter().flatten().min();
    }
    again
}

fn keep_pace(pace: &mut Backoff, member: &str, written: Result<bool, CallError>) {
    match written {
        Ok(false) => {}
        Ok(true) | Err(CallError::Conflict | CallError::Gone | CallError::NotLeading) => pace.succeeded(Instant::now()),
        Err(error @ (CallError::Late | CallError::Overloaded(_) | CallError::Refused(_) | CallError::Failed(_))) => {
            tracing::warn!(member, %error, "the member's finalizer or status was not written; tried again");
            pace.failed(Instant::now());
        }
    }
}

/// Writes the finalizer and the status of one member where they differ; true if something was written. Without
/// rollouts it is not known who uses the member.
async fn write(
    hub: &Hub,
    member: &Guarded<MemberCluster>,
    rollouts: Option<&[Arc<Guarded<FleetRollout>>]>,
) -> Result<bool, CallError> {
    let mut written = match rollouts {
        Some(rollouts) => finalizer::write(hub, member, rollouts).await?,
        None => false,
    };
    if let Some(Ok(newest)) = hub.members.get(&Key::of(member)).as_ref().map(|newest| &newest.0) {
        written |= health::write(hub, newest).await?;
    }
    Ok(written)
}
