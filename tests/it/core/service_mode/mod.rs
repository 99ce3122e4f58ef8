//! Service mode: a change of the users' own Services is proven on the canary and then copied to the primary.

mod a_b_test;
mod adoption;
mod deletion;
mod initialization;
mod promotion;
mod ramp;
mod revisions;
mod serving;
mod skip;
mod tracking;

use cutover::api::{CANARY, Distribution, PRIMARY, Phase, Reason};

use super::world::{World, of, spec};

const OLD: &str = "eu-1.example.com";
const NEW: &str = "eu-3.example.com";
const NEWER: &str = "eu-4.example.com";

fn split(primary: u32, canary: u32) -> Distribution {
    of(&[(PRIMARY, primary), (CANARY, canary)])
}

/// The Services lead to the old cluster, and the hub has seen that.
fn with(strategy: &str) -> World {
    let mut world = World::new(spec(&format!("strategy: {strategy}")), &[(PRIMARY, 100)]);
    world.point(OLD).run_for(10);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    world
}

fn ramp() -> World {
    with("{bake: 20s, ramp: {stepWeight: 20, maxWeight: 50}}")
}

fn shows(world: &World, phase: Phase, reason: Reason) {
    let status = &world.status;
    assert_eq!((status.phase, status.reason), (phase, reason), "{}", status.message);
}

/// What was written after the routes had been led to the primary.
fn written(world: &World) -> Vec<Distribution> {
    let services = world.spec.services.len();
    world.written.iter().skip(services).map(|(_, split)| split.weights.clone()).collect()
}

/// One round of probes and one pass, a second apart from the next.
fn tick(world: &mut World) {
    world.probe();
    world.pass();
    world.after(1);
}

/// Until this holds, at most ten minutes.
fn until(world: &mut World, what: impl Fn(&World) -> bool) {
    for _ in 0..600 {
        if what(world) {
            break;
        }
        tick(world);
    }
    assert!(what(world), "it never came to that: {:?}", world.status);
}
