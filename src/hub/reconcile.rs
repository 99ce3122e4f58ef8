//! One pass over one rollout: observe, decide, record, execute, announce.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::{ResourceExt, core::ObjectMeta};
use tokio::{sync::Notify, time::Instant};

use super::{
    Hub,
    cache::Key,
    calls::CallError,
    cleanup, dependencies,
    execute::Execution,
    memory::{Known, Memory},
    observe,
    observed::Observed,
    persist::persist,
    publish::{self, publish},
    requests, reread,
    subject::Subject,
    templates,
    turns::{Place, Turn},
};
use crate::{
    api::{
        DeletionPolicy, FINALIZER, FleetRollout, FleetRolloutStatus, RolloutRequest, approval::DECLARED_BY_ANNOTATION,
    },
    clock,
    metric::resolve::Resolved,
    object::field_manager,
    rollout::{self, Action, Decision, Input, Urgency},
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

/// One pass, once it is decided what to do.
struct Pass<'a> {
    hub: &'a Hub,
    rollout: &'a FleetRollout,
    subject: Subject<'a>,
    observed: Observed,
    /// The time for which it was decided.
    now: Timestamp,
    decision: Decision,
    /// The actions that may be done now.
    ready: Vec<Action>,
    /// Requests that were answered long ago.
    old: Vec<RolloutRequest>,
}

/// What came of the calls of a pass.
enum Called {
    /// They were made, and this is stored now; something may be left to announce.
    All { stored: Box<FleetRollout>, unannounced: bool },
    /// The decision was made from something that has changed; the turn is kept for the next one.
    Outdated(Turn),
    /// The rollout was changed meanwhile.
    Stale,
}

/// Makes one pass over the rollout as the watch shows it.
pub(super) async fn pass(
    hub: &Hub,
    rollout: &FleetRollout,
    memory: &mut Memory,
    wake: &Arc<Notify>,
) -> Result<Ended, CallError> {
    memory.collect(hub.clock.now());
    let mut subject = Subject::new(&hub.id, rollout, &hub.registry, &hub.external_names);
    // What belongs together is judged together: of a Service without the one that serves, the wrong one would be promoted.
    if !observe::name_all(hub, &subject) {
        return Ok(Ended::Rest(None));
    }
    subject.neighbours = observe::neighbours(hub, &subject);
    subject.mesh = observe::mesh(hub, &subject);
    memory.announced.get_or_insert(subject.status.announced);
    let resolved = templates::resolve(hub, rollout);
    let judged = templates::judged(rollout, &resolved);
    let observed = observe::observe(hub, &judged, &resolved.unusable, &subject, memory);
    let (now, decision) = decide(hub, &judged, &resolved, &subject, &observed, memory, wake);
    let (ready, blocked) = due_now(&decision, subject.status, memory);
    let old = cleanup::old_requests(hub, &subject);
    let pass = Pass { hub, rollout, subject, observed, now, decision, ready, old };

    let (mut later, mut known) = (None, None);
    if pass.needs_calls(memory) {
        let urgency = pass.decision.urgency(pass.subject.status);
        let turn = match hub.turns.ask(memory.place.take(), &pass.subject.namespace, urgency, wake) {
            Ok(turn) => turn,
            Err(place) => {
                pass.without_turn(urgency, place, memory);
                return Ok(pass.rest([None, None], rollout, memory, wake));
            }
        };
        match pass.call(turn, memory, wake).await? {
            Called::All { stored, unannounced } => {
                later = unannounced.then(|| Instant::now() + ANNOUNCE_AGAIN);
                known = Some(stored);
            }
            Called::Outdated(turn) => {
                memory.place = Some(turn.keep());
                return Ok(Ended::Again);
            }
            Called::Stale => return Ok(Ended::Stale),
        }
    }
    memory.place = None;
    memory.measuring.consumed();
    memory.hooks.start(hub, rollout, (&pass.subject, &pass.decision.status), &pass.decision.hooks, wake);
    if pass.changed_something() {
        return Ok(Ended::Again);
    }
    Ok(pass.rest([blocked, later], known.as_deref().unwrap_or(rollout), memory, wake))
}

