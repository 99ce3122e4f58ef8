//! One decision in the making: what was read, the status that grows from it, and the actions.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    approvals,
    decision::{Action, Decision},
    input::{Accepted, HookCall, Input, LiveRoute, Mark, RouteKey, RouteSeen},
    marks, routes,
    standing::Intent,
    time::later,
};
use crate::api::{
    Distribution, Duration, FleetRolloutStatus, Reason, Split, Steering,
    hook::Delivered,
    status::{Desired, MOVES, Move, REQUESTS, Requested, RollingBack, Run, RunState, Stop, Transition, Verdict},
};

/// Transitions and answers that a status keeps.
pub(super) const KEPT: usize = 16;
/// A write must be confirmed within this time.
const CONFIRM_WITHIN: Duration = Duration::from_secs(60);
/// A write that was decided less than this ago is just being made: Skipper has four seconds for it.
const A_MOMENT: Duration = Duration::from_secs(5);

/// What a run has to show for what it promotes; no message may claim more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Checks of metrics passed.
    Checks,
    /// Nothing is measured: its time is over, and its endpoint answered.
    TimeAlone,
    /// Nobody looked: `skipAnalysis`, or a hook of type `Skip`.
    NotAnalysed,
}

/// One decision in the making.
pub(super) struct Draft<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) status: FleetRolloutStatus,
    pub(super) actions: Vec<Action>,
    /// A check of this very pass passed, be it recorded or not.
    pub(super) passes_now: bool,
    /// The retry of this pass that begins a run.
    pub(super) retried: Option<Requested>,
    /// Hooks to call.
    pub(super) hooks: Vec<HookCall>,
    /// How far hooks of type Event came; that alone is no reason to write a status.
    pub(super) delivered: Option<Vec<Delivered>>,
    /// Instants at which something will be different.
    wakes: Vec<Timestamp>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(input: &'a Input<'a>) -> Self {
        Self {
            input,
            status: input.status.clone(),
            actions: Vec::new(),
            hooks: Vec::new(),
            delivered: None,
            passes_now: false,
            retried: None,
            wakes: Vec::new(),
        }
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.input.now
    }

    pub(super) const fn run(&self) -> Option<&Run> {
        self.status.run.as_ref()
    }

    pub(super) const fn run_mut(&mut self) -> Option<&mut Run> {
        self.status.run.as_mut()
    }

    /// Whether metrics judge.
    pub(super) const fn measures(&self) -> bool {
        self.input.spec.analysis.measures()
    }

    /// What the live run has to show for what it promotes.
    pub(super) fn evidence(&self) -> Evidence {
        match self.run() {
            Some(run) if run.is_without_analysis() => Evidence::NotAnalysed,
            Some(_) | None if self.measures() => Evidence::Checks,
            Some(_) | None => Evidence::TimeAlone,
        }
    }

    /// Why time passes before a step may be left.
    pub(super) const fn bakes_because(&self) -> Reason {
        if self.measures() { Reason::Baking } else { Reason::NothingMeasured }
    }

    /// What became of a step that may be left: where nothing is measured, nothing passed.
    pub(super) const fn passed_in_words(&self) -> &'static str {
        if self.measures() { "passed" } else { "is over, with nothing measured," }
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
    pub(super) fn announce(&mut self, warning: bool, reason: Reason, message: impl Into<String>) {
        let last = self.status.transitions.last().map_or(self.status.announced, |transition| transition.number);
        let transition = Transition { number: last + 1, at: self.input.now, warning, reason, message: message.into() };
        self.status.transitions.push(transition);
        keep_newest(&mut self.status.transitions, KEPT);
    }

    /// Decides the rollback of the live run; `by` names who wants it where no verdict does.
    pub(super) fn roll_back(&mut self, reason: Reason, message: impl Into<String>, by: Option<String>) {
        let (at, message, warning) = (self.input.now, message.into(), by.is_none());
        let Some(run) = self.run_mut().filter(|run| !run.is_rolling_back()) else { return };
        let (step, promoted) = (run.step(), run.is_promoted());
        run.state = RunState::RollingBack(RollingBack { step, reason, message: message.clone(), at, by, promoted });
        self.announce(warning, reason, format!("rolling back: {message}"));
    }

    /// Stops advances until somebody acts.
    pub(super) fn hold(&mut self, reason: Reason, message: impl Into<String>) {
        let (at, message) = (self.input.now, message.into());
        if let Some(run) = self.run_mut() {
            run.hold = Some(Stop { reason, message, at });
        }
    }

    /// What was proven at the present weights counts no more.
    pub(super) fn forget_evidence(&mut self) {
        let Some(run) = self.run_mut() else { return };
        approvals::void(run);
        if let Some(bake) = run.state.bake_mut() {
            bake.forget();
        }
    }

    /// The live routes, with their keys.
    pub(super) fn live_routes(&self) -> impl Iterator<Item = (&'a RouteKey, &'a LiveRoute)> + use<'a> {
        self.input.seen.routes.iter().filter_map(|(key, seen)| Some((key, seen.live()?)))
    }

    /// The mark of a route, where a hub can have left it.
    pub(super) fn mark<'l>(&self, key: &RouteKey, live: &'l LiveRoute) -> Option<&'l Mark> {
        marks::credible(&self.status, self.input.hub, self.input.uid, key, live)
    }

    /// The desired split: that of the state of the run, outside a run the primary, projected on the members that can
    /// serve. `None` where none is left, or the primary is not known.
    pub(super) fn projected(&self) -> Option<Split> {
        let Some(run) = self.run() else { return self.status.primary.clone().map(Split::from) };
        let unavailable: BTreeSet<String> = run.unavailable.iter().cloned().collect();
        let passed = run.is_promoted() || run.bake().time > Duration::ZERO && verdict(run) == Some(Verdict::Pass);
        let proven = run.canaries().into_iter().filter(|_| passed && !run.is_rolling_back()).collect();
        let Split { weights, steering, affinity } = run.split();
        let projected = weights.project(&unavailable, &run.rollback_to, &proven)?;
        let affinity = affinity.filter(|_| projected.same_as(&weights));
        let steering = steering.and_then(|steering| steered(steering, &unavailable));
        Some(Split { weights: projected, steering, affinity })
    }

    /// Desires what the state means, if that is not desired already.
    pub(super) fn update_desired(&mut self) {
        let begins = self.run().is_some_and(|run| run.step() > 0 && !run.is_rolling_back());
        let Some(split) = self.projected() else { return };
        let changes = self.status.desired.as_ref().map_or(begins, |desired| !desired.split.same_as(&split));
        if changes || self.is_refused_for_an_idle_backend() {
            self.set_desired(split);
        }
    }

    /// Desires the same again, in a new decision with a fresh confirmation and bake.
    pub(super) fn renew_desired(&mut self) {
        if let Some(split) = self.projected() {
            self.set_desired(split);
        }
    }

    fn set_desired(&mut self, split: Split) {
        self.status.sequence += 1;
        let (sequence, at) = (self.status.sequence, self.input.now);
        self.note_move(&split.weights);
        self.status.desired = Some(Desired { split, sequence, at, confirmed_at: None });
        self.forget_evidence();
        match self.run_mut().map(|run| &mut run.state) {
            Some(RunState::Stepping(stepping)) => {
                stepping.bake.until = None;
                stepping.waiting_since = None;
            }
            Some(RunState::Soaking(soaking)) => soaking.bake.until = None,
            Some(RunState::Preparing(_) | RunState::Promoting(_) | RunState::RollingBack(_)) | None => {}
        }
    }

    /// Keeps how the weights of the live run move; the same weights again are no move.
    fn note_move(&mut self, weights: &Distribution) {
        let at = self.input.now;
        let Some(run) = self.run_mut() else { return };
        let step = run.step();
        if run.moves.last().is_none_or(|last| last.step != step || !last.weights.same_as(weights)) {
            run.moves.push(Move { at, step, weights: weights.nonzero(), verdict: None });
            keep_newest(&mut run.moves, MOVES);
        }
    }

    /// Keeps a request that took effect on the live run.
    pub(super) fn note_request(&mut self, requested: Requested) {
        if let Some(run) = self.run_mut() {
            run.requests.push(requested);
            keep_newest(&mut run.requests, REQUESTS);
        }
    }

    /// Every route shows what is desired, by the mark of that decision, and the data plane took it.
    pub(super) fn confirmed_everywhere(&self) -> bool {
        let Some(desired) = &self.status.desired else { return true };
        self.input.seen.routes.values().all(|seen| match seen {
            RouteSeen::Live(live) => self.confirmed(live, desired),
            RouteSeen::Unseen | RouteSeen::ToCreate | RouteSeen::Unusable(_) => false,
        })
    }

    /// What is desired was not confirmed everywhere in time.
    pub(super) fn is_late(&self) -> bool {
        let unconfirmed = self.status.desired.as_ref().filter(|desired| desired.confirmed_at.is_none());
        unconfirmed.is_some_and(|desired| self.late_at(desired) <= self.input.now)
    }

    /// When an unconfirmed write is late. While the API server is overloaded, or the hub does not see the routes, neither the
    /// hub's writes nor what the data plane says of them comes through, which is no fault of a route.
    fn late_at(&self, desired: &Desired) -> Timestamp {
        let delayed_at = self.input.seen.delayed_at;
        later(delayed_at.map_or(desired.at, |at| at.max(desired.at)), CONFIRM_WITHIN)
    }

    /// Until when a write counts as just decided: what is missing of it is not said yet.
    pub(super) fn just_desired_until(&self) -> Option<Timestamp> {
        let until = later(self.status.desired.as_ref()?.at, A_MOMENT);
        Some(until).filter(|until| *until > self.input.now)
    }

    pub(super) fn confirmed(&self, live: &LiveRoute, desired: &Desired) -> bool {
        self.written(live, desired)
            && !live.uneven
            && live.split.same_as(&desired.split)
            && matches!(live.accepted, Accepted::Unsaid | Accepted::Yes)
    }

    /// The route carries the mark of the decision.
    pub(super) fn written(&self, live: &LiveRoute, desired: &Desired) -> bool {
        live.mark.as_ref().is_some_and(|mark| {
            mark.rollout == self.input.uid && mark.hub == self.input.hub && mark.sequence == desired.sequence
        })
    }

    /// The finished decision.
    pub(super) fn finish(mut self, intent: Intent) -> Decision {
        match intent {
            Intent::WriteDesired => self.write_routes(),
            Intent::WriteNothing(_) => {}
        }
        // Whoever requested something waits for the routes, not for the answer; without the finalizer all is over.
        self.actions.sort_by_key(|action| match action {
            Action::RemoveFinalizer => 2,
            Action::AnswerRequest { .. } => 1,
            _ => 0,
        });
        if self.status == *self.input.status {
            self.status.announced = self.input.status.announced;
        } else {
            self.status.announced = self.status.announced.max(self.input.announced);
            self.status.delivered = self.delivered.take().unwrap_or(self.status.delivered);
        }
        self.wake_for_confirmation();
        Decision { status: self.status, actions: self.actions, hooks: self.hooks, wake: self.wakes.into_iter().min() }
    }

    /// What is desired is written to every route that does not carry its mark.
    fn write_routes(&mut self) {
        let Some(desired) = self.status.desired.clone() else { return };
        let run = self.status.last_run();
        let releasing = self.status.releasing_since.is_some();
        for (key, seen) in &self.input.seen.routes {
            let due = match seen {
                RouteSeen::Live(live) if releasing && self.mark(key, live).is_none() => false,
                RouteSeen::Live(live) if routes::is_new_and_differs(self, key, live) => false,
                RouteSeen::Live(live) => {
                    let uneven = live.uneven && live.split.weights.same_as(&desired.split.weights);
                    !self.written(live, &desired) || uneven
                }
                RouteSeen::ToCreate => true,
                RouteSeen::Unseen | RouteSeen::Unusable(_) => false,
            };
            if due {
                let (route, split, sequence) = (key.clone(), desired.split.clone(), desired.sequence);
                self.actions.push(Action::WriteRoute { route, split, run, sequence });
            }
        }
    }

    /// The data plane refuses a route that names a backend without weight: what is desired is written once more, without that.
    /// In a rollback at once, for nothing that gets no traffic may keep traffic from going back; else when the refusal stays.
    fn is_refused_for_an_idle_backend(&self) -> bool {
        let Some(desired) = &self.status.desired else { return false };
        let back = self.input.deleting || self.run().is_some_and(Run::is_rolling_back);
        let stays = later(desired.confirmed_at.unwrap_or(desired.at), CONFIRM_WITHIN) <= self.now();
        let refused = |live: &LiveRoute| matches!(live.accepted, Accepted::No(_)) && live.idle;
        let blocked = self.live_routes().any(|(_, live)| refused(live) && self.written(live, desired));
        blocked && (back || stays) && self.status.releasing_since.is_none()
    }

    fn wake_for_confirmation(&mut self) {
        let unconfirmed = self.status.desired.as_ref().filter(|desired| desired.confirmed_at.is_none());
        let late_at = unconfirmed.map(|desired| self.late_at(desired)).filter(|at| *at > self.input.now);
        if let Some(at) = late_at {
            self.wake_at(at);
        }
    }
}

fn verdict(run: &Run) -> Option<Verdict> {
    run.check.as_ref().map(|check| check.verdict)
}

/// The steering as far as there is a member left that can serve.
fn steered(steering: Steering, unavailable: &BTreeSet<String>) -> Option<Steering> {
    let available = |member: &str| !unavailable.contains(member);
    let steering = match steering {
        Steering::Matched(mut matched) => {
            let total = matched.weights.total();
            matched.weights = Distribution::apportion(&matched.weights.only(available), total);
            Steering::Matched(matched)
        }
        Steering::Mirrored(mut mirrored) => {
            mirrored.members.retain(|member| available(member));
            Steering::Mirrored(mirrored)
        }
    };
    let reaches_somebody = steering.members().next().is_some();
    reaches_somebody.then_some(steering)
}

/// Drops the oldest entries of a list that grows at its end.
pub(super) fn keep_newest<T>(list: &mut Vec<T>, most: usize) {
    let surplus = list.len().saturating_sub(most);
    list.drain(..surplus);
}
