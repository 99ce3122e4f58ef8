//! Every move from every state along a run.

use std::collections::{HashSet, VecDeque};

use cutover::api::{Phase, Verb};

use super::{
    moves::{Move, moves},
    reached::Reached,
    state::State,
    worlds::SmallWorld,
};

/// States along a run in which nothing goes wrong: the search begins at each of them.
fn along_a_run(small: &'static SmallWorld, reached: &mut Reached) -> Vec<State> {
    let mut state = State::new(small, reached);
    let mut states = vec![state.clone()];
    for _ in 0..60 {
        let next =
            if state.world.status.phase == Phase::WaitingPromotion { Move::Ask(Verb::Promote) } else { Move::Wait(11) };
        state.make(next, reached);
        if states.last().is_none_or(|last| {
            last.world.status.reason != state.world.status.reason || last.world.live() != state.world.live()
        }) {
            state.backup = states.last().unwrap().world.status.clone();
            states.push(state.clone());
        }
    }
    assert_eq!(state.world.status.phase, Phase::Succeeded, "{:?}", state.world.status);
    states
}

pub fn explore(small: &'static SmallWorld, reached: &mut Reached, going_on: &dyn Fn() -> bool) {
    let mut seen = HashSet::new();
    let mut queue: VecDeque<(State, usize)> = along_a_run(small, reached).into_iter().map(|state| (state, 0)).collect();
    while let Some((state, far)) = queue.pop_front() {
        if !going_on() {
            return;
        }
        if !seen.insert(state.fingerprint()) {
            continue;
        }
        reached.states += 1;
        if far == small.depth {
            continue;
        }
        for what in moves(state.world.routes.len()) {
            let mut next = state.clone();
            next.make(what, reached);
            queue.push_back((next, far + 1));
        }
    }
}
