//! I2: what all routes show together is a declared step, and no step is left out.

use cutover::api::DeletionPolicy;
use jiff::Timestamp;
use serde_json::Value;

use super::{
    super::{
        plan::{Fault, sorts::Declared},
        routes::{Weights, plain},
        world::{World, seconds},
    },
    Judge, Shown,
    weights::{answering, at, nonzero},
};

/// Weights are whole: what is declared in percent may be one off.
const GRAIN: u32 = 1;
/// An edit is answered within so many seconds; what is written until then may be about it.
const ANSWERED: f64 = 15.0;

/// The steps from where a target was declared to that target.
#[derive(Clone, Debug)]
pub(super) struct Course {
    generation: i64,
    steps: Vec<Weights>,
    /// How many of them were shown.
    shown: usize,
}

impl Course {
    /// From these weights by the steps of this spec.
    fn of(generation: i64, spec: &Value, start: &Weights) -> Self {
        let target = target(spec);
        let steps = progress(spec).into_iter().map(|percent| between(start, &target, percent)).collect();
        Self { generation, steps, shown: 0 }
    }

    /// Whether the weights are those of the next step at most, which then counts as shown.
    fn takes(&mut self, weights: &Weights) -> bool {
        let mut next = self.steps.iter().take(self.shown + 1);
        let found = next.rposition(|step| is_near(step, weights));
        // Steps that move no weight show nothing new.
        let same = |place: &usize| self.steps.get(*place).is_some_and(|step| is_near(step, weights));
        if let Some(place) = found {
            let moving = (place + 1..self.steps.len()).find(|place| !same(place));
            self.shown = moving.unwrap_or(self.steps.len()).max(self.shown);
        }
        found.is_some()
    }
}

impl Judge {
    /// The rollout goes, and with `Revert` its routes become what they were before it.
    fn gives_back(&self, world: &World, weights: &Weights) -> bool {
        let goes = self.rollout.as_ref().is_none_or(|rollout| rollout["metadata"]["deletionTimestamp"].is_string());
        goes && world.scenario.deletion_policy == DeletionPolicy::Revert && *weights == answering(&world.scenario.start)
    }

    /// Looks at weights that all routes show together.
    pub(super) fn judge_course(&mut self, world: &World, weights: &Weights) {
        let weights = answering(weights);
        let gains = weights.iter().any(|(member, weight)| *weight > at(&self.good, member));
        let stood_in = world.fleet().members.values().any(|member| member.down_since.is_some());
        let excused = self.is_edited(world.now())
            || self.restored
            || stood_in
            || self.gives_back(world, &weights)
            || matches!(world.plan.fault, Fault::Webhook(_) | Fault::Member(_));
        let was_shown = self.has_just_shown(&weights);
        let mut taken = false;
        let mut under_way = false;
        for course in &mut self.courses {
            let is_taken = course.takes(&weights);
            taken |= is_taken;
            under_way |= is_taken && course.generation < self.generation;
        }
        // The same target by another route is another run, of which the steps under way may look like the first ones.
        let begins_anew = under_way && world.plan.fault == Fault::Declare(Declared::Route);
        self.set_course_from(&weights, begins_anew);
        if gains && !taken && !was_shown && !excused {
            let line =
                format!("I2: the routes show {weights:?}, which is not the next of the steps: {:?}", self.courses);
            self.break_rule(world, line);
        }
    }

    /// What all routes show, and what they showed before.
    fn last_shown(&self) -> impl Iterator<Item = &Shown> {
        self.shown.iter().chain(self.past.last())
    }

    /// All routes showed it before: a step that is taken back shows it again.
    fn has_just_shown(&self, weights: &Weights) -> bool {
        self.last_shown().any(|one| answering(&one.weights) == *weights)
    }

    /// Somebody else has just edited a route, a status or what is declared.
    pub(super) fn is_edited(&self, now: Timestamp) -> bool {
        self.meddled.is_some_and(|at| now.duration_since(at) < seconds(ANSWERED))
    }

    /// A target was declared: steps lead there from what is shown, and from the last known good weights.
    pub(super) fn set_course(&mut self, generation: i64, spec: &Value) {
        let shown = self.last_shown().map(|shown| answering(&shown.weights));
        let starts = shown.chain([nonzero(&self.good)]).collect::<Vec<_>>();
        self.courses.extend(starts.iter().map(|start| Course::of(generation, spec, start)));
    }

    /// Until the hub has made a step to the newest target, what was under way before may still be shown: it begins there.
    fn set_course_from(&mut self, start: &Weights, anew: bool) {
        if let Some(declared) = self.declared.get(&self.generation).filter(|_| anew || !self.has_begun()) {
            self.courses.push(Course::of(self.generation, &declared["spec"], start));
        }
    }

    /// A step to the newest target was shown.
    pub(super) fn has_begun(&self) -> bool {
        self.courses.iter().any(|course| course.generation == self.generation && course.shown > 0)
    }

    /// What is shown was taken as the last known good: steps begin there.
    pub(super) fn set_course_anew(&mut self) {
        self.courses.clear();
        if let Some(declared) = self.declared.get(&self.generation).cloned() {
            self.set_course(self.generation, &declared["spec"]);
        }
    }

    /// A run that went back may begin again.
    pub(super) fn begin_courses_again(&mut self) {
        self.courses.iter_mut().for_each(|course| course.shown = 0);
    }
}

/// The percentages of the steps; one without any keeps that of the step before. In service mode they are those of a ramp.
fn progress(spec: &Value) -> Vec<u32> {
    let strategy = &spec["strategy"];
    if let Some(ramp) = strategy["ramp"]["stepWeights"].as_array() {
        let percents = ramp.iter().filter_map(Value::as_u64).filter_map(|percent| u32::try_from(percent).ok());
        return percents.chain([100]).collect();
    }
    let mut last = 0;
    let steps = strategy["steps"].as_array().into_iter().flatten();
    let percent = |step: &Value| {
        last = step["progress"].as_str().and_then(|text| text.trim_end_matches('%').parse().ok()).unwrap_or(last);
        last
    };
    steps.map(percent).collect()
}

/// Where the steps of a spec lead; in service mode to the copy of what is under analysis.
fn target(spec: &Value) -> Weights {
    let Some(members) = spec["members"].as_array() else { return Weights::from([("canary".to_owned(), 100)]) };
    let weight = |member: &Value| u32::try_from(member["weight"].as_u64().unwrap_or_default()).unwrap_or_default();
    members.iter().map(|member| (member["name"].as_str().unwrap_or_default().to_owned(), weight(member))).collect()
}

fn between(start: &Weights, target: &Weights, percent: u32) -> Weights {
    let names = start.keys().chain(target.keys());
    let of = |name: &String| (at(start, name) * (100 - percent) + at(target, name) * percent + 50) / 100;
    names.map(|name| (plain(name).to_owned(), of(name))).collect()
}

fn is_near(one: &Weights, other: &Weights) -> bool {
    one.keys().chain(other.keys()).all(|name| at(one, name).abs_diff(at(other, name)) <= GRAIN)
}
