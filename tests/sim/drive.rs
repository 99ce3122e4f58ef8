//! Runs one plan from its beginning to its end, moment by moment.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    deeds,
    instance::{Instance, PANICS},
    judge::nonzero,
    plan::{Plan, Run},
    world::{ROLLOUT, World, seconds},
};

/// A moment: every actor acts once in it.
const MOMENT: f64 = 0.25;
/// A run comes to rest within this time after the last fault, people's answers included.
const BOUND: f64 = 900.0;
/// Resyncs are a minute apart; ten of them are looked at.
const QUIET: f64 = 600.0;

/// What became of a plan.
#[derive(Clone)]
pub struct Outcome {
    pub plan: Plan,
    pub broken: Vec<String>,
    pub story: Vec<String>,
    /// Whether its fault happened at all.
    pub struck: bool,
    pub writes: usize,
    pub calls: usize,
    pub events: usize,
    pub written: BTreeMap<String, usize>,
    pub end: BTreeMap<String, Value>,
}

struct Drive {
    world: Arc<World>,
    instances: Vec<Instance>,
    next: usize,
    leader_election: bool,
    reborn_at: Option<Timestamp>,
    wrong: SignedDuration,
    helped: Timestamp,
    broken: Vec<String>,
}

/// Runs a plan in memory; `reference` is the same run without faults.
pub fn run(plan: Plan, reference: Option<&Outcome>) -> Outcome {
    run_in(World::new(plan), reference)
}

