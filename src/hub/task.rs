//! The task of one rollout: passes, one at a time, whenever something changed or it is time.

use std::{sync::Arc, time::Duration};

use kube::ResourceExt;
use tokio::{sync::Notify, time::Instant};

use super::{
    Guarded, Hub,
    backoff::Waits,
    cache::Key,
    calls::CallError,
    memory::{Known, Memory},
    observe, publish,
    reconcile::{Ended, pass},
    subject::Subject,
    turns::Place,
    why_unreadable,
};
use crate::{api::FleetRollout, rollout::Urgency, supervise};

/// News that come together are looked at together.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// A clock that was set is noticed within this time; a look at what has not changed asks nothing of anyone.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_mins(1);
/// A pass that is stale waits for the watch; if that stays silent, it looks again after this time.
const STALE: Duration = Duration::from_secs(2);

/// What a task waits for before it looks again, unless something changes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// So much time.
    For(Duration),
    /// That this process leads.
    UntilLeading,
}

/// The task of one rollout.
struct Task {
    hub: Arc<Hub>,
    key: Key,
    uid: String,
    wake: Arc<Notify>,
    memory: Memory,
    waits: Waits,
    /// The version of a malformed object that was reported.
    reported: Option<String>,
}

/// Looks after one rollout until it is gone or this process stops.
pub(super) async fn run(hub: Arc<Hub>, key: Key, uid: String) {
    let wake = hub.wakers.of(&key);
    let mut task = Task { hub, key, uid, wake, memory: Memory::default(), waits: Waits::default(), reported: None };
    while let Some(rest) = task.look().await {
        tokio::select! {
            biased;
            () = task.hub.leadership.resigned() => break,
            () = task.rested(rest) => {}
        }
    }
}

impl Task {
    /// Waits for what ends the rest, or for a change and a moment for what comes with it.
    async fn rested(&self, rest: Rest) {
        let (hub, wake) = (&self.hub, &self.wake);
        let over = async {
            match rest {
                Rest::For(time) => {
                    let due = Instant::now() + time;
                    tokio::time::sleep_until(due).await;
                    hub.metrics.count_lateness(due.elapsed());
                }
                Rest::UntilLeading => hub.leadership.gained().await,
            }
        };
        tokio::select! {
            biased;
            () = wake.notified() => {
                // A turn is not left unused.
                if !self.memory.place.as_ref().is_some_and(Place::has_turn) {
                    tokio::time::sleep(DEBOUNCE).await;
                }
            }
            () = over => {}
        }
    }

    /// One look; the rest after it, or `None` if the rollout is gone.
    async fn look(&mut self) -> Option<Rest> {
        let guarded = self.hub.rollouts.get(&self.key)?;
        if guarded.uid().as_deref() != Some(self.uid.as_str()) {
            return None;
        }
        if !self.hub.leadership.is_current() {
            self.prepare(&guarded);
            return Some(Rest::UntilLeading);
        }
        Some(Rest::For(match &guarded.0 {
            Ok(rollout) => self.guarded_pass(rollout).await,
            Err(invalid) => {
                self.report(&guarded, &why_unreadable(invalid)).await;
                LOOK_AT_LEAST_EVERY
            }
        }))
    }

    /// Starts the watches that this process will need once it leads.
    fn prepare(&self, guarded: &Guarded<FleetRollout>) {
        if let Ok(rollout) = &guarded.0 {
            let subject = Subject::new(&self.hub.id, rollout, &self.hub.registry, &self.hub.external_names);
            observe::name_all(&self.hub, &subject);
        }
    }

    async fn guarded_pass(&mut self, rollout: &FleetRollout) -> Duration {
        let hub = self.hub.clone();
        let span = self.key.to_string();
        let work = Box::pin(pass(&hub, rollout, &mut self.memory, &self.wake));
        let ended = supervise::catch_panic(&span, &hub.metrics, work).await;
        if is_unsure(ended.as_ref()) {
            self.memory.known = Known::Unsure(rollout.resource_version());
        }
        let (outcome, rest) = match ended {
            None => ("panic", self.waits.after_failure()),
            Some(Err(error)) => {
                tracing::warn!(rollout = span, %error, "the decision was not recorded, so nothing was done");
                (error.outcome(), self.waits.after_failure())
            }
            Some(Ok(ended)) => {
                self.waits = Waits::default();
                after(ended, Instant::now())
            }
        };
        hub.metrics.count_pass(outcome);
        tracing::debug!(rollout = span, outcome, ?rest, "passed");
        rest
    }

    async fn report(&mut self, guarded: &Guarded<FleetRollout>, error: &str) {
        let version = guarded.resource_version();
        if self.reported == version {
            return;
        }
        tracing::warn!(rollout = %self.key, error, "a FleetRollout cannot be read and is left alone");
        let event = publish::unreadable(kube::Resource::meta(guarded), &self.hub.leader, error, self.hub.clock.now());
        let turn = self.hub.turns.wait(&self.key.namespace, Urgency::Ordinary).await;
        if let Err(error) = self.hub.calls.create_event(&turn, &event).await {
            tracing::debug!(%error, "an event was not written");
        }
        self.reported = version;
    }
}

/// Nobody knows which version of the rollout is stored.
fn is_unsure(ended: Option<&Result<Ended, CallError>>) -> bool {
    match ended {
        Some(Err(error)) => error.is_lost(),
        Some(Ok(ended)) => *ended == Ended::Stale,
        None => true,
    }
}

