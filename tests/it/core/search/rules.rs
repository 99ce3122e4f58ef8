//! What must hold after every pass.

use cutover::{
    api::{
        Distribution, Reason, Verb,
        status::{Outcome, Run},
        strategy::Wait,
    },
    rollout::Decision,
};

use super::{
    super::world::{Metrics, World},
    moves::Move,
    state::{Memory, applied, measured_good},
};

/// One pass with what was before and after it.
pub struct Checked<'a> {
    pub before: &'a World,
    pub after: &'a World,
    pub decision: &'a Decision,
    pub memory: &'a Memory,
}

impl Checked<'_> {
    pub fn every_rule(&self, what: Move) {
        let status = |world: &World| serde_json::to_string(&world.status).unwrap();
        let context = || format!("after {what:?}\nbefore {}\nafter {}", status(self.before), status(self.after));
        assert!(self.sums_hold(), "I1: a distribution does not sum to the total {}", context());
        assert!(self.rises_on_evidence(), "I2: a canary rose without evidence {}", context());
        assert!(self.primary_is_earned(), "I3: the primary changed without a pass {}", context());
        assert!(self.never_rises_in_a_rollback(), "I4: a canary rose in a rollback {}", context());
        assert!(self.dwells(), "I7: the dwell was shortened {}", context());
        assert!(self.waits(), "a wait for promotion opened by itself {}", context());
        assert!(
            self.goes_back_for_a_reason(),
            "I9: ignorance or a shared incident was blamed on the canary {}",
            context()
        );
        assert!(self.does_not_try_again(), "I4: a failed revision was tried again by itself {}", context());
        assert!(self.takes_back(), "a step that is not confirmed for a minute stands {}", context());
        assert!(self.rests(), "I11: a rollout that is suspended or at rest wrote a route {}", context());
        assert!(self.wakes(), "a live run would never look again {}", context());
    }

    fn sums_hold(&self) -> bool {
        let total = |weights: &Distribution| weights.total() == 100;
        let desired = self.after.status.desired.iter().all(|desired| total(&desired.split.weights));
        desired && self.after.written.iter().all(|(_, split)| total(&split.weights))
    }

    /// The canaries whose desired weight rose in this pass. Primary members may rise by projection.
    fn risen(&self) -> Vec<String> {
        let Some(run) = self.after.live_run() else { return Vec::new() };
        let desired = |world: &World| world.status.desired.as_ref().map(|desired| desired.split.weights.clone());
        let old = desired(self.before).or(self.before.status.primary.clone()).unwrap_or_default();
        let new = desired(self.after).unwrap_or_else(|| old.clone());
        new.above(&old).into_iter().filter(|name| run.rollback_to.weight(name) == 0).collect()
    }

    fn rises_on_evidence(&self) -> bool {
        let canaries = self.risen();
        let first = self.after.step() == 1;
        let probed = canaries.iter().all(|name| self.before.endpoints.get(name).is_some_and(|seen| seen.successes > 0));
        // Taking a step back returns to what every route showed a minute ago, also for a canary that the step lowered.
        let held = |world: &World| world.live_run().and_then(|run| run.hold.as_ref()).map(|hold| hold.reason);
        let taken_back = held(self.before).is_none() && held(self.after) == Some(Reason::Skewed);
        canaries.is_empty() || taken_back || first && probed || self.memory.proven || measured_good(self.after)
    }

    fn primary_is_earned(&self) -> bool {
        let (old, new) = (&self.before.status.primary, &self.after.status.primary);
        let succeeded = self
            .after
            .status
            .history
            .iter()
            .any(|record| record.outcome == Outcome::Succeeded && record.ended_at == self.after.now);
        let soaked = self.before.is_soaking();
        let adopted = self
            .decision
            .status
            .transitions
            .iter()
            .any(|one| one.at == self.after.now && one.reason == Reason::Adopted);
        let never_written = self.before.status.desired.is_none() && self.before.live_run().is_none();
        match (old, new) {
            (Some(old), Some(new)) => old.same_as(new) || succeeded || soaked || adopted || never_written,
            (None, _) => true,
            (Some(_), None) => false,
        }
    }

    fn never_rises_in_a_rollback(&self) -> bool {
        let Some(number) = self.memory.went_back else { return true };
        let same_run = self.after.live_run().is_some_and(|run| run.number == number);
        !same_run || self.risen().is_empty()
    }

    fn dwells(&self) -> bool {
        let run = |world: &World| world.live_run().map(|run| (run.number, run.step()));
        let (Some((number, from)), Some((same_number, to))) = (run(self.before), run(self.after)) else { return true };
        if number != same_number || to <= from || from == 0 {
            return true;
        }
        let needed = 5 + 25;
        self.memory.shown_since.is_some_and(|since| self.after.now.duration_since(since).as_secs() >= needed)
    }

    fn waits(&self) -> bool {
        let (Some(before), Some(after)) = (self.before.live_run(), self.after.live_run()) else { return true };
        let waits = before.present().is_some_and(|step| step.wait == Some(Wait::Promotion));
        let passed_the_wait = before.number == after.number && after.step() > before.step() && waits;
        let opened_now = applied(self.before, self.after).contains(&(Verb::Promote, after.number));
        !passed_the_wait || opened_now || self.memory.promoted == Some(after.number)
    }

    fn goes_back_for_a_reason(&self) -> bool {
        let Some(new) = self.after.rollback().filter(|_| self.before.rollback().is_none()) else { return true };
        let answers = |name: &str| self.before.endpoints.get(name).is_some_and(|seen| seen.successes >= 3);
        match new.reason {
            Reason::EndpointDown => answers("eu-1") || answers("eu-2"),
            Reason::ChecksFailed => self.before.metrics == Metrics::CanaryFails,
            Reason::GuardBreached => self.before.metrics == Metrics::CanaryBreaksGuard,
            _ => true,
        }
    }

    fn does_not_try_again(&self) -> bool {
        let retried =
            applied(self.before, self.after).iter().any(|(verb, _)| matches!(verb, Verb::Retry | Verb::Adopt));
        let newer = self.after.status.last_run() > self.before.status.last_run();
        let began = self.after.live_run().filter(|_| newer && !retried);
        began.is_none_or(|run| self.memory.failed.as_ref() != Some(&run.revision))
    }

    fn takes_back(&self) -> bool {
        let under_way = |world: &World| {
            let run = world.live_run().filter(|run| run.step() > 0);
            // On the way from one target to another a step may lower the canary; taking that back would raise it.
            let raises = |run: &Run| {
                let canary = |step: u32| run.weights_of_step(step).weight("eu-3");
                canary(run.step()) > canary(run.step() - 1)
            };
            let forward = run.is_some_and(|run| !world.is_rolling_back() && run.hold.is_none() && raises(run));
            world.status.desired.clone().filter(|desired| forward && desired.confirmed_at.is_none())
        };
        let hands_off = self.before.spec.suspend
            || self.before.deleting
            || matches!(self.after.status.reason, Reason::StatusBehindRoute | Reason::OwnedByOtherHub);
        match (under_way(self.before), under_way(self.after)) {
            (Some(before), Some(after)) if before.split.weights == after.split.weights => {
                hands_off || self.after.now.duration_since(before.at).as_secs() < 60
            }
            _ => true,
        }
    }

    fn rests(&self) -> bool {
        !self.before.spec.suspend || self.after.written.is_empty()
    }

    fn wakes(&self) -> bool {
        let judged = !self.after.is_rolling_back() && self.after.live_run().is_some_and(|run| run.step() > 0);
        let confirmed = self.after.status.desired.as_ref().is_some_and(|desired| desired.confirmed_at.is_some());
        let hands_off = self.before.spec.suspend
            || matches!(self.after.status.reason, Reason::StatusBehindRoute | Reason::OwnedByOtherHub);
        !judged
            || !confirmed
            || hands_off
            || self.before.unlisted
            || self.before.deleting
            || self.decision.wake.is_some()
    }
}
