//! A status that does not know what the primary is.

use cutover::api::{PRIMARY, Phase, Reason, Verb, request::RequestState};

use super::{NEW, OLD, ramp, shows, split, tick, until};
use crate::core::world::World;

/// The primary is the new cluster, and the status is one from before that.
fn restored() -> World {
    let mut world = ramp();
    let old = world.status.clone();
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    world.status = old;
    world.restart().run_for(5);
    shows(&world, Phase::Held, Reason::StatusBehindRoute);
    world
}

/// Passes as long as the primary has traffic, during which it leads where it did.
fn run_until(world: &mut World, phase: Phase) {
    for _ in 0..600 {
        if world.live().weight(PRIMARY) > 0 && world.live() == split(100, 0) {
            assert_eq!(world.leads(PRIMARY), NEW, "{}", world.status.message);
        }
        if world.status.phase == phase {
            return;
        }
        tick(world);
    }
    panic!("{:?}", world.status);
}

#[test]
fn adopt_takes_the_primary_as_it_is_and_never_changes_it_under_traffic() {
    let mut world = restored();
    world.ask(Verb::Adopt);
    tick(&mut world);
    run_until(&mut world, Phase::Initialized);
    assert_eq!(world.status.promoted.as_ref().unwrap().services["shop"].external_name(), Some(NEW));
    world.run_for(60);
    assert_eq!((world.leads(PRIMARY), world.live()), (NEW, split(100, 0)));
}

#[test]
fn after_an_adoption_another_service_is_proven_before_it_becomes_the_primary() {
    let mut world = restored();
    world.point(OLD).ask(Verb::Adopt);
    tick(&mut world);
    let mut shares = Vec::new();
    until(&mut world, |world| world.live() == split(80, 20));
    while world.status.phase != Phase::Succeeded {
        if world.live().weight(PRIMARY) == 100 && shares.last() != Some(&100) && shares.is_empty() {
            assert_eq!(world.leads(PRIMARY), NEW);
        }
        shares.push(world.live().weight(PRIMARY));
        tick(&mut world);
    }
    shares.dedup();
    assert!(shares.contains(&0), "the primary changes without traffic: {shares:?}");
    assert_eq!(world.leads(PRIMARY), OLD);
}

#[test]
fn with_traffic_on_the_canary_nothing_is_adopted() {
    let mut world = ramp();
    let old = world.status.clone();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(60, 40));
    world.status = old;
    world.restart().run_for(5);
    world.ask(Verb::Adopt).run_for(5);
    let (_, state, reason) = world.answered.last().unwrap();
    assert_eq!(*state, RequestState::Refused);
    assert!(reason.starts_with("the routes show canary:40 primary:60: bring them to the primary by hand"), "{reason}");
    assert_eq!((world.leads(PRIMARY), world.live()), (OLD, split(60, 40)));
}
