//! One decision in the making: what was read, the status that grows from it, and the actions.

use jiff::Timestamp;

use super::{
    affinity,
    decision::{Action, Decision},
    distribution::{apportion, project, sum, weight},
    input::{Accepted, Input, LiveRoute, Problem, RouteKey, RouteSeen},
    revision::same,
};
use crate::api::{
    Affinity, Distribution, Duration, FleetRolloutStatus, Phase, Reason, Steering,
    status::{Desired, Rollback, Run, Stop, Transition, Verdict},
};

/// Transitions, answers and the like that a status keeps.
pub(super) const KEPT: usize = 16;
/// A write must be confirmed within this time.
const CONFIRM_WITHIN: Duration = Duration::from_secs(60);

/// One decision in the making.
pub(super) struct Draft<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) status: FleetRolloutStatus,
    pub(super) actions: Vec<Action>,
    /// Nothing may be written to a route, whatever is asked.
    pub(super) hands_off: bool,
    /// A check of this very pass passed, be it recorded or not.
    pub(super) passes_now: bool,
    /// Instants at which something will be different.
    wakes: Vec<Timestamp>,
}

/// Where a rollout stands after a draft, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) phase: Phase,
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl Standing {
    pub(super) fn new(phase: Phase, reason: Reason, message: impl Into<String>) -> Self {
        Self { phase, reason, message: message.into() }
    }

    pub(super) fn held(problem: Problem) -> Self {
        Self::new(Phase::Held, problem.reason, problem.message)
    }

    /// Held, unless what is missing is under way or comes by itself.
    pub(super) fn not_ready(problem: Problem) -> Self {
        match problem.reason {
            Reason::Rehearsing | Reason::BackendNotReady | Reason::WindowClosed | Reason::WaitingForDependency => {
                Self::new(Phase::Progressing, problem.reason, problem.message)
            }
            _ => Self::held(problem),
        }
    }

    pub(super) fn initializing(problem: Problem) -> Self {
        Self::new(Phase::Initializing, problem.reason, problem.message)
    }
}

impl<'a> Draft<'a> {
    pub(super) fn new(input: &'a Input<'a>) -> Self {
        Self {
            input,
            status: input.status.clone(),
            actions: Vec::new(),
            hands_off: false,
            passes_now: false,
            wakes: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.input.now
    }

    /// The run that has not ended.
    pub(super) fn run(&self) -> Option<&Run> {
        self.status.run.as_ref().filter(|run| run.outcome.is_none())
    }

    pub(super) fn run_mut(&mut self) -> Option<&mut Run> {
        self.status.run.as_mut().filter(|run| run.outcome.is_none())
    }

    pub(super) fn want_finalizer(&mut self) {
        if !self.input.finalizer {
            self.actions.push(Action::AddFinalizer);
        }
    }

    /// Look again at `at`, or at once if that is past.
    pub(super) fn wake_at(&mut self, at: Timestamp) {
        self.wakes.push(at.max(self.input.now));
    }

    /// Records something for people; it is announced after the status is written.
    pub(super) fn tell(&mut self, warning: bool, reason: Reason, message: impl Into<String>) {
        let last = self.status.transitions.last().map_or(self.status.announced, |transition| transition.number);
        let transition = Transition { number: last + 1, at: self.input.now, warning, reason, message: message.into() };
        self.status.transitions.push(transition);
        keep_newest(&mut self.status.transitions);
    }

    /// Decides the rollback of the live run.
    pub(super) fn roll_back(&mut self, reason: Reason, message: impl Into<String>, by_person: bool) {
        let (at, message) = (self.input.now, message.into());
        let Some(run) = self.run_mut() else { return };
        if run.rollback.is_none() {
            run.rollback = Some(Rollback { reason, message: message.clone(), at, by_person });
            run.soaking_since = None;
            self.tell(!by_person, reason, format!("rolling back: {message}"));
        }
    }

    /// Stops advances until somebody acts.
    pub(super) fn hold(&mut self, reason: Reason, message: impl Into<String>) {
        let (at, message) = (self.input.now, message.into());
        if let Some(run) = self.run_mut() {
            run.hold = Some(Stop { reason, message, at });
        }
    }

    /// The live routes, with their keys.
    pub(super) fn live_routes(&self) -> impl Iterator<Item = (&'a RouteKey, &'a LiveRoute)> + use<'a> {
        self.input.seen.routes.iter().filter_map(|(key, seen)| match seen {
            RouteSeen::Live(live) => Some((key, live.as_ref())),
            RouteSeen::Unseen | RouteSeen::ToCreate | RouteSeen::Unusable(_) => None,
        })
    }

