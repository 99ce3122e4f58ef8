//! The steps of a run as they are declared, counted by the search itself: what may be written after what.

use cutover::{
    api::{CANARY, Distribution, Mode, PRIMARY, Progress, Split, Steering, strategy::Step},
    rollout::declared,
};

use super::{
    super::world::World,
    evidence::{Evidence, PROBES, writes},
    rules::Checked,
};

/// The steps of one run, and how far it has come.
#[derive(Clone, Debug)]
pub struct Course {
    run: u64,
    start: Distribution,
    target: Distribution,
    /// The members that gain in each stage.
    stages: Vec<Vec<String>>,
    /// Where the run begins, and every step that differs from the one before it.
    steps: Vec<Shows>,
    /// The step that was written last.
    at: usize,
}

/// What the routes show at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shows {
    /// What the members of each stage have above the start.
    gained: Vec<i64>,
    steering: Option<Kind>,
    /// Service mode: traffic returns to a primary that leads where the canary does.
    returns: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mirrored,
    Matched,
}

impl Course {
    fn of(world: &World, run: u64, start: Distribution) -> Self {
        let (target, stages) = match world.spec.mode() {
            Mode::Member => {
                let target = declared(&world.spec);
                let stages = stages(world, &target.above(&start));
                (target, stages)
            }
            Mode::Service => ([(CANARY, 100)].into(), vec![vec![CANARY.to_owned()]]),
        };
        let mut course = Self { run, start, target, stages, steps: Vec::new(), at: 0 };
        course.steps = match world.spec.mode() {
            Mode::Member => course.of_members(&world.spec.strategy.steps),
            Mode::Service => Self::of_services(world),
        };
        course.steps.insert(0, course.shows(&course.start, None));
        course.steps.dedup();
        course
    }

    /// Every stage by every step; stages before it are where they end.
    fn of_members(&self, steps: &[Step]) -> Vec<Shows> {
        let mut gained = vec![0; self.stages.len()];
        let mut all = Vec::new();
        for stage in 0..self.stages.len() {
            for step in steps {
                gained[stage] = step.progress.map_or(gained[stage], |progress| part(self.gain(stage), progress));
                all.push(Shows { gained: gained.clone(), steering: kind(step), returns: false });
            }
        }
        all
    }

    /// The ramp; then everything goes to the canary, and back to the primary once that leads where the canary does.
    fn of_services(world: &World) -> Vec<Shows> {
        let ramp = world.spec.strategy.ramp.as_ref().unwrap();
        let back = i64::from(ramp.step_weight_promotion.unwrap());
        let forward = ramp.step_weights.iter().map(|share| (i64::from(*share), false)).chain([(100, false)]);
        let returned = (1..).map(|times| (100 - back * times).max(0)).take_while(|left| *left > 0).chain([0]);
        let shows = |(canary, returns)| Shows { gained: vec![canary], steering: None, returns };
        forward.chain(returned.map(|left| (left, true))).map(shows).collect()
    }

    fn gain(&self, stage: usize) -> i64 {
        self.stages[stage].iter().map(|name| i64::from(self.target.weight(name) - self.start.weight(name))).sum()
    }

    fn shows(&self, weights: &Distribution, steering: Option<&Steering>) -> Shows {
        let above = |name: &String| i64::from(weights.weight(name)) - i64::from(self.start.weight(name));
        let steering = steering.map(|steering| match steering {
            Steering::Mirrored(_) => Kind::Mirrored,
            Steering::Matched(_) => Kind::Matched,
        });
        let gained = self.stages.iter().map(|stage| stage.iter().map(above).sum()).collect();
        Shows { gained, steering, returns: false }
    }

    /// Goes where this is shown: to the next step, or to one before where steps are taken back. False where it is neither.
    fn write(&mut self, split: &Split, returns: bool) -> bool {
        let mut near = [self.at, self.at + 1].into_iter().chain((0..self.at).rev());
        let found = near.find(|place| self.steps.get(*place).is_some_and(|step| self.is(step, split, returns)));
        self.at = found.unwrap_or(self.at);
        found.is_some() && self.is_on_the_way(&split.weights)
    }

    fn is(&self, step: &Shows, split: &Split, returns: bool) -> bool {
        let shows = self.shows(&split.weights, split.steering.as_ref());
        (&step.gained, step.steering) == (&shows.gained, shows.steering) && (returns || !step.returns)
    }

    /// Nobody has more or less than at both ends.
    fn is_on_the_way(&self, weights: &Distribution) -> bool {
        let mut names = weights.members().chain(self.start.members());
        names.all(|name| {
            let (one, other) = (self.start.weight(name), self.target.weight(name));
            (one.min(other)..=one.max(other)).contains(&weights.weight(name))
        })
    }
}

/// The gaining members of each stage; one stage of all where none is declared.
fn stages(world: &World, gaining: &[String]) -> Vec<Vec<String>> {
    let declared = &world.spec.strategy.stages;
    if declared.is_empty() {
        return vec![gaining.to_vec()];
    }
    let of = |members: &[String]| members.iter().filter(|name| gaining.contains(name)).cloned().collect::<Vec<_>>();
    declared.iter().map(|stage| of(&stage.members)).filter(|members| !members.is_empty()).collect()
}

fn part(gain: i64, progress: Progress) -> i64 {
    gain * i64::try_from(progress.basis_points()).unwrap() / 10_000
}

fn kind(step: &Step) -> Option<Kind> {
    let matched = (!step.matches.is_empty()).then_some(Kind::Matched);
    step.mirror.map(|_| Kind::Mirrored).or(matched)
}

impl Checked<'_> {
    /// The course after this pass, and whether what was written is its next step, or the last one once more.
    pub fn course(&self) -> (Option<Course>, bool) {
        let run = self.after.status.last_run();
        let begins = run > self.before.status.last_run();
        let mut course = if begins { Some(self.begun(run)) } else { self.evidence.course.clone() };
        if self.applied_any(cutover::api::Verb::Adopt) && !begins {
            return (None, true);
        }
        let Some(write) = writes(self.decision).next() else { return (course, true) };
        let forward = !self.after.is_rolling_back() && !self.evidence.closed.contains(&write.run);
        let returns = self.leads(CANARY) == self.leads(PRIMARY);
        let next = course.as_mut().filter(|course| forward && course.run == write.run);
        let next = next.is_none_or(|course| course.write(write.split, returns));
        (course, next || !self.evidence.unavailable.is_empty())
    }

    /// What is tried as a dry run is the first step, or where the run begins if that is to be proven first.
    pub fn is_first_step(&self, split: &Split) -> bool {
        self.course().0.is_none_or(|course| course.steps.iter().take(2).any(|step| course.is(step, split, false)))
    }

    fn begun(&self, run: u64) -> Course {
        let shown = self.before.live();
        // In service mode, and where the hub creates the routes, a run may begin with the write that makes them.
        let start = if shown.is_empty() { self.primary().clone() } else { shown };
        Course::of(self.before, run, start)
    }
}

impl Evidence {
    /// Who failed so many probes in a row, and has not answered as many since.
    pub(super) fn note_unavailable(&mut self, world: &World) {
        for (name, seen) in &world.endpoints {
            if seen.failures >= PROBES {
                self.unavailable.insert(name.clone());
            } else if seen.successes >= PROBES {
                self.unavailable.remove(name);
            }
        }
    }
}
