//! What must hold after every pass. The world and its own record are the judge; the status is judged.

use cutover::{
    api::{
        Distribution, Reason, Verb,
        status::{Desired, Run},
    },
    rollout::{Decision, input::Accepted},
};

use super::{
    super::world::{Metrics, World},
    evidence::{Evidence, PROBES, applied},
    moves::Move,
    worlds::SmallWorld,
};

/// One pass with what was before and after it.
pub struct Checked<'a> {
    pub small: &'static SmallWorld,
    pub before: &'a World,
    pub after: &'a World,
    pub decision: &'a Decision,
    pub evidence: &'a Evidence,
}

impl Checked<'_> {
    pub fn every_rule(&self, what: Move) {
        let rules = [
            (self.sums_hold(), "I1: a distribution does not sum to the total"),
            (self.primary_is_earned(), "I3: the primary changed without a pass"),
            (self.rises_on_evidence(), "I2: a canary rose without evidence"),
            (self.feeds_nobody_unavailable(), "I2: an unavailable member gained weight"),
            (self.course().1, "I2: a step was left out"),
            (self.rests_while_paused(), "a canary rose while the run was paused"),
            (self.goes_back(), "I4: a canary rose in a rollback"),
            (self.does_not_try_again(), "I4: a failed revision was tried again by itself"),
            (self.obeys_edits(), "I6: an edit that lowers a canary was written over"),
            (self.dwells(), "I7: the dwell was shortened"),
            (self.waits(), "a wait for promotion opened by itself"),
            (self.goes_back_for_a_reason(), "I9: ignorance or a shared incident was blamed on the canary"),
            (self.confirms_what_is_shown(), "I10: a weight counts as applied that not every route shows"),
            (self.rests(), "I11: a rollout that is suspended or at rest wrote a route"),
            (self.steers_as_declared(), "I18: requests were steered where no step declares it"),
            (self.takes_back(), "a step that is not confirmed for a minute stands"),
            (self.wakes(), "a live run would never look again"),
        ];
        let broken = rules.into_iter().find(|(holds, _)| !holds).map(|(_, rule)| rule);
        let broken = broken.or_else(|| self.decision.actions.iter().find_map(|action| self.wrong(action)));
        let status = |world: &World| serde_json::to_string(&world.status).unwrap();
        assert!(
            broken.is_none(),
            "{} after {what:?} in {}\nactions {:?}\nevidence {:?}\nroutes {:?}\nbefore {}\nafter {}",
            broken.unwrap_or_default(),
            self.small.name,
            self.decision.actions,
            self.evidence,
            self.before.routes,
            status(self.before),
            status(self.after)
        );
    }

    /// The last known good distribution, which the rule on it has judged already.
    pub fn primary(&self) -> &Distribution {
        self.after.status.primary.as_ref().unwrap_or(&self.evidence.primary)
    }

    pub fn applied(&self, verb: Verb, run: u64) -> bool {
        applied(self.before, self.decision).contains(&(verb, run))
    }

    pub fn applied_any(&self, verb: Verb) -> bool {
        applied(self.before, self.decision).iter().any(|(applied, _)| *applied == verb)
    }

    /// Service mode: where a Service leads now.
    pub fn leads(&self, slot: &str) -> &str {
        self.before.leads(slot)
    }

    fn sums_hold(&self) -> bool {
        let desired = self.after.status.desired.iter().map(|desired| &desired.split.weights);
        desired.chain(&self.after.status.primary).all(|weights| weights.total() == 100)
    }

    /// It held its whole bake on every route, and the run that proved it has ended; or it is what every route shows, when a
    /// person or initialization took that.
    fn primary_is_earned(&self) -> bool {
        let Some(new) = &self.after.status.primary else { return self.before.status.primary.is_none() };
        let old = &self.evidence.primary;
        let proven = self.evidence.proven.as_ref().is_some_and(|split| split.same_as(&new.clone().into()));
        let shown = self.before.routes.values().flatten().all(|route| route.split.weights.same_as(new));
        let never_written = self.before.status.desired.is_none() && self.before.live_run().is_none();
        let number = |world: &World| world.live_run().map(|run| run.number);
        let goes_on = number(self.after).is_some() && number(self.after) == number(self.before);
        old.same_as(new) || proven && !goes_on || shown && (never_written || self.applied_any(Verb::Adopt))
    }

    fn does_not_try_again(&self) -> bool {
        let retried = self.applied_any(Verb::Retry) || self.applied_any(Verb::Adopt);
        let newer = self.after.status.last_run() > self.before.status.last_run();
        let began = self.after.live_run().filter(|_| newer && !retried);
        began.is_none_or(|run| self.evidence.failed.as_ref() != Some(&run.revision))
    }

    fn goes_back_for_a_reason(&self) -> bool {
        let Some(new) = self.after.rollback().filter(|_| self.before.rollback().is_none()) else { return true };
        let good = self.primary();
        let mut primaries = self.before.endpoints.iter().filter(|(name, _)| good.weight(name) > 0);
        let answers = primaries.any(|(_, seen)| seen.successes >= PROBES);
        let down =
            self.before.endpoints.iter().any(|(name, seen)| self.before.down.contains(name) && seen.failures >= PROBES);
        match new.reason {
            Reason::EndpointDown => answers && down,
            Reason::ChecksFailed => self.before.metrics == Metrics::CanaryFails,
            Reason::GuardBreached => self.before.metrics == Metrics::CanaryBreaksGuard,
            Reason::UnknownLimit => matches!(self.before.metrics, Metrics::CanarySilent | Metrics::TooFew),
            Reason::Aborted => self.applied_any(Verb::Abort),
            Reason::RollbackRequested => self.applied_any(Verb::Rollback),
            Reason::Deleting => self.before.deleting,
            _ => true,
        }
    }

    fn confirms_what_is_shown(&self) -> bool {
        let confirmed = |world: &World| world.status.desired.as_ref().and_then(|desired| desired.confirmed_at);
        let Some(desired) = self.after.status.desired.as_ref().filter(|_| confirmed(self.before).is_none()) else {
            return true;
        };
        let shows = |world: &World| {
            world.routes.values().all(|route| {
                route.as_ref().is_some_and(|route| {
                    route.split.same_as(&desired.split) && matches!(route.accepted, Accepted::Yes | Accepted::Unsaid)
                })
            })
        };
        desired.confirmed_at.is_none() || shows(self.before)
    }

    fn takes_back(&self) -> bool {
        let under_way = |world: &World| {
            let again = |desired: &Desired| self.evidence.last_shown.same_as(&desired.split);
            let shown = world.status.desired.as_ref().is_some_and(again);
            let forward = world.live_run().is_some_and(|run| {
                run.hold.is_none() && !run.is_rolling_back() && raises(run) && !(shown && lowers(run))
            });
            world.status.desired.clone().filter(|desired| forward && desired.confirmed_at.is_none())
        };
        // Who is down may make both steps look alike.
        let after = self.after.status.desired.clone().filter(|desired| {
            desired.confirmed_at.is_none() && !self.after.is_rolling_back() && self.evidence.unavailable.is_empty()
        });
        match (under_way(self.before), after) {
            // What is put back is a new decision, with a minute of its own.
            (Some(before), Some(after)) if before.sequence == after.sequence => {
                self.hands_off() || self.after.now.duration_since(before.at).as_secs() < 60
            }
            _ => true,
        }
    }

    fn hands_off(&self) -> bool {
        self.before.spec.suspend
            || self.before.deleting
            || matches!(self.after.status.reason, Reason::StatusBehindRoute | Reason::OwnedByOtherHub)
    }

    fn rests(&self) -> bool {
        !self.before.spec.suspend || self.after.written.is_empty()
    }

    fn wakes(&self) -> bool {
        let judged = self.after.live_run().is_some_and(Run::is_judged);
        let confirmed = self.after.status.desired.as_ref().is_some_and(|desired| desired.confirmed_at.is_some());
        // What a write changes is seen when it is done.
        let looks_again = self.decision.wake.is_some() || !self.decision.actions.is_empty();
        !judged || !confirmed || self.hands_off() || self.before.unlisted || looks_again
    }
}

/// The present step gives a canary more than the step before it. On the way from one target to another a step may lower
/// every canary, and taking that back would raise one.
fn raises(run: &Run) -> bool {
    let Some(before) = run.step().checked_sub(1) else { return false };
    let raised = run.weights().above(run.weights_of_step(before));
    raised.iter().any(|name| run.canaries().contains(name))
}

/// The step before the present one gives a canary more: to take back what every route has shown would raise that one.
fn lowers(run: &Run) -> bool {
    let Some(before) = run.step().checked_sub(1).map(|step| run.weights_of_step(step)) else { return false };
    before.above(run.weights()).iter().any(|name| before.weight(name) > run.rollback_to.weight(name))
}