/// Runs the plan of a world that has just begun.
pub fn run_in(world: Arc<World>, reference: Option<&Outcome>) -> Outcome {
    PANICS.set(0);
    let plan = world.plan;
    let mut drive = Drive {
        leader_election: plan.seed % 2 == 1 || matches!(plan.pattern, 6 | 7),
        helped: world.genesis,
        world,
        instances: Vec::new(),
        next: 0,
        reborn_at: None,
        wrong: SignedDuration::ZERO,
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
        let (pattern, what) = (world.plan.pattern, world.plan.variant());
        let late = pattern == 24;
        world.scenario.install(&world, !(late && what == "late-crds"), !(late && what == "late-route-crd"));
        world.tick(world.genesis);
        if late || pattern == 19 && what.ends_with("before") {
            deeds::begin(&world);
        }
        if pattern == 7 && what == "skew-one" {
            self.wrong = SignedDuration::from_secs(40);
        }
        self.give_birth();
        self.wrong = SignedDuration::ZERO;
        if matches!(pattern, 6 | 7) {
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
        self.leases(now);
        self.check_life();
    }

    fn deaths(&mut self, now: Timestamp) {
        let crashed = self.world.faults().take_crash();
        if let Some(index) = crashed {
            self.instances.retain(|instance| instance.index != index);
            let pause = self.world.faults().dice.below(4);
            self.reborn_at = Some(now + SignedDuration::from_secs(i64::try_from(pause).unwrap_or(0)));
            if self.world.plan.pattern == 5 {
                let mut faults = self.world.faults();
                let back = 1 + self.world.plan.seed as usize % 6;
                let history = self.world.server.history(0);
                faults.frozen = Some(history.iter().rev().nth(back).map_or(1, |change| change.revision));
            }
        }
        if self.reborn_at.is_some_and(|at| at <= now) {
            self.reborn_at = None;
            self.give_birth();
        }
    }

    /// P6: the leader that was stopped goes on.
    fn sleepers(&mut self, now: Timestamp) {
        let world = &self.world;
        let due = {
            let faults = world.faults();
            faults.struck.is_some_and(|at| now.duration_since(at) >= deeds::horizon(&world.plan))
        };
        for instance in self.instances.iter().filter(|_| due) {
            let stopped = world.faults().is_stopped(instance.index);
            if stopped {
                instance.wake(world, now);
            }
        }
    }

    /// P15: the clock of the machine jumps, stands or slews. P7: one that was wrong from the start is corrected.
    fn clocks(&mut self, now: Timestamp) {
        if self.world.plan.pattern == 7 && self.world.faults().relieved == Some(now) {
            self.instances.iter().for_each(|instance| instance.clock.set_wrong(SignedDuration::ZERO));
        }
        if self.world.plan.pattern != 15 {
            return;
        }
        let (struck, active) = {
            let faults = self.world.faults();
            (faults.struck, faults.active())
        };
        let Some(struck) = struck else { return };
        let passed = now.duration_since(struck);
        let hour = SignedDuration::from_hours(1);
        let before = self.wrong;
        self.wrong = match self.world.plan.variant() {
            _ if !active => SignedDuration::ZERO,
            "+1h" | "across" => hour,
            "-1h" => -hour,
            "+10y" => hour * (24 * 3650),
            "frozen" => -passed,
            _ => passed / 10,
        };
        for instance in &self.instances {
            instance.clock.set_wrong(self.wrong);
        }
        if self.world.plan.variant() == "across" && before.is_zero() && active {
            let index = self.instances.last().map(|instance| instance.index);
            if let Some(index) = index {
                self.world.faults().kill(index);
                self.instances.clear();
                self.reborn_at = Some(now);
            }
        }
    }

    /// P7: somebody else takes the lease.
    fn leases(&mut self, _: Timestamp) {
        let steals = self.world.plan.pattern == 7 && self.world.plan.variant() == "steal-lease";
        let active = self.world.faults().active();
        if steals && active && self.world.age().fract() < 0.1 {
            let path = "/apis/coordination.k8s.io/v1/namespaces/cutover-system/leases/cutover-hub";
            self.world.patch(path, &json!({"spec": {"holderIdentity": "hub-of-another"}}), "another");
        }
    }

    fn check_life(&mut self) {
        let panics = PANICS.get();
        if panics > 0 {
            self.broken.push(format!("I13: {panics} panics in the hub"));
        }
        if self.instances.iter().any(Instance::has_ended) {
            self.broken.push("I13: the process ended".to_owned());
        }
        let mut faults = self.world.faults();
        if let Some(hot) = faults.hot.take() {
            self.broken.push(format!("I12: {hot}"));
        }
        if let Some(deleted) = faults.unguarded_delete.take() {
            self.broken.push(format!("I6: {deleted} was deleted without a UID precondition"));
        }
        drop(faults);
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
                let status = self.world.rollout().map(|rollout| rollout["status"].clone()).unwrap_or_default();
                let said = format!("{} {} {}", status["phase"], status["reason"], status["message"]);
                self.broken.push(format!("I5: not at rest after {age:.0} s: {said}"));
                return false;
            }
            let quiet = !self.world.faults().active() && self.reborn_at.is_none() && !self.instances.is_empty();
            if !quiet || !super::scenario::is_over(&self.world) {
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

    fn help(&mut self) {
        let now = self.world.now();
        let idle = self.world.judge().last_hub_write().is_none_or(|at| now.duration_since(at) > seconds(20.0));
        let stuck = self.world.age() > 240.0;
        let due = now.duration_since(self.helped) > seconds(30.0);
        if due && (idle || stuck) && !self.world.faults().active() {
            self.helped = now;
            deeds::help(&self.world);
        }
    }

    /// I11: what is at rest writes nothing.
    fn stay_quiet(&mut self) {
        let rested = self.world.now() + seconds(45.0);
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
        let end = end_state(&world);
        let mut written = world.judge().written.clone();
        written.retain(|object, _| !object.starts_with("events/"));
        if let Some(reference) = reference.filter(|_| self.broken.is_empty() && is_strict(&world.plan)) {
            self.broken.extend(differences(&reference.end, &end));
            self.broken.extend(too_many(&world.plan, &reference.written, &written));
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
            struck: faults.struck.is_some(),
            writes,
            calls,
            events,
            written,
            end,
        }
    }

    /// The end is one that the declaration or a recorded rollback explains.
    fn ends_right(&mut self) {
        let world = self.world.clone();
        let (live, good, start) = {
            let judge = world.judge();
            (judge.live(), judge.good(), nonzero(&world.scenario.start))
        };
        let rollout = world.rollout();
        let phase = rollout.as_ref().map(|rollout| rollout["status"]["phase"].as_str().unwrap_or_default().to_owned());
        let declared: BTreeMap<String, u32> = rollout
            .iter()
            .flat_map(|rollout| rollout["spec"]["members"].as_array().cloned().unwrap_or_default())
            .map(|member| {
                let weight = member["weight"].as_u64().and_then(|weight| u32::try_from(weight).ok());
                (member["name"].as_str().unwrap_or_default().to_owned(), weight.unwrap_or(0))
            })
            .collect();
        let gone = matches!((world.plan.pattern, world.plan.variant()), (16 | 17, "namespace" | "crd" | "terminating"));
        let wanted = match phase.as_deref() {
            Some("Succeeded") if world.scenario.run == Run::Service => nonzero(&world.scenario.end),
            Some("Succeeded") => nonzero(&declared),
            Some(_) | None if good.is_empty() => start,
            Some(_) | None => good,
        };
        // Without a fault nothing may turn out otherwise than it was meant.
        let wanted = if world.plan == Plan::clean(world.plan.run, world.plan.seed) {
            nonzero(&world.scenario.end)
        } else {
            wanted
        };
        let keeping = world.judge().keeping();
        if !gone && !keeping.is_empty() {
            self.broken.push(format!("I19: {keeping:?} keep users in the end"));
        }
        let removed = world.plan.pattern == 17 && world.plan.variant() == "ours-removed";
        for (route, weights) in live.iter().filter(|_| !gone && !removed) {
            if *weights != wanted {
                self.broken.push(format!("I5: {route} ends at {weights:?} in phase {phase:?}, not at {wanted:?}"));
            }
        }
    }
}

fn time(line: &str) -> f64 {
    line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

/// Faults after which everything must end as it would have without them.
fn is_strict(plan: &Plan) -> bool {
    matches!(plan.pattern, 1..=3 | 5..=7 | 12..=14 | 24) && plan.run != Run::Deletion
}

/// What is compared of the end: what people declared, and what the hub made of it.
fn end_state(world: &World) -> BTreeMap<String, Value> {
    let mut end = BTreeMap::new();
    for (name, service) in &world.scenario.routes {
        let route = world.object(&format!("{}/{name}", super::scenario::ROUTES)).unwrap_or_default();
        end.insert(format!("route {name} of {service}"), route["spec"].clone());
    }
    let backends = world.judge().backends().clone();
    for name in backends {
        let mut service = world.object(&format!("/api/v1/namespaces/shop/services/{name}")).unwrap_or_default();
        // Whose it is differs from seed to seed; that it has an owner must not.
        if let Some(owner) = service.pointer_mut("/metadata/labels/cutover.dev~1rollout-uid") {
            *owner = json!("the rollout");
        }
        end.insert(format!("service {name}"), json!([service["spec"]["externalName"], service["metadata"]["labels"]]));
    }
    let rollout = world.object(ROLLOUT).unwrap_or_default();
    let status = &rollout["status"];
    for key in ["phase", "primary", "failedRevision", "observedGeneration"] {
        end.insert(format!("status.{key}"), status[key].clone());
    }
    end.insert("status.desired.weights".to_owned(), status["desired"]["weights"].clone());
    end.insert("status.run.outcome".to_owned(), status["run"]["outcome"].clone());
    end.insert("finalizers".to_owned(), rollout["metadata"]["finalizers"].clone());
    end
}

fn differences(wanted: &BTreeMap<String, Value>, found: &BTreeMap<String, Value>) -> Vec<String> {
    let keys = wanted.keys().chain(found.keys().filter(|key| !wanted.contains_key(*key)));
    keys.filter(|key| wanted.get(*key) != found.get(*key))
        .map(|key| format!("end: {key} is {:?}, and {:?} without the fault", found.get(key), wanted.get(key)))
        .collect()
}

/// A fault may cost some writes more, and no object many.
fn too_many(plan: &Plan, wanted: &BTreeMap<String, usize>, found: &BTreeMap<String, usize>) -> Vec<String> {
    let long = !matches!(plan.pattern, 1..=3 | 12) || plan.variant() == "60s";
    let more = |object: &str| match object.split('/').next().unwrap_or_default() {
        "fleetrollouts" => 16,
        "memberclusters" => 6,
        _ => 6,
    };
    let extra = |object: &str| more(object) * if long { 6 } else { 1 };
    found
        .iter()
        .filter(|(object, count)| **count > wanted.get(*object).copied().unwrap_or(0) + extra(object))
        .map(|(object, count)| {
            format!("count: {object} was written {count} times, {:?} without the fault", wanted.get(object))
        })
        .collect()
}
