//! What the search came by: moves, reasons, states.

use std::collections::{BTreeMap, BTreeSet};

use cutover::api::Reason;

use super::{
    super::{states::Arrow, world::World},
    moves::Move,
};

#[derive(Debug, Default)]
pub struct Reached {
    pub moves: BTreeMap<Move, usize>,
    pub reasons: BTreeMap<Reason, usize>,
    pub states: usize,
    /// The changes of state that were made.
    pub arrows: BTreeSet<Arrow>,
}

impl Reached {
    pub fn add(&mut self, other: &Self) {
        self.states += other.states;
        self.arrows.extend(&other.arrows);
        other.moves.iter().for_each(|(what, times)| *self.moves.entry(*what).or_default() += times);
        other.reasons.iter().for_each(|(reason, times)| *self.reasons.entry(*reason).or_default() += times);
    }
}

/// Reasons in the status, of the run and in every announcement.
pub fn count_reasons(world: &World, reached: &mut Reached) {
    let status = &world.status;
    let run = world.live_run();
    let stops = run.iter().flat_map(|run| run.pause.iter().chain(&run.hold)).map(|stop| stop.reason);
    let judged = run
        .iter()
        .filter_map(|run| run.check.as_ref())
        .flat_map(|check| check.metrics.iter().map(|metric| metric.reason).chain([check.reason]));
    let announced = status.transitions.iter().map(|transition| transition.reason);
    for reason in stops.chain(judged).chain(announced).chain([status.reason]) {
        *reached.reasons.entry(reason).or_default() += 1;
    }
}
