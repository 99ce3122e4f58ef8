//! What passed becomes the primary.

use cutover::{
    api::{CANARY, PRIMARY, Phase, Reason, Verb, request::RequestState, status::Outcome},
    rollout::input::Accepted,
};

use super::{
    super::world::{World, Writes, spec},
    NEW, NEWER, OLD, ramp, shows, split, until, with, written,
};

/// Scenario 11.
#[test]
fn the_promoted_primary_gets_its_traffic_back_step_by_step() {
    let mut world = half_back();
    until(&mut world, |world| world.live() == split(0, 100));
    all_routes_write(&mut world, Writes::NotAccepted);
    until(&mut world, |world| world.live() == split(50, 50));
    assert_eq!((world.leads(PRIMARY), world.status.phase), (NEW, Phase::Promoting));
    world.run_for(30);
    assert_eq!(world.live(), split(50, 50), "no route has confirmed that yet");
    all_routes_write(&mut world, Writes::Confirmed);
    accept_all(&mut world);
    until(&mut world, |world| world.status.phase == Phase::Finalizing);
    assert_eq!(world.status.desired.as_ref().unwrap().split.weights, split(100, 0));
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(written(&world), [split(0, 100), split(50, 50), split(100, 0)]);
}

/// All traffic goes to the canary at once, and back in halves.
fn half_back() -> World {
    let mut world = with("{bake: 20s, ramp: {stepWeights: [100], stepWeightPromotion: 50}}");
    world.point(NEW);
    world
}

fn all_routes_write(world: &mut World, writes: Writes) {
    let routes: Vec<_> = world.routes.keys().cloned().collect();
    world.writes.extend(routes.into_iter().map(|route| (route, writes)));
}

fn accept_all(world: &mut World) {
    world.routes.values_mut().flatten().for_each(|route| route.accepted = Accepted::Yes);
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

/// Scenario 9, once the primary has some traffic again: all of it goes to the canary.
#[test]
fn a_primary_that_dies_with_half_of_the_traffic_gives_it_to_the_canary() {
    let mut world = half_back();
    until(&mut world, |world| world.live() == split(50, 50));
    world.down.insert(PRIMARY.to_owned());
    world.run_for(20);
    assert_eq!(world.live(), split(0, 100), "{:?}", world.status);
    shows(&world, Phase::Held, Reason::RollbackTargetUnavailable);
    world.down.clear();
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(world.live(), split(100, 0));
}

/// Scenario 9, at its very end: primary and canary are one and the same by now, so nothing is gained by going back.
#[test]
fn a_primary_that_dies_with_all_of_the_traffic_is_no_success() {
    let mut world = half_back();
    until(&mut world, |world| world.live() == split(50, 50));
    all_routes_write(&mut world, Writes::NotAccepted);
    until(&mut world, |world| world.live() == split(100, 0));
    world.down.insert(PRIMARY.to_owned());
    world.run_for(20);
    accept_all(&mut world);
    world.run_for(60);
    assert_eq!((world.live(), world.status.history.len()), (split(100, 0), 0));
    shows(&world, Phase::Held, Reason::MemberNotReady);
}

/// Scenario U: what is declared meanwhile comes after what passed.
#[test]
fn a_change_while_a_promotion_is_held_waits_for_it() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, World::is_promoting);
    world.down.insert(PRIMARY.to_owned());
    world.point(NEWER).run_for(60);
    assert_eq!(world.live(), split(0, 100), "{:?}", world.status);
    assert_ne!(world.leads(PRIMARY), NEWER);
    world.down.clear();
    until(&mut world, |world| world.live() == split(80, 20));
    assert_eq!(world.status.history[0].outcome, Outcome::Succeeded);
    assert_eq!((world.leads(PRIMARY), world.leads(CANARY)), (NEW, NEWER));
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
    assert_eq!(world.status.history[0].outcome, Outcome::Superseded, "the promotion that could not go on");
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

/// The run is over when every route shows the primary, not when that was written.
#[test]
fn a_promotion_is_finalizing_until_every_route_confirms_the_primary() {
    let routes = "services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: a}}, {gatewayAPI: {name: b}}]}]";
    let strategy = "strategy: {bake: 20s, ramp: {stepWeights: [100], stepWeightPromotion: 50}}";
    let mut world = World::new(spec(&format!("{routes}\n{strategy}")), &[(PRIMARY, 100)]);
    world.point(OLD).run_for(10).point(NEW);
    until(&mut world, |world| world.live() == split(50, 50));
    assert_eq!(world.status.phase, Phase::Promoting);
    let last = world.routes.keys().next_back().cloned().unwrap();
    world.writes.insert(last, Writes::NotAccepted);
    until(&mut world, |world| world.routes.values().flatten().all(|route| route.split.weights == split(100, 0)));
    world.run_for(20);
    shows(&world, Phase::Finalizing, Reason::Confirming);
    assert!(world.status.history.is_empty());
    accept_all(&mut world);
    world.run_for(2);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}
