//! Runs one plan from its beginning to its end, moment by moment.

mod compared;
mod deleted;
mod end;
mod meant;
mod passes;
mod troubles;

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    deeds,
    instance::{Instance, PANICS},
    judge::Written,
    logs,
    plan::{
        Counted, Fault, Plan, Run,
        sorts::{Late, LeaseFault, WatchFault},
    },
    routes::Weights,
    scenario::is_over,
    status::Status,
    world::{World, seconds},
};
use compared::{differences, end_state, otherwise, too_many};
use end::{costs_little, ends_alike};
use passes::Passes;

/// A moment: every actor acts once in it.
const MOMENT: f64 = 0.25;
/// A run comes to rest within this time after the last fault, people's answers included.
const BOUND: f64 = 900.0;
/// Resyncs are a minute apart; ten of them are looked at.
const QUIET: f64 = 600.0;
/// The hub notices that a watch fell silent within a minute, and then lists.
const NOTICED: f64 = 75.0;

/// What became of a plan.
#[derive(Clone)]
pub struct Outcome {
    pub plan: Plan,
    pub broken: Vec<String>,
    pub story: Vec<String>,
    /// Whether its fault changed anything that the hub did or saw.
    pub struck: bool,
    pub writes: usize,
    pub calls: usize,
    pub events: usize,
    pub written: Written,
    pub course: Vec<(f64, String, Weights)>,
    pub end: BTreeMap<String, Value>,
}

impl Outcome {
    /// The highest `k` at which this fault meets a run like this one.
    pub fn most(&self, fault: Fault) -> usize {
        match fault.counts() {
            Counted::Writes => self.writes,
            Counted::Calls => self.calls,
            Counted::Events => self.events,
            Counted::Nothing => 1,
        }
    }
}

struct Drive {
    world: Arc<World>,
    instances: Vec<Instance>,
    next: usize,
    leader_election: bool,
    reborn_at: Option<Timestamp>,
    wrong: SignedDuration,
    passes: Passes,
    helped: Timestamp,
    broken: Vec<String>,
}

/// Runs a plan in memory; `reference` is the same run without faults.
pub fn run(plan: Plan, reference: Option<&Outcome>) -> Outcome {
    // Times differ with the seed; the reference has one of the first two.
    let differs = matches!(plan.fault, Fault::Tenant(_)) && plan.seed > 1;
    let same_seed = differs.then(|| run(plan.reference(), None));
    run_in(World::new(plan), same_seed.as_ref().or(reference))
}

/// Runs the plan of a world that has just begun.
pub fn run_in(world: Arc<World>, reference: Option<&Outcome>) -> Outcome {
    PANICS.set(0);
    let plan = world.plan;
    let mut drive = Drive {
        leader_election: plan.seed % 2 == 1 || plan.fault.needs_leader_election(),
        helped: world.genesis,
        world,
        instances: Vec::new(),
        next: 0,
        reborn_at: None,
        wrong: SignedDuration::ZERO,
        passes: Passes::default(),
        broken: Vec::new(),
    };
    drive.begin();
    let rested = drive.until_rest();
    if rested && drive.broken.is_empty() {
        drive.stay_quiet();
    }
    drive.outcome(reference)
}

impl Drive {
    fn begin(&mut self) {
        let world = self.world.clone();
        let fault = world.plan.fault;
        world.scenario.install(&world, fault != Fault::Late(Late::Kinds), fault != Fault::Late(Late::RouteKind));
        world.tick(world.genesis);
        if fault.counts() == Counted::Nothing {
            deeds::begin(&world);
        }
        if fault == Fault::Lease(LeaseFault::SkewOne) {
            self.wrong = SignedDuration::from_secs(40);
        }
        self.give_birth();
        self.wrong = SignedDuration::ZERO;
        if fault.needs_two_instances() {
            self.give_birth();
        }
    }

    fn give_birth(&mut self) {
        self.instances.push(Instance::begin(&self.world, self.next, self.leader_election, self.wrong));
        self.next += 1;
    }

    /// One moment of this length.
    fn moment(&mut self, length: f64) {
        let world = self.world.clone();
        let now = world.genesis + seconds(((world.age() + length) / MOMENT).round() * MOMENT);
        for instance in &self.instances {
            let stopped = world.faults().is_stopped(instance.index);
            if !stopped {
                instance.step(now);
            }
        }
        world.tick(now);
        self.deaths(now);
        self.sleepers(now);
        world.scenario.people(&world);
        deeds::meanwhile(&world);
        self.clocks(now);
        self.leases();
        self.check_life();
    }

