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

/// Passes for a minute, during which the primary has all traffic and leads where it did.
fn stays_for_a_minute(world: &mut World) {
    for _ in 0..60 {
        tick(world);
        assert_eq!((world.leads(PRIMARY), world.live()), (NEW, split(100, 0)), "{}", world.status.message);
    }
}

#[test]
fn adopt_takes_the_primary_as_it_is_and_never_changes_it_under_traffic() {
    let mut world = restored();
    world.ask(Verb::Adopt);
    stays_for_a_minute(&mut world);
    assert_eq!(world.status.promoted.as_ref().unwrap().services["shop"].external_name(), Some(NEW));
    shows(&world, Phase::Initialized, Reason::AtTarget);
}

#[test]
fn after_an_adoption_another_service_is_proven_before_it_becomes_the_primary() {
    let mut world = restored();
    world.point(OLD).ask(Verb::Adopt);
    tick(&mut world);
    while world.leads(PRIMARY) == NEW {
        assert!(world.elapsed < 1000, "{}", world.status.message);
        tick(&mut world);
    }
    assert_eq!((world.leads(PRIMARY), world.live()), (OLD, split(0, 100)), "it changes without traffic");
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
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
    assert!(
        reason
            .starts_with("the routes show canary:40 primary:60; bring them to Service shop or to its primary by hand"),
        "{reason}"
    );
    assert_eq!((world.leads(PRIMARY), world.live()), (OLD, split(60, 40)));
}
