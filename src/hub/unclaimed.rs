//! Requests that no task of a rollout answers or removes: for a rollout that does not exist, or too many.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::ResourceExt;
use tokio::time::sleep;

use super::{
    Guarded, Hub,
    cache::Key,
    calls::CallError,
    cleanup::{self, answered_at},
    requests::{OPEN, created, oldest_open, readable},
    turns::Turn,
};
use crate::{
    api::{
        RolloutRequest,
        request::{RequestState, RolloutRequestStatus},
    },
    rollout::Urgency,
};

/// Answered requests that are kept in a namespace, the newest.
const ANSWERED: usize = 256;
/// The watch of rollouts may be this much behind the watch of requests.
const GRACE: Duration = Duration::from_mins(1);
/// Between two looks, however much changes.
const PACE: Duration = Duration::from_secs(1);
/// Between two looks, although nothing changes: an answer grows old.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_mins(1);

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Due {
    Answer(RequestState, String),
    Delete,
}

/// Answers and removes such requests while this process leads. Never ends.
pub(super) async fn keep_requests(hub: &Hub) {
    let (mut requests, mut rollouts) = (hub.requests.changes(), hub.rollouts.changes());
    loop {
        hub.leadership.gained().await;
        if hub.missing().is_none() {
            settle_all(hub).await;
        }
        sleep(PACE).await;
        tokio::select! {
            biased;
            _ = requests.changed() => {}
            _ = rollouts.changed() => {}
            () = sleep(LOOK_AT_LEAST_EVERY) => {}
        }
    }
}

async fn settle_all(hub: &Hub) {
    let (all, now) = (hub.requests.all(), hub.clock.now());
    let mut namespaces: BTreeMap<String, Vec<Arc<Guarded<RolloutRequest>>>> = BTreeMap::new();
    for request in all {
        namespaces.entry(request.namespace().unwrap_or_default()).or_default().push(request);
    }
    for requests in namespaces.values() {
        for (request, due) in due(&readable(requests), |rollout| hub.rollouts.get(rollout).is_some(), now) {
            let turn = hub.turns.wait(&Key::of(request).namespace, Urgency::Ordinary).await;
            match settle(hub, &turn, request, due, now).await {
                Ok(()) | Err(CallError::Gone | CallError::Conflict) => {}
                Err(error) => tracing::debug!(request = %Key::of(request), %error, "neither answered nor removed"),
            }
        }
    }
}

async fn settle(hub: &Hub, turn: &Turn, request: &RolloutRequest, due: Due, now: Timestamp) -> Result<(), CallError> {
    match due {
        Due::Delete => hub.calls.delete_request(turn, request).await,
        Due::Answer(state, reason) => {
            let mut answered = request.clone();
            answered.status = Some(RolloutRequestStatus { state: Some(state), reason: Some(reason), at: Some(now) });
            hub.calls.write_request_status(turn, &answered).await
        }
    }
}

/// What becomes of the requests of one namespace.
fn due<'r>(
    all: &[&'r RolloutRequest],
    exists: impl Fn(&Key) -> bool,
    now: Timestamp,
) -> Vec<(&'r RolloutRequest, Due)> {
    let is_lost = |request: &RolloutRequest| !exists(&rollout(request));
    let open = oldest_open(all).into_iter().enumerate().filter_map(|(place, request)| {
        let is_late = created(request).is_some_and(|created| created + GRACE <= now);
        let answer = match place {
            OPEN.. => (RequestState::Refused, flood(request)),
            _ if is_late && is_lost(request) => {
                (RequestState::Expired, format!("there is no FleetRollout {}", rollout(request)))
            }
            _ => return None,
        };
        Some((request, Due::Answer(answer.0, answer.1)))
    });
    let mut answered: Vec<&RolloutRequest> =
        all.iter().copied().filter(|request| answered_at(request).is_some()).collect();
    answered.sort_by_key(|request| std::cmp::Reverse((answered_at(request), request.name_any())));
    let old = answered
        .into_iter()
        .enumerate()
        .filter(|(place, request)| *place >= ANSWERED || is_lost(request) && cleanup::is_old(request, now));
    open.chain(old.map(|(_, request)| (request, Due::Delete))).collect()
}

fn rollout(request: &RolloutRequest) -> Key {
    Key::new(request.namespace().unwrap_or_default(), request.spec.rollout.name.clone())
}

fn flood(request: &RolloutRequest) -> String {
    let namespace = request.namespace().unwrap_or_default();
    format!(
        "namespace {namespace} has more than {OPEN} open requests, and this is not among the oldest; ask again later"
    )
}

#[cfg(test)]
mod tests;