    fn check_life(&mut self) {
        let panics = PANICS.get();
        if panics > 0 {
            self.broken.push(format!("I13: {panics} panics in the hub"));
        }
        if self.instances.iter().any(Instance::has_ended) {
            self.broken.push("I13: the process ended".to_owned());
        }
        if let Some(line) = logs::leaked() {
            self.broken.push(format!("I14: a secret is logged: {line}"));
        }
        if let Some((rollout, count)) = self.passes.count(logs::passes(), self.world.now()) {
            self.broken.push(format!("I12: {count} passes over {rollout} in ten seconds"));
        }
        let mut faults = self.world.faults();
        if let Some(hot) = faults.hot.take() {
            self.broken.push(format!("I12: {hot}"));
        }
        if let Some(deleted) = faults.unguarded_delete.take() {
            self.broken.push(format!("I6: {deleted} was deleted without a UID precondition"));
        }
        drop(faults);
        self.world.judge().judge_calls(&self.world);
        self.broken.append(&mut self.world.judge().broken);
        self.broken.dedup();
    }

    /// Until the run is over and every fault is past; false if that does not come.
    fn until_rest(&mut self) -> bool {
        let mut over_since: Option<f64> = None;
        let limit = BOUND + deeds::horizon(&self.world.plan).as_secs_f64();
        while self.broken.is_empty() {
            self.moment(MOMENT);
            let age = self.world.age();
            if age > limit {
                let status = self.world.rollout().map(|rollout| Status::of(&rollout)).unwrap_or_default();
                let said = ["phase", "reason", "message"].map(|name| status.field(name).to_string()).join(" ");
                self.broken.push(format!("I5: not at rest after {age:.0} s: {said}"));
                return false;
            }
            let quiet = !self.world.faults().active() && self.reborn_at.is_none() && !self.instances.is_empty();
            if !quiet || !is_over(&self.world) {
                over_since = None;
                self.help();
                continue;
            }
            let since = *over_since.get_or_insert(age);
            if age - since > 5.0 {
                return true;
            }
        }
        false
    }

    /// People come when nothing happens, and not before the hub had time to see that a fault is over.
    fn help(&mut self) {
        let now = self.world.now();
        let relieved = self.world.faults().relieved.is_some_and(|at| now.duration_since(at) < seconds(5.0));
        let idle = self.world.judge().last_hub_write().is_none_or(|at| now.duration_since(at) > seconds(20.0));
        let stuck = self.world.age() > 240.0;
        let due = now.duration_since(self.helped) > seconds(30.0);
        if due && (idle || stuck) && !relieved && !self.world.faults().active() {
            self.helped = now;
            deeds::help(&self.world);
        }
    }

    /// I11: what is at rest writes nothing.
    fn stay_quiet(&mut self) {
        // A watch that fell silent shows the last writes when that is noticed.
        let silent = self.world.plan.fault == Fault::Watch(WatchFault::Idle);
        let rested = self.world.now() + seconds(if silent { NOTICED } else { 45.0 });
        let end = self.world.now() + seconds(QUIET);
        while self.world.now() < end && self.broken.is_empty() {
            self.moment(5.0);
        }
        let last = self.world.judge().last_hub_write();
        if last.is_some_and(|at| at > rested) {
            self.broken.push("I11: the hub writes although nothing changes".to_owned());
        }
    }

    fn outcome(mut self, reference: Option<&Outcome>) -> Outcome {
        let world = self.world.clone();
        if self.broken.is_empty() {
            self.ends_right();
        }
        if let Some(rollout) = world.rollout().filter(|_| world.plan.run == Run::Hooks && self.broken.is_empty()) {
            self.broken.extend(world.receiver().broken(&rollout));
        }
        let end = end_state(&world);
        let written = world.judge().written.clone();
        let course = world.judge().course.clone();
        if let Some(reference) = reference.filter(|_| self.broken.is_empty()) {
            if ends_alike(&world.plan) {
                self.broken.extend(differences(&world.plan, &reference.end, &end));
            }
            if matches!(world.plan.fault, Fault::Tenant(_)) {
                let same_seed = reference.plan.seed == world.plan.seed;
                self.broken.extend(otherwise(&reference.course, &course, same_seed));
            }
            if costs_little(&world.plan) {
                self.broken.extend(too_many(&world.plan, &reference.written, &written));
            }
        }
        let mut story = std::mem::take(&mut world.judge().story);
        let mut faults = world.faults();
        story.append(&mut faults.trace);
        story.sort_by(|one, other| time(one).total_cmp(&time(other)));
        let (writes, calls, events) = (faults.writes, faults.calls, faults.events);
        Outcome {
            plan: world.plan,
            broken: self.broken,
            story,
            struck: faults.has_struck(),
            writes,
            calls,
            events,
            written,
            course,
            end,
        }
    }
}

fn time(line: &str) -> f64 {
    line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}
