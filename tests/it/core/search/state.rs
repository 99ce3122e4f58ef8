//! A world with what the search saw of it, and how a move leads to the next.

use cutover::api::FleetRolloutStatus;

use super::{
    super::{
        states::arrows,
        world::{Crash, World},
    },
    evidence::Evidence,
    moves::Move,
    reached::{Reached, count_reasons},
    rules::Checked,
    worlds::SmallWorld,
};

#[derive(Clone, Debug)]
pub struct State {
    pub small: &'static SmallWorld,
    pub world: World,
    pub evidence: Evidence,
    /// The status that an old backup would restore.
    pub backup: FleetRolloutStatus,
}

impl State {
    /// The world after what it begins with.
    pub fn new(small: &'static SmallWorld, reached: &mut Reached) -> Self {
        let world = small.begin();
        let mut state = Self { small, evidence: Evidence::of(&world), backup: world.status.clone(), world };
        small.begins.iter().for_each(|what| state.make(*what, reached));
        state
    }

    /// Applies a move, then passes until nothing changes, and checks every pass.
    pub fn make(&mut self, what: Move, reached: &mut Reached) {
        let crash = self.disturb(what);
        self.evidence.see(&self.world);
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

    fn checked_pass(&mut self, crash: Crash, reached: &mut Reached, what: Move) {
        if self.world.gone {
            return;
        }
        let before = self.world.clone();
        let decision = self.world.pass_until(crash);
        self.evidence.measure(&self.world);
        let checked = Checked {
            small: self.small,
            before: &before,
            after: &self.world,
            decision: &decision,
            evidence: &self.evidence,
        };
        checked.every_rule(what);
        let (risen, (course, _)) = (checked.raising().is_some(), checked.course());
        self.evidence.course = course;
        self.evidence.remember(&before, &self.world, &decision, risen);
        self.evidence.see(&self.world);
        count_reasons(&self.world, reached);
        reached.arrows.extend(arrows(&before.status, &self.world.status));
        self.world.written.clear();
        self.world.answered.clear();
        self.world.released.clear();
    }
}
