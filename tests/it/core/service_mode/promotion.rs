//! What passed becomes the primary.

use cutover::api::{CANARY, PRIMARY, Phase, Reason, Verb, request::RequestState, status::Outcome};

use super::{super::world::World, NEW, NEWER, OLD, ramp, shows, split, until, with, written};

/// Scenario 11.
#[test]
fn the_promoted_primary_gets_its_traffic_back_step_by_step() {
    let mut world = with("{bake: 20s, ramp: {stepWeights: [100], stepWeightPromotion: 50}}");
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(written(&world), [split(0, 100), split(50, 50), split(100, 0)]);
}

/// Scenario B: what was analysed is promoted, never a later version of it.
#[test]
fn a_change_while_the_primary_is_promoted_is_not_promoted_with_it() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, World::is_promoting);
    world.point(NEWER);
    until(&mut world, |world| !world.status.history.is_empty());
    assert_eq!((world.status.history[0].outcome, world.leads(PRIMARY)), (Outcome::Succeeded, NEW));
    until(&mut world, |world| world.live() == split(80, 20));
    assert_eq!((world.leads(PRIMARY), world.leads(CANARY)), (NEW, NEWER));
}

/// Scenario 9: while the primary does not serve, the traffic stays where it is healthy.
#[test]
fn a_primary_that_dies_while_it_is_promoted_leaves_the_traffic_on_the_canary() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, World::is_promoting);
    world.down.insert(PRIMARY.to_owned());
    world.run_for(20);
    assert_eq!(world.live(), split(0, 100), "{:?}", world.status);
    shows(&world, Phase::Held, Reason::RollbackTargetUnavailable);
    world.down.clear();
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(world.live(), split(100, 0));
}

/// What passed dies while it is promoted: only an order to go elsewhere at once helps.
#[test]
fn the_old_services_without_analysis_end_a_promotion_that_cannot_go_on() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, World::is_promoting);
    world.down.extend([PRIMARY.to_owned(), CANARY.to_owned()]);
    world.run_for(30);
    world.point(OLD).run_for(30);
    assert_ne!(world.leads(PRIMARY), OLD, "a promotion copies what passed, and nothing else");
    world.spec.skip_analysis = true;
    world.down.clear();
    until(&mut world, |world| world.status.phase == Phase::Succeeded && world.leads(PRIMARY) == OLD);
    assert_eq!(world.live(), split(100, 0));
}

#[test]
fn a_run_can_be_aborted_until_the_primary_is_changed() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(0, 100));
    assert_eq!(world.status.phase, Phase::Promoting, "the primary has nothing, so that it can be changed");
    world.ask(Verb::Abort);
    until(&mut world, |world| world.status.phase == Phase::RolledBack);
    assert_eq!((world.live(), world.leads(PRIMARY)), (split(100, 0), OLD));
}

#[test]
fn nobody_aborts_what_has_passed() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, World::is_promoting);
    world.ask(Verb::Abort).pass();
    let (_, state, reason) = world.answered.last().unwrap();
    assert_eq!(*state, RequestState::Refused);
    assert!(reason.contains("declare the old Services again"), "{reason}");
}
