//! The task of one rollout: passes, one at a time, whenever something changed or it is time.

use std::{sync::Arc, time::Duration};

use kube::{ResourceExt, core::DeserializeGuard};
use tokio::{sync::Notify, time::Instant};

use super::{
    Hub,
    backoff::{LEAST, Waits},
    cache::Key,
    memory::Memory,
    publish,
    reconcile::{Ended, pass},
    supervise,
};
use crate::api::FleetRollout;

/// News that come together are looked at together.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// A clock that was set is noticed within this time; a look at what has not changed asks nothing of anyone.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_mins(1);
/// A pass that is stale waits for the watch; if that stays silent, it looks again after this time.
const STALE: Duration = Duration::from_secs(2);

/// What a task keeps to itself.
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
            () = rested(&task.wake, rest) => {}
        }
    }
}

/// Waits for the time, or for news and a moment for what comes with them.
async fn rested(wake: &Notify, rest: Duration) {
    if tokio::time::timeout(rest, wake.notified()).await.is_ok() {
        tokio::time::sleep(DEBOUNCE).await;
    }
}

impl Task {
    /// One look; the time to rest after it, or `None` if the rollout is gone.
    async fn look(&mut self) -> Option<Duration> {
        let guarded = self.hub.rollouts.get(&self.key)?;
        if guarded.uid().as_deref() != Some(self.uid.as_str()) {
            return None;
        }
        match &guarded.0 {
            Ok(rollout) => Some(self.guarded_pass(rollout).await),
            Err(invalid) => {
                self.report(&guarded, &invalid.error).await;
                Some(LOOK_AT_LEAST_EVERY)
            }
        }
    }

    async fn guarded_pass(&mut self, rollout: &FleetRollout) -> Duration {
        if !self.hub.leadership.is_current() {
            self.hub.warm(rollout);
            return LEAST;
        }
        let hub = self.hub.clone();
        let span = self.key.to_string();
        let work = Box::pin(pass(&hub, rollout, &mut self.memory, &self.wake));
        let ended = supervise::caught(&span, &hub.metrics, work).await;
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
        hub.metrics.passed(outcome);
        tracing::debug!(rollout = span, outcome, ?rest, "passed");
        rest
    }

    async fn report(&mut self, guarded: &DeserializeGuard<FleetRollout>, error: &str) {
        let version = guarded.resource_version();
        if self.reported == version || !self.hub.leadership.is_current() {
            return;
        }
        tracing::warn!(rollout = %self.key, error, "a FleetRollout cannot be read and is left alone");
        let event = publish::malformed(kube::Resource::meta(guarded), &self.hub.leader, error, self.hub.clock.now());
        if let Err(error) = self.hub.calls.create(&event).await {
            tracing::debug!(%error, "an event was not written");
        }
        self.reported = version;
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
    use super::*;

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
