//! How the copies begin, and how the routes are led to the primary.

use cutover::{
    api::{CANARY, PRIMARY, Phase, Reason, Verb},
    rollout::input::Accepted,
};

use super::{
    super::world::{World, Writes, keys, spec},
    OLD, ramp, shows, split, until,
};

#[test]
fn initialization_makes_both_copies_and_leads_the_routes_to_the_primary() {
    let world = ramp();
    assert_eq!((world.leads(PRIMARY), world.leads(CANARY)), (OLD, OLD));
    assert_eq!(world.written.iter().map(|(_, split)| split.weights.clone()).collect::<Vec<_>>(), [split(100, 0)]);
    assert_eq!(world.status.primary, Some(split(100, 0)));
}

#[test]
fn a_route_that_cannot_be_led_to_the_primary_is_reported_with_the_reason() {
    let mut world = World::new(spec("strategy: {ramp: {stepWeight: 20}}"), &[(PRIMARY, 100)]);
    let key = keys(&world.spec).remove(0);
    world.writes.insert(key, Writes::Refused);
    world.point(OLD).run_for(90);
    shows(&world, Phase::Initializing, Reason::Confirming);
    let message = &world.status.message;
    assert!(message.contains("change no Service before that: ") && message.contains("was refused"), "{message}");
}

/// Nobody may change a Service that a route still names: everybody would go with it.
#[test]
fn a_rollout_is_initialized_when_its_routes_name_the_primary() {
    let mut world = World::new(spec("strategy: {ramp: {stepWeight: 20}}"), &[(PRIMARY, 100)]);
    let key = world.routes.keys().next().unwrap().clone();
    world.writes.insert(key, Writes::NotAccepted);
    world.point(OLD).run_for(15);
    shows(&world, Phase::Initializing, Reason::Confirming);
    for route in world.routes.values_mut().flatten() {
        route.accepted = Accepted::Yes;
    }
    world.run_for(3);
    shows(&world, Phase::Initialized, Reason::AtTarget);
}

/// A Service that was just made may have no addresses yet.
#[test]
fn a_route_is_led_to_the_primary_when_the_data_plane_had_time_to_learn_of_it() {
    let mut world = World::new(spec("strategy: {ramp: {stepWeight: 20}}"), &[(PRIMARY, 100)]);
    world.unready_backends = true;
    world.point(OLD).run_for(2);
    let made = world.now;
    while world.written.is_empty() {
        assert!(world.now.duration_since(made).as_secs() < 60, "{}", world.status.message);
        world.run_for(1);
    }
    let waited = world.now.duration_since(made).as_secs();
    assert!((4..=8).contains(&waited), "{waited}");
    shows(&world, Phase::Initialized, Reason::AtTarget);
}

/// To adopt is to initialize again: a canary that has traffic was proven by nobody.
#[test]
fn routes_that_send_traffic_to_the_canary_are_not_adopted() {
    let mut world = ramp();
    world.edit(&[(PRIMARY, 80), (CANARY, 20)]).run_for(3);
    world.ask(Verb::Adopt).run_for(3);
    assert_eq!(world.status.primary, Some(split(100, 0)));
    let said = "the routes show canary:20 primary:80; bring them to Service shop or to its primary by hand, then cutover adopt";
    assert_eq!(world.answered.last().unwrap().2, said);
    world.edit(&[(PRIMARY, 100)]).ask(Verb::Adopt).run_for(3);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    world.point(super::NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
}
