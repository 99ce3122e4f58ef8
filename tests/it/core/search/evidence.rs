//! What the search itself saw of the world, by the world's own time: what the hub's decisions are judged by.

use std::collections::{BTreeMap, BTreeSet};

use cutover::{
    api::{CANARY, Distribution, ServiceCopy, Split, Verb, request::RequestState, status::Outcome},
    rollout::{Action, Decision, RouteKey, input::Accepted},
};

use super::{
    super::world::{Metrics, RouteInWorld, World},
    course::Course,
};

/// Settle and bake of every step of every world, in seconds.
const SETTLE: i64 = 5;
const BAKE: i64 = 25;
/// Probes in a row that make an endpoint one that answers, or one that is down.
pub const PROBES: u32 = 3;
/// The window of every metric.
const WINDOW: i64 = 10;

/// What the search saw, and what people did.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The last known good distribution, as far as it was earned.
    pub primary: Distribution,
    /// What the hub decided last to write.
    pub decided: Split,
    /// It was decided while somebody was down.
    pub stands_in: bool,
    /// What each route showed before somebody edited it.
    pub unedited: BTreeMap<RouteKey, Split>,
    /// What every route shows now, and what the data plane took.
    pub shown: Option<Shown>,
    /// What every route showed last.
    pub last_shown: Split,
    /// What last held its whole bake.
    pub proven: Option<Split>,
    /// Service mode: where the canary led then.
    pub proven_copy: Option<ServiceCopy>,
    /// Runs that were rolled back.
    pub closed: BTreeSet<u64>,
    /// Runs whose wait for promotion a person opened.
    pub promoted: BTreeSet<u64>,
    /// Runs that a person paused, until they are resumed.
    pub paused: BTreeSet<u64>,
    /// A person resumed the run since the last edit of a route.
    pub resumed: bool,
    /// An old status was restored, which knows older Services.
    pub restored: bool,
    /// The revision that failed, until it is declared or requested again.
    pub failed: Option<String>,
    /// How often a canary rose on evidence in a run.
    pub rises: (u64, u32),
    /// The steps of the last run.
    pub course: Option<Course>,
    /// Members that were seen to be down, until they are seen to be back.
    pub unavailable: BTreeSet<String>,
}

/// What every route shows, and how it fared there.
#[derive(Clone, Debug)]
pub struct Shown {
    pub split: Split,
    /// Every route shows it at this moment.
    pub present: bool,
    since: i64,
    /// Up to when the bake is counted, and how much of it is over.
    counted: i64,
    baked: i64,
    /// The last measurement was good.
    pub passed: bool,
    /// It held for its settle and its bake.
    pub enough: bool,
}

/// One write that was decided.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    pub key: &'a RouteKey,
    pub split: &'a Split,
    pub run: u64,
    pub sequence: u64,
}

impl Shown {
    fn since(since: i64, split: Split) -> Self {
        Self { split, present: true, since, counted: since + SETTLE, baked: 0, passed: false, enough: false }
    }
}

impl Evidence {
    pub fn of(world: &World) -> Self {
        let split = Split::from(world.live());
        Self {
            primary: world.live(),
            decided: split.clone(),
            stands_in: false,
            unedited: BTreeMap::new(),
            shown: None,
            last_shown: split,
            proven: None,
            proven_copy: None,
            closed: BTreeSet::new(),
            promoted: BTreeSet::new(),
            paused: BTreeSet::new(),
            resumed: false,
            restored: false,
            failed: None,
            rises: (0, 0),
            course: None,
            unavailable: BTreeSet::new(),
        }
    }

    /// Looks at the routes: what people wrote into them is no evidence. While one is missing, or the data plane does not
    /// take it, what was seen before is kept.
    pub fn see(&mut self, world: &World) {
        self.note_unavailable(world);
        for (key, route) in &world.routes {
            if let Some(route) = route.as_ref().filter(|route| route.editor.is_none()) {
                self.unedited.insert(key.clone(), route.split.clone());
            }
        }
        let lives: Vec<&RouteInWorld> = world.routes.values().flatten().collect();
        let Some(first) = lives.first() else { return };
        let alike = lives.iter().all(|route| route.editor.is_none() && route.split.same_as(&first.split));
        let present =
            alike && lives.len() == world.routes.len() && lives.iter().all(|route| route.accepted == Accepted::Yes);
        match &mut self.shown {
            Some(shown) if alike && shown.split.same_as(&first.split) => shown.present = present,
            shown => *shown = present.then(|| Shown::since(world.elapsed, first.split.clone())),
        }
        if present {
            self.last_shown = first.split.clone();
        }
    }