    /// The distribution that the present state of the run means, before projection; the primary outside a run.
    pub(super) fn intended(&self) -> Option<Distribution> {
        match self.run() {
            Some(run) => Some(intended(run).clone()),
            None => self.status.primary.clone(),
        }
    }

    /// Asks for what is intended, projected on the members that can serve, if that is not what is asked already.
    pub(super) fn update_desired(&mut self) {
        let (Some(desired), Some(intended)) = (&self.status.desired, self.intended()) else {
            if self.run().is_some_and(|run| run.step > 0 && run.rollback.is_none()) {
                self.renew_desired();
            }
            return;
        };
        match self.projected(&intended) {
            Some(weights) if !self.is_what(&weights, desired) => self.set_desired(weights),
            _ => {}
        }
    }

    /// The present state of the run, with these weights, is what was asked.
    pub(super) fn is_what(&self, weights: &Distribution, desired: &Desired) -> bool {
        same(weights, &desired.weights)
            && self.steering() == desired.steering
            && self.affinity(weights) == desired.affinity
    }

    /// Asks again for what is intended, in a new decision with a fresh confirmation and bake.
    pub(super) fn renew_desired(&mut self) {
        if let Some(weights) = self.intended().and_then(|intended| self.projected(&intended)) {
            self.set_desired(weights);
        }
    }

    fn set_desired(&mut self, weights: Distribution) {
        self.status.sequence += 1;
        let (steering, affinity) = (self.steering(), self.affinity(&weights));
        let (sequence, at) = (self.status.sequence, self.input.now);
        self.status.desired = Some(Desired { weights, steering, affinity, sequence, at, confirmed_at: None });
        if let Some(run) = self.run_mut() {
            run.forget_evidence();
            run.baked_until = None;
            run.waiting_since = None;
        }
    }

    /// What the present step tries canaries with, as far as there is one left that can serve.
    pub(super) fn steering(&self) -> Option<Steering> {
        let run = self.run()?;
        let mut steering = steering(run)?.clone();
        match &mut steering {
            Steering::Matched(matched) => {
                let total = sum(&matched.weights);
                matched.weights.retain(|name, _| !run.dead.contains(name));
                matched.weights = apportion(total, &matched.weights);
            }
            Steering::Mirrored(mirrored) => mirrored.members.retain(|name| !run.dead.contains(name)),
        }
        Some(steering).filter(|steering| steering.members().next().is_some())
    }

    /// Where the present step keeps users; nobody is kept while other weights than the step's are asked, or during a rollback.
    pub(super) fn affinity(&self, weights: &Distribution) -> Option<Affinity> {
        let run = self.run().filter(|run| run.rollback.is_none())?;
        run.present().filter(|step| same(&step.weights, weights))?;
        affinity::at_step(run, run.step, self.input.uid)
    }

    /// `None` when no member that can serve is left.
    pub(super) fn projected(&self, intended: &Distribution) -> Option<Distribution> {
        let Some(run) = self.run() else { return Some(intended.clone()) };
        let dead = run.dead.iter().cloned().collect();
        let passed =
            run.check.as_ref().is_some_and(|check| check.verdict == Verdict::Pass) && run.baked > Duration::ZERO;
        let passed = passed || run.promoting_since.is_some();
        let proven = canaries(run).into_iter().filter(|_| passed && run.rollback.is_none()).collect();
        project(intended, &dead, &run.rollback_to, &proven)
    }

    /// Every route shows what is asked, by the mark of that decision, and the data plane took it.
    pub(super) fn confirmed_everywhere(&self) -> bool {
        let Some(desired) = &self.status.desired else { return true };
        self.input.seen.routes.values().all(|seen| match seen {
            RouteSeen::Live(live) => self.confirmed(live, desired),
            RouteSeen::Unseen | RouteSeen::ToCreate | RouteSeen::Unusable(_) => false,
        })
    }

    /// What is asked was not confirmed everywhere in time.
    pub(super) fn is_late(&self) -> bool {
        let unconfirmed = self.status.desired.as_ref().filter(|desired| desired.confirmed_at.is_none());
        unconfirmed.is_some_and(|desired| later(desired.at, CONFIRM_WITHIN) <= self.input.now)
    }

