//! Each rule of the machine, as a scenario and what happened.

mod alerts;
mod approvals;
mod checks;
mod consent;
mod deletion;
mod edges;
mod edits;
mod endpoints;
mod hooks;
mod initialization;
mod marks;
mod requests;
mod rest;
mod soak;
mod steps;
mod takeover;
mod targets;
mod tracking;
mod writes;

use cutover::api::{Phase, Reason, request::RequestState};

use super::world::{World, of, spec};

/// eu-1 -> eu-3 through 25 % and 50 %; interval 10 s, settle 5 s, bake 20 s.
const PLAIN: &str = "
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy: {bake: 20s, steps: [{progress: 25%}, {progress: 50%}, {progress: 100%}]}
";

fn plain() -> World {
    World::new(spec(PLAIN), &[("eu-1", 100)])
}

/// At 25 %, confirmed.
fn at_first_step() -> World {
    let mut world = plain();
    world.run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "{:?}", world.status);
    world
}

fn with_strategy(strategy: &str) -> World {
    World::new(
        spec(&format!("members: [{{name: eu-1, weight: 0}}, {{name: eu-3, weight: 100}}]\nstrategy: {strategy}")),
        &[("eu-1", 100)],
    )
}

fn shows(world: &World, phase: Phase, reason: Reason) {
    let status = &world.status;
    assert_eq!((status.phase, status.reason), (phase, reason), "{}", status.message);
}

fn answer(world: &World) -> (RequestState, &str) {
    let (_, state, reason) = world.answered.last().expect("an answer");
    (*state, reason)
}