    /// Counts what the hub measured in this pass, by what the members really did. What was measured before a window was
    /// full says nothing against the weights.
    pub fn measure(&mut self, world: &World) {
        let settled = |shown: &&mut Shown| shown.since + SETTLE <= world.elapsed;
        let (Some(metrics), Some(shown)) = (world.measured, self.shown.as_mut().filter(settled)) else { return };
        let full = shown.since + SETTLE + WINDOW <= world.elapsed;
        shown.passed = metrics == Metrics::Good;
        match metrics {
            Metrics::Good => shown.baked += world.elapsed - shown.counted,
            Metrics::CanaryFails | Metrics::CanaryBreaksGuard if full => shown.baked = 0,
            _ => {}
        }
        if shown.passed || full {
            shown.counted = world.elapsed;
        }
        shown.enough |= shown.baked >= BAKE;
        if shown.enough {
            self.proven = Some(shown.split.clone());
            self.proven_copy = world.copies.iter().find(|((_, slot), _)| slot == CANARY).map(|(_, copy)| copy.clone());
        }
    }

    /// Keeps what a pass did, after it was judged.
    pub fn remember(&mut self, before: &World, after: &World, decision: &Decision, risen: bool) {
        let everybody_answers = everybody_answers(before);
        self.primary = after.status.primary.clone().unwrap_or_else(|| self.primary.clone());
        if let Some(write) = writes(decision).next() {
            let lowered = !self.decided.weights.above(&write.split.weights).is_empty()
                || self.decided.steering != write.split.steering;
            if !self.decided.same_as(write.split) {
                self.stands_in = !everybody_answers;
            }
            let count = if self.rises.0 == write.run { self.rises.1 } else { 0 };
            let count = if risen { count + 1 } else { count.saturating_sub(u32::from(lowered)) };
            (self.rises, self.decided) = ((write.run, count), write.split.clone());
        }
        if after.status.desired.is_none() {
            (self.decided, self.last_shown) = (after.live().into(), after.live().into());
        }
        self.closed.extend(after.live_run().filter(|_| after.is_rolling_back()).map(|run| run.number));
        let ended = |number| before.status.history.iter().any(|record| record.number == number);
        for record in after.status.history.iter().filter(|record| !ended(record.number)) {
            let back = matches!(record.outcome, Outcome::Failed | Outcome::RolledBack);
            self.closed.extend(back.then_some(record.number));
            self.failed = back.then(|| record.revision.clone());
        }
        for (verb, run) in applied(before, decision) {
            self.obey(verb, run);
        }
    }

    fn obey(&mut self, verb: Verb, run: u64) {
        match verb {
            Verb::Promote => drop(self.promoted.insert(run)),
            Verb::Retry => self.failed = None,
            Verb::Adopt => (self.failed, self.resumed) = (None, true),
            Verb::Pause => drop(self.paused.insert(run)),
            Verb::Resume => {
                self.paused.remove(&run);
                self.resumed = true;
            }
            Verb::Abort | Verb::Rollback => {}
        }
    }
}

/// As many good probes in a row as it takes, of everybody.
pub fn everybody_answers(world: &World) -> bool {
    !world.endpoints.is_empty() && world.endpoints.values().all(|seen| seen.successes >= PROBES)
}

pub fn writes(decision: &Decision) -> impl Iterator<Item = Write<'_>> {
    decision.actions.iter().filter_map(|action| match action {
        Action::WriteRoute { route: key, split, run, sequence } => {
            Some(Write { key, split, run: *run, sequence: *sequence })
        }
        _ => None,
    })
}

/// The verbs that were applied in a pass, with the run they were meant for.
pub fn applied(before: &World, decision: &Decision) -> Vec<(Verb, u64)> {
    let applied = |name: &str| {
        decision.actions.iter().any(|action| {
            matches!(action, Action::AnswerRequest { name: answered, answer }
                if answered == name && answer.state == RequestState::Applied)
        })
    };
    let requests = before.requests.iter().filter(|request| applied(&request.name));
    requests.map(|request| (request.spec.verb, request.spec.run)).collect()
}
