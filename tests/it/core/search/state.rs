//! A world with what the search remembers of it, and how a move changes both.

use cutover::api::{FleetRolloutStatus, Verb, request::RequestState, status::Outcome};
use jiff::Timestamp;

use super::{
    super::{
        states::arrows,
        world::{Crash, Metrics, World, Writes, spec},
    },
    moves::{Down, Edit, Move, Target},
    reached::{Reached, count_reasons},
    rules::Checked,
};

/// What the search itself remembers, beside the world: what the machine must not contradict.
#[derive(Clone, Debug)]
pub struct Memory {
    /// A pass was recorded at the present weights, since every route took them.
    pub proven: bool,
    /// Since when every route shows the present weights.
    pub shown_since: Option<Timestamp>,
    /// The run that went back; canaries never rise in it.
    pub went_back: Option<u64>,
    /// The run whose wait for promotion a person opened.
    pub promoted: Option<u64>,
    /// The revision that failed, until it is declared or requested again.
    pub failed: Option<String>,
    /// The status that an old backup would restore.
    pub backup: FleetRolloutStatus,
}

#[derive(Clone, Debug)]
pub struct State {
    pub world: World,
    pub memory: Memory,
}

pub const SPEC: &str = "
services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: a}}, {gatewayAPI: {name: b}}]}]
members: [{name: eu-1, weight: 0}, {name: eu-2, weight: 0}, {name: eu-3, weight: 100}]
strategy: {bake: 25s, keepPrevious: 30s, progressDeadline: 5m, steps: [{progress: 20%, wait: Promotion}, {progress: 60%, wait: 30s}, {progress: 100%}]}
analysis: {unknown: {limit: 3, action: Rollback}}
";

impl State {
    pub fn new(live: &[(&str, u32)]) -> Self {
        let world = World::new(spec(SPEC), live);
        let backup = world.status.clone();
        Self {
            world,
            memory: Memory { proven: false, shown_since: None, went_back: None, promoted: None, failed: None, backup },
        }
    }

    /// Applies a move, then passes until nothing changes, and checks every pass.
    pub fn make(&mut self, what: Move, reached: &mut Reached) {
        let crash = self.disturb(what);
        *reached.moves.entry(what).or_default() += 1;
        self.checked_pass(crash, reached, what);
        if crash != Crash::Never {
            // A new instance of the hub begins before it has listed the routes.
            self.world.unlisted = true;
            self.checked_pass(Crash::Never, reached, what);
            self.world.unlisted = false;
        }
        let settles = (0..12).any(|_| {
            let before = (self.world.status.clone(), self.world.routes.clone());
            self.checked_pass(Crash::Never, reached, what);
            before == (self.world.status.clone(), self.world.routes.clone())
        });
        assert!(settles, "passes at one instant go on for ever after {what:?}: {:?}", self.world.status);
    }

