//! Long seeded walks, which end well when every fault ends.

use cutover::{
    api::{Phase, Verb},
    rollout::input::Accepted,
};

use super::{
    super::world::Metrics,
    moves::{Edit, Move, moves},
    reached::Reached,
    state::State,
    worlds::SmallWorld,
};

/// A generator of its own, so that a seed means the same walk for ever (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// Time passes and repairs happen more often than mishaps, so that walks get far.
pub fn walk(small: &'static SmallWorld, seed: u64, length: usize, reached: &mut Reached) {
    let mut dice = Dice(seed);
    let mut state = State::new(small, reached);
    let all = moves(state.world.routes.len());
    for _ in 0..length {
        let what = match dice.below(10) {
            0..=4 => Move::Wait([1, 11, 11, 61][dice.below(4)]),
            5 => Move::Metrics(Metrics::Good),
            6 => Move::Ask([Verb::Promote, Verb::Retry, Verb::Resume][dice.below(3)]),
            7 if dice.below(3) == 0 => Move::Edit(Edit::Up),
            _ => all[dice.below(all.len())],
        };
        if what == Move::Delete && dice.below(20) > 0 {
            continue;
        }
        state.make(what, reached);
        if dice.below(8) == 0 {
            state.backup = state.world.status.clone();
        }
        reached.states += 1;
    }
    ends_well(state, seed);
}

/// When every fault ends and people do what the rollout waits for, the rollout comes to rest and stays there.
fn ends_well(mut state: State, seed: u64) {
    end_every_fault(&mut state);
    let (small, world) = (state.small, &mut state.world);
    for _ in 0..8 {
        if !matches!(world.status.phase, Phase::Progressing | Phase::Promoting | Phase::Finalizing | Phase::Soaking) {
            // Nothing can be adopted from routes that differ, nor in service mode while the canary has traffic; a person
            // brings them to one distribution first.
            let first = small.meant(world.live());
            world.routes.values_mut().flatten().for_each(|route| route.split.weights = first.clone());
        }
        for verb in [Verb::Adopt, Verb::Resume, Verb::Retry, Verb::Promote] {
            world.ask(verb).run_for(2);
        }
        world.run_for(90);
    }
    let (name, phase) = (small.name, world.status.phase);
    let rests =
        matches!(phase, Phase::Succeeded | Phase::Initialized | Phase::Failed | Phase::RolledBack) || world.gone;
    assert!(rests, "seed {seed}: {phase:?} {} {} ({name})", world.status.reason, world.status.message);
    if let Some(desired) = world.status.desired.as_ref().filter(|_| !world.gone) {
        assert!(desired.split.weights.same_as(world.status.primary.as_ref().unwrap()), "seed {seed} of {name}");
        assert!(
            world.routes.values().flatten().all(|route| route.split.same_as(&desired.split)),
            "seed {seed} of {name}"
        );
    }
}

fn end_every_fault(state: &mut State) {
    let world = &mut state.world;
    (world.metrics, world.refuse_rehearsals, world.unready_backends, world.invalid) =
        (Metrics::Good, false, false, false);
    (world.spec.paused, world.spec.suspend) = (false, false);
    world.down.clear();
    world.writes.clear();
    let missing: Vec<_> =
        world.routes.iter().filter(|(_, route)| route.is_none()).map(|(key, _)| key.clone()).collect();
    for key in missing {
        world.apply_anew(&key, state.small.first_weights());
    }
    for route in world.routes.values_mut().flatten() {
        route.accepted = Accepted::Yes;
    }
}