    pub(super) fn confirmed(&self, live: &LiveRoute, desired: &Desired) -> bool {
        self.written(live, desired)
            && same(&live.weights, &desired.weights)
            && !live.uneven
            && live.steering == desired.steering
            && live.affinity == desired.affinity
            && matches!(live.accepted, Accepted::Unsaid | Accepted::Yes)
    }

    /// The route carries the mark of the decision that asked.
    pub(super) fn written(&self, live: &LiveRoute, desired: &Desired) -> bool {
        live.mark.as_ref().is_some_and(|mark| {
            mark.rollout == self.input.uid && mark.hub == self.input.hub && mark.sequence == desired.sequence
        })
    }

    /// The finished decision: write what is asked to every route that does not carry its mark.
    pub(super) fn finish(mut self) -> Decision {
        self.write_routes();
        if self.status == *self.input.status {
            self.status.announced = self.input.status.announced;
        } else {
            self.status.announced = self.status.announced.max(self.input.announced);
        }
        self.wake_for_confirmation();
        Decision { status: self.status, actions: self.actions, wake: self.wakes.into_iter().min() }
    }

    fn write_routes(&mut self) {
        let Some(desired) = self.status.desired.clone().filter(|_| !self.hands_off) else { return };
        let run = self.status.run.as_ref().map_or(0, |run| run.number);
        for (key, seen) in &self.input.seen.routes {
            let due = match seen {
                RouteSeen::Live(live) => {
                    !self.written(live, &desired) || live.uneven && same(&live.weights, &desired.weights)
                }
                RouteSeen::ToCreate => true,
                RouteSeen::Unseen | RouteSeen::Unusable(_) => false,
            };
            if due {
                self.actions.push(Action::WriteRoute {
                    route: key.clone(),
                    weights: desired.weights.clone(),
                    steering: desired.steering.clone(),
                    affinity: desired.affinity.clone(),
                    run,
                    sequence: desired.sequence,
                });
            }
        }
    }

    fn wake_for_confirmation(&mut self) {
        let unconfirmed = self.status.desired.as_ref().filter(|desired| desired.confirmed_at.is_none());
        let late_at = unconfirmed.map(|desired| later(desired.at, CONFIRM_WITHIN)).filter(|at| *at > self.input.now);
        if let Some(at) = late_at {
            self.wake_at(at);
        }
    }
}

/// The distribution that the state of a run means, before projection.
pub(super) fn intended(run: &Run) -> &Distribution {
    if run.rollback.is_some() {
        return &run.rollback_to;
    }
    run.present().map_or(&run.start, |step| &step.weights)
}

/// Every member above its weight in the rollback target at the present step, or tried beside its weight: what is being proven.
pub(super) fn canaries(run: &Run) -> Vec<String> {
    let step = run.present();
    let mut canaries = above(step.map_or(&run.start, |step| &step.weights), &run.rollback_to);
    let tried = step.and_then(|step| step.steering.as_ref()).into_iter().flat_map(Steering::members);
    canaries.extend(tried.map(str::to_owned));
    canaries.sort();
    canaries.dedup();
    canaries
}

/// What the present step tries canaries with; a rollback tries nobody.
pub(super) fn steering(run: &Run) -> Option<&Steering> {
    run.present().filter(|_| run.rollback.is_none())?.steering.as_ref()
}

/// The members whose weight is more in `weights` than in `base`.
pub(super) fn above(weights: &Distribution, base: &Distribution) -> Vec<String> {
    weights.iter().filter(|(name, units)| **units > weight(base, name)).map(|(name, _)| name.clone()).collect()
}

/// `at` plus a time, or the last instant there is.
pub(super) fn later(at: Timestamp, time: Duration) -> Timestamp {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    at.checked_add(jiff::SignedDuration::from_millis(millis)).unwrap_or(Timestamp::MAX)
}

/// The time from `from` to `to`; zero if the clock went back.
pub(super) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0))
}

/// A distribution in one line: `eu-1:75 eu-3:25`.
pub(super) fn in_words(distribution: &Distribution) -> String {
    let carrying = distribution.iter().filter(|(_, weight)| **weight > 0);
    carrying.map(|(name, weight)| format!("{name}:{weight}")).collect::<Vec<_>>().join(" ")
}

/// Drops the oldest entries of a list that grows at its end.
pub(super) fn keep_newest<T>(list: &mut Vec<T>) {
    let surplus = list.len().saturating_sub(KEPT);
    list.drain(..surplus);
}