    fn disturb(&mut self, what: Move) -> Crash {
        let world = &mut self.world;
        match what {
            Move::Wait(seconds) => {
                world.after(seconds);
                for _ in 0..3 {
                    world.probe();
                }
            }
            Move::Metrics(metrics) => world.metrics = metrics,
            Move::Write(index, mode) => {
                let key = world.routes.keys().nth(index).unwrap().clone();
                for route in world.routes.values_mut().flatten().filter(|_| mode == Writes::Confirmed) {
                    route.accepted = cutover::rollout::input::Accepted::Yes;
                }
                world.writes.insert(key, mode);
            }
            Move::Ask(verb) => {
                world.ask(verb);
            }
            Move::Down(which) => {
                let names: &[&str] = match which {
                    Down::Canary => &["eu-3"],
                    Down::Primary => &["eu-1"],
                    Down::All => &["eu-1", "eu-2", "eu-3"],
                    Down::None => &[],
                };
                world.down = names.iter().map(|name| (*name).to_owned()).collect();
            }
            Move::Edit(Edit::Up) => {
                world.edit(&[("eu-1", 5), ("eu-3", 95)]);
            }
            Move::Edit(Edit::Lower) => {
                world.edit(&[("eu-1", 99), ("eu-3", 1)]);
            }
            Move::Declare(target) => {
                let weights: &[(&str, u32)] = match target {
                    Target::New => &[("eu-3", 100)],
                    Target::Old => &[("eu-1", 50), ("eu-2", 50)],
                    Target::Third => &[("eu-1", 50), ("eu-3", 50)],
                };
                world.declare(weights);
                self.memory.failed = None;
            }
            Move::Crash(crash) => return crash,
            Move::Delete => world.deleting = true,
            Move::Suspend => world.spec.suspend = !world.spec.suspend,
            Move::PauseSpec => world.spec.paused = !world.spec.paused,
            Move::RefuseRehearsals => world.refuse_rehearsals = !world.refuse_rehearsals,
            Move::LoseBackends => world.unready_backends = true,
            Move::BreakSpec => world.invalid = !world.invalid,
            Move::ChangeIdentity => {
                let changed = format!("{}-again", world.identities.get("eu-3").map_or("eu-3", String::as_str));
                world.identities.insert("eu-3".to_owned(), changed);
            }
            Move::RestoreOldStatus => {
                let weights =
                    |status: &FleetRolloutStatus| status.desired.as_ref().map(|desired| desired.split.weights.clone());
                self.memory.proven &= weights(&world.status) == weights(&self.memory.backup);
                world.status = self.memory.backup.clone();
                self.memory.went_back = None;
            }
        }
        Crash::Never
    }

    fn checked_pass(&mut self, crash: Crash, reached: &mut Reached, what: Move) {
        if self.world.gone {
            return;
        }
        let before = self.world.clone();
        let decision = self.world.pass_until(crash);
        let check = Checked { before: &before, after: &self.world, decision: &decision, memory: &self.memory };
        check.every_rule(what);
        self.remember(&before);
        count_reasons(&self.world, reached);
        reached.arrows.extend(arrows(&before.status, &self.world.status));
        self.world.written.clear();
        self.world.answered.clear();
        self.world.released.clear();
    }

    /// Updates the memory from what happened in the world.
    fn remember(&mut self, before: &World) {
        let world = &self.world;
        let desired = |world: &World| world.status.desired.as_ref().map(|desired| desired.split.weights.clone());
        if desired(before) != desired(world) {
            (self.memory.proven, self.memory.shown_since) = (false, None);
        }
        let shown = world.status.desired.as_ref().is_some_and(|desired| {
            world.routes.values().all(|route| {
                route.as_ref().is_some_and(|route| {
                    route.split.weights.same_as(&desired.split.weights)
                        && route.accepted == cutover::rollout::input::Accepted::Yes
                })
            })
        });
        self.memory.shown_since = if shown { self.memory.shown_since.or(Some(world.now)) } else { None };
        if measured_good(world) && self.memory.shown_since.is_some_and(|since| since < world.now) {
            self.memory.proven = true;
        }
        for record in world.status.history.iter().filter(|record| record.ended_at == world.now) {
            let back = matches!(record.outcome, Outcome::Failed | Outcome::RolledBack);
            self.memory.failed = back.then(|| record.revision.clone());
        }
        for (verb, run) in applied(before, world) {
            match verb {
                Verb::Promote => self.memory.promoted = Some(run),
                Verb::Retry | Verb::Adopt => self.memory.failed = None,
                Verb::Abort | Verb::Rollback | Verb::Pause | Verb::Resume => {}
            }
        }
        let rolling_back = world.live_run().filter(|_| world.is_rolling_back());
        self.memory.went_back = rolling_back.map(|run| run.number);
    }
}

/// The hub measured in this pass, and what it measured was good.
pub fn measured_good(world: &World) -> bool {
    world.measured_at == Some(world.now) && world.metrics == Metrics::Good
}

/// The verbs that were applied in a pass, with the run they were meant for.
pub fn applied(before: &World, after: &World) -> Vec<(Verb, u64)> {
    let yes = |name: &str| after.answered.iter().any(|(n, state, _)| n == name && *state == RequestState::Applied);
    let desired = before.requests.iter().filter(|request| yes(&request.name));
    desired.map(|request| (request.spec.verb, request.spec.run)).collect()
}
