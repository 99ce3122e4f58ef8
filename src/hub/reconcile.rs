//! One pass over one rollout: observe, decide, record, execute, announce.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Notify, time::Instant};

use super::{
    Hub, calls::CallError, cleanup, dependencies, execute::Execution, memory::Memory, observe, observed::Observed,
    persist::persist, publish::publish, requests, sources, subject::Subject, templates,
};
use crate::{
    api::{FINALIZER, FleetRollout, FleetRolloutStatus, Mode},
    clock,
    metric::resolve::Resolved,
    object::field_manager,
    rollout::{self, Action, Decision, Input},
};

/// What could not be announced is announced again after this time.
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(10);

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// Look again at that time, or when something changes.
    Rest(Option<Instant>),
    /// Something was done: see what came of it, now.
    Again,
    /// The decision was about an older version: wait for the newer one.
    Stale,
}

/// Makes one pass over the rollout as the watch shows it.
pub(super) async fn pass(
    hub: &Hub,
    rollout: &FleetRollout,
    memory: &mut Memory,
    wake: &Arc<Notify>,
) -> Result<Ended, CallError> {
    memory.collect();
    let mut subject = Subject::new(&hub.id, rollout, &hub.registry, &hub.external_names);
    // What belongs together is judged together: of a Service without the one that serves, the wrong one would be promoted.
    if !observe::name_all(hub, &subject) {
        return Ok(Ended::Rest(None));
    }
    subject.neighbours = observe::neighbours(hub, &subject);
    memory.announced.get_or_insert(subject.status.announced);
    let resolved = templates::resolve(hub, rollout);
    let judged = templates::judged(rollout, &resolved);
    let observed = observe::observe(hub, &judged, &resolved.unusable, &subject, memory);
    let decision = decide(hub, &judged, &resolved, &subject, &observed, memory, wake);
    let led = rollout.spec.mode() == Mode::Service && sources::lead(&subject.status, &decision.status);
    if led && !sources::are_as_seen(hub, &subject).await? {
        return Ok(Ended::Again);
    }
    let (ready, blocked) = due_now(&decision.actions, memory);

    let Some(stored) = persist(hub, rollout, &decision.status, &ready).await? else { return Ok(Ended::Stale) };
    dependencies::wake_those_of(hub, rollout, &stored);
    memory.measuring.consumed();
    let execution = Execution { hub, subject: &subject, observed: &observed, rollout: stored.clone() };
    execution.all(&ready, memory).await;
    let unannounced = publish(hub, &stored, memory).await;
    cleanup::old_requests(hub, &subject).await;

    if !ready.is_empty() || live_run(&decision.status) != live_run(&subject.status) {
        return Ok(Ended::Again);
    }
    let later = unannounced.then(|| Instant::now() + ANNOUNCE_AGAIN);
    let probes = memory.probes.start_if_due(hub, &subject, &observed, &rollout.spec.analysis, wake);
    let addresses = memory.addresses.start_if_due(hub, &subject, wake);
    let read = memory.propagation.due(Instant::now());
    let wakes = [decision.wake.map(|at| instant(hub, at)), blocked, later, probes, addresses, read];
    Ok(Ended::Rest(wakes.into_iter().flatten().min()))
}

/// The run that is live: what is looked at and probed depends on it.
fn live_run(status: &FleetRolloutStatus) -> Option<u64> {
    status.run.as_ref().map(|run| run.number)
}

/// Asks the core, and sends for the measurements that it wants.
fn decide(
    hub: &Hub,
    rollout: &FleetRollout,
    resolved: &Resolved,
    subject: &Subject,
    observed: &Observed,
    memory: &mut Memory,
    wake: &Arc<Notify>,
) -> Decision {
    let requests = requests::open(hub, subject);
    let metadata = &rollout.metadata;
    let declared_by = field_manager::declarer(metadata);
    let mut input = Input {
        now: hub.clock.now(),
        hub: &hub.id,
        leader: &hub.leader,
        uid: &subject.uid,
        generation: metadata.generation.unwrap_or_default(),
        declared_by: declared_by.as_deref(),
        deleting: metadata.deletion_timestamp.is_some(),
        finalizer: metadata.finalizers.iter().flatten().any(|name| name == FINALIZER),
        spec: &rollout.spec,
        status: &subject.status,
        requests: &requests,
        seen: &observed.seen,
        announced: memory.announced.unwrap_or_default(),
        measured_at: memory.measuring.requested_at(),
        measuring: memory.measuring.is_under_way(),
    };
    if memory.measuring.is_free()
        && let Some(wanted) = rollout::due(&input)
    {
        memory.measuring.start(hub, wanted, resolved, subject, wake);
        (input.measured_at, input.measuring) = (memory.measuring.requested_at(), memory.measuring.is_under_way());
    }
    rollout::decide(&input)
}

/// The actions that may be done now, and when the first of the others may. The finalizer waits for all others.
fn due_now(actions: &[Action], memory: &Memory) -> (Vec<Action>, Option<Instant>) {
    let now = Instant::now();
    let blocked = actions.iter().filter_map(|action| memory.attempts.blocked_until(action, now)).min();
    let is_ready = |action: &&Action| match action {
        Action::RemoveFinalizer if blocked.is_some() => false,
        action => memory.attempts.blocked_until(action, now).is_none(),
    };
    (actions.iter().filter(is_ready).cloned().collect(), blocked)
}

fn instant(hub: &Hub, at: jiff::Timestamp) -> Instant {
    Instant::now() + clock::time_until(at, hub.clock.now())
}