/// How a pass is counted, and the time to rest after it.
fn after(ended: Ended, now: Instant) -> (&'static str, Duration) {
    match ended {
        Ended::Again => ("done", Duration::ZERO),
        Ended::Stale => ("stale", STALE),
        Ended::Rest(at) => {
            let rest = at.map_or(LOOK_AT_LEAST_EVERY, |at| at.saturating_duration_since(now));
            ("rest", rest.clamp(DEBOUNCE, LOOK_AT_LEAST_EVERY))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::watch;

    use super::*;
    use crate::hub::{
        fixtures::{self, api_server::Answer, objects, world::World},
        lease::{Claim, Leadership},
    };

    fn rollout() -> Guarded<FleetRollout> {
        let spec = json!({"services": [], "members": [], "analysis": {"metrics": []}});
        let metadata = json!({"name": "fleet", "namespace": "shop", "uid": "u"});
        let (api_version, kind) = ("cutover.dev/v1alpha1", "FleetRollout");
        serde_json::from_value(json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}))
            .unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_standby_waits_for_a_change_or_the_lease_and_for_no_time() {
        let (claim, now) = (watch::Sender::new(Claim::None), Instant::now());
        let hub = Arc::new(fixtures::hub(fixtures::no_client(), Leadership::new(claim.subscribe())));
        hub.rollouts.wrote(rollout());
        let key = Key::new("shop", "fleet");
        let (wake, memory, waits) = (hub.wakers.of(&key), Memory::default(), Waits::default());
        let mut task = Task { hub, key, uid: "u".to_owned(), wake, memory, waits, reported: None };
        let rest = task.look().await.unwrap();
        assert_eq!(rest, Rest::UntilLeading);
        let hour = Duration::from_hours(1);
        assert!(tokio::time::timeout(hour, task.rested(rest)).await.is_err());
        task.wake.notify_one();
        task.rested(rest).await;
        claim.send_replace(Claim::Until(now + 2 * hour));
        task.rested(rest).await;
        assert_eq!(now.elapsed(), hour + DEBOUNCE);
    }

    fn task(world: &World, uid: &str) -> Task {
        let (hub, key) = (world.hub.clone(), Key::new("shop", "shop"));
        let (wake, memory, waits) = (hub.wakers.of(&key), Memory::default(), Waits::default());
        Task { hub, key, uid: uid.to_owned(), wake, memory, waits, reported: None }
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_ends_where_its_rollout_is_gone_or_another_one_has_its_name() {
        let world = World::of([objects::rollout(&objects::at_rest())]).await;
        assert!(task(&world, "uid-shop").look().await.is_some());
        assert!(task(&world, "uid-before").look().await.is_none());
        world.hub.rollouts.gone(&Key::new("shop", "shop"));
        assert!(task(&world, "uid-shop").look().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_read_is_reported_once_for_each_version() {
        let mut malformed = objects::rollout(&json!({}));
        malformed["spec"] = json!(7);
        let world = World::of([malformed]).await;
        let mut task = task(&world, "uid-shop");
        for _ in 0..2 {
            assert_eq!(task.look().await, Some(Rest::For(LOOK_AT_LEAST_EVERY)));
        }
        assert_eq!(world.api.calls(), ["POST events/shop.uid-shop.v5"]);
    }

    #[tokio::test(start_paused = true)]
    async fn passes_that_fail_in_a_row_are_ever_further_apart_until_one_succeeds() {
        let world = World::of([objects::rollout(&objects::at_rest())]).await;
        let mut task = task(&world, "uid-shop");
        for (answer, seconds) in [(Some(500), 1), (Some(500), 2), (None, 60), (Some(500), 1)] {
            if let Some(code) = answer {
                let mut changed = objects::rollout(&json!({}));
                changed["metadata"]["resourceVersion"] = json!((900 + seconds).to_string());
                world.api.store(&changed);
                world.hub.rollouts.wrote(serde_json::from_value(changed).unwrap());
                world.api.script("PUT fleetrollouts/shop/status", Answer::Code(code));
            } else {
                world.hub.rollouts.gone(&task.key);
                world.list_all();
            }
            let Some(Rest::For(rest)) = task.look().await else { panic!("it is there") };
            assert_eq!(rest, Duration::from_secs(seconds));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_rollout_is_read_before_the_next_write_when_an_answer_was_lost_or_a_newer_one_met() {
        let (read, write) = ("GET fleetrollouts/shop", "PUT fleetrollouts/shop/status rv=5");
        for (answer, expected) in
            [(Answer::Lost, read), (Answer::Code(429), read), (Answer::Code(409), read), (Answer::Code(403), write)]
        {
            let world = World::of([objects::rollout(&objects::at_rest())]).await;
            let mut task = task(&world, "uid-shop");
            world.api.script("PUT fleetrollouts/shop/status", answer);
            task.look().await;
            world.api.calls();
            tokio::time::sleep(Duration::from_secs(5)).await;
            task.look().await;
            assert_eq!(world.api.calls()[0], expected, "{answer:?}");
        }
    }

    #[test]
    fn a_rest_is_neither_a_spin_nor_a_sleep_through_a_clock_that_was_set() {
        let now = Instant::now();
        assert_eq!(after(Ended::Rest(Some(now)), now).1, DEBOUNCE);
        assert_eq!(after(Ended::Rest(None), now).1, LOOK_AT_LEAST_EVERY);
        assert_eq!(after(Ended::Rest(Some(now + Duration::from_hours(1))), now).1, LOOK_AT_LEAST_EVERY);
        assert_eq!(after(Ended::Rest(Some(now + Duration::from_secs(3))), now).1, Duration::from_secs(3));
        assert_eq!(after(Ended::Again, now).1, Duration::ZERO);
    }
}