impl Pass<'_> {
    fn needs_calls(&self, memory: &Memory) -> bool {
        self.decision.status != *self.subject.status
            || !self.ready.is_empty()
            || !self.old.is_empty()
            || publish::unannounced(self.rollout, memory.announced).next().is_some()
    }

    /// Nothing is sent now. What is measured meanwhile takes the place of what passed before, so that a canary rises on
    /// nothing old; a failed check waits until it is recorded.
    fn without_turn(&self, urgency: Urgency, place: Place, memory: &mut Memory) {
        match urgency {
            Urgency::Check => {
                self.hub.metrics.count_dropped_check();
                memory.measuring.consumed();
            }
            Urgency::Advance => {
                memory.place = Some(place);
                memory.measuring.replaceable();
            }
            Urgency::Rollback | Urgency::Ordinary => memory.place = Some(place),
        }
    }

    /// Records the decision, does it and announces it.
    async fn call(&self, turn: Turn, memory: &mut Memory, wake: &Arc<Notify>) -> Result<Called, CallError> {
        let Self { hub, rollout, subject, observed, now: _, decision, ready, old } = self;
        if memory.known.is_unsure(rollout.metadata.resource_version.as_deref()) {
            let stored = hub.calls.read(&turn, &Key::of(*rollout)).await?;
            memory.known = Known::Current;
            if stored.resource_version() != rollout.resource_version() {
                return Ok(Called::Outdated(turn));
            }
        }
        if !reread::is_as_seen(hub, &turn, subject, rollout.spec.mode(), &decision.status).await? {
            memory.behind_at = Some(hub.clock.now());
            return Ok(Called::Outdated(turn));
        }
        let Some(stored) = persist(hub, &turn, rollout, &decision.status, ready).await? else {
            return Ok(Called::Stale);
        };
        memory.known = Known::Current;
        dependencies::wake_those_of(hub, rollout, &stored);
        // Before anything else is done: with its last action the rollout may be gone.
        memory.alerts.start_if_due(hub, &stored, wake);
        Execution::new(hub, &turn, subject, observed, stored.clone()).all(ready, memory).await;
        let unannounced = publish(hub, &turn, &stored, memory).await;
        cleanup::remove(hub, &turn, old).await;
        Ok(Called::All { stored: Box::new(stored), unannounced })
    }

    /// Something was done, or is looked at and probed in another way from now on.
    fn changed_something(&self) -> bool {
        !self.ready.is_empty() || live_run(&self.decision.status) != live_run(self.subject.status)
    }

    /// Until the core wants to look again, or one of these times, or something in the background is due. Of alerts those are
    /// sent that are `stored`.
    fn rest(
        &self,
        times: [Option<Instant>; 2],
        stored: &FleetRollout,
        memory: &mut Memory,
        wake: &Arc<Notify>,
    ) -> Ended {
        let (hub, now, spec) = (self.hub, Instant::now(), &self.rollout.spec);
        let again = look_again(self.decision.wake, self.now, memory.place.is_some()).map(|at| instant(hub, at));
        let probes = memory.probes.start_if_due(hub, &self.subject, &self.observed, &spec.analysis, wake);
        let addresses = memory.addresses.start_if_due(hub, &self.subject, wake);
        let configs = memory.configs.start_if_due(hub, &self.subject, (spec, &self.observed.seen), wake);
        let alerts = memory.alerts.start_if_due(hub, stored, wake);
        let [one, other] = times;
        let wakes = [again, one, other, probes, addresses, configs, alerts, memory.propagation.due(now)];
        Ended::Rest(wakes.into_iter().flatten().min())
    }
}

/// When to look again, where a decision for `now` wants that at `wake`. One that waits for a turn often wants it at once, and
/// is woken when its turn has come.
fn look_again(wake: Option<Timestamp>, now: Timestamp, waits_for_turn: bool) -> Option<Timestamp> {
    wake.filter(|at| !waits_for_turn || *at > now)
}

/// The run that is live: what is looked at and probed depends on it.
fn live_run(status: &FleetRolloutStatus) -> Option<u64> {
    status.run.as_ref().map(|run| run.number)
}

/// Asks the core, and sends for the measurements that it wants. The time, and what is decided for it.
fn decide(
    hub: &Hub,
    rollout: &FleetRollout,
    resolved: &Resolved,
    subject: &Subject,
    observed: &Observed,
    memory: &mut Memory,
    wake: &Arc<Notify>,
) -> (Timestamp, Decision) {
    let now = hub.clock.now();
    let requests = requests::open(hub, subject);
    let metadata = &rollout.metadata;
    let declared_by = field_manager::declarer(metadata);
    let mut input = Input {
        now,
        hub: &hub.id,
        leader: &hub.leader,
        uid: &subject.uid,
        generation: metadata.generation.unwrap_or_default(),
        declared_by: declared_by.as_deref(),
        author: author(metadata),
        deleting: metadata.deletion_timestamp.is_some(),
        finalizer: metadata.finalizers.iter().flatten().any(|name| name == FINALIZER),
        spec: &rollout.spec,
        status: subject.status,
        requests: &requests,
        seen: &observed.seen,
        announced: memory.announced.unwrap_or_default(),
        deliveries: memory.alerts.known(),
        measured_at: memory.measuring.requested_at(),
        measuring: memory.measuring.is_under_way(),
    };
    if memory.measuring.is_free()
        && let Some(wanted) = rollout::due(&input)
    {
        memory.measuring.start(hub, wanted, resolved, subject, wake);
        (input.measured_at, input.measuring) = (memory.measuring.requested_at(), memory.measuring.is_under_way());
    }
    (now, rollout::decide(&input))
}

/// Anybody may write an annotation: where an approval rests on it, an admission policy says who.
fn author(metadata: &ObjectMeta) -> Option<&str> {
    const LONGEST: usize = 253;
    let author = metadata.annotations.as_ref()?.get(DECLARED_BY_ANNOTATION)?;
    Some(author.as_str()).filter(|author| author.len() <= LONGEST)
}

/// The actions that may be done now, and when the first of the others may. The finalizer waits for all others. Traffic that
/// begins to go back waits for no pace: that happens once in a run, and is no fight with another writer.
fn due_now(decision: &Decision, before: &FleetRolloutStatus, memory: &Memory) -> (Vec<Action>, Option<Instant>) {
    let (actions, now) = (&decision.actions, Instant::now());
    if decision.begins_to_go_back(before) {
        return (actions.clone(), None);
    }
    let blocked_until = |action: &Action| {
        let in_use = memory.propagation.in_use_until(now).filter(|_| removes_backends(action));
        memory.attempts.blocked_until(action, now).max(in_use)
    };
    let blocked = actions.iter().filter_map(blocked_until).min();
    let is_ready = |action: &&Action| match action {
        Action::RemoveFinalizer if blocked.is_some() => false,
        action => blocked_until(action).is_none(),
    };
    (actions.iter().filter(is_ready).cloned().collect(), blocked)
}

fn removes_backends(action: &Action) -> bool {
    matches!(action, Action::ReleaseBackends { policy: DeletionPolicy::Revert, .. })
}

fn instant(hub: &Hub, at: Timestamp) -> Instant {
    Instant::now() + clock::time_until(at, hub.clock.now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_turn_does_not_look_again_at_once() {
        let now = Timestamp::UNIX_EPOCH;
        let later = now + jiff::SignedDuration::from_millis(1);
        assert_eq!(look_again(Some(now), now, true), None);
        assert_eq!(look_again(Some(later), now, true), Some(later));
        assert_eq!(look_again(Some(now), now, false), Some(now));
    }
}
