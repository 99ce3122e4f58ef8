//! Service mode: a change of the users' own Services is proven on the canary and then copied to the primary.

use cutover::api::{
    CANARY, DeletionPolicy, Distribution, PRIMARY, Phase, Reason, Verb, request::RequestState, status::Outcome,
};
use cutover::rollout::input::Accepted;
use jiff::SignedDuration;

use super::world::{Crash, Metrics, World, Writes, keys, of, spec};

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
    world.written.iter().skip(services).map(|(_, weights)| weights.clone()).collect()
}

fn outcome(world: &World) -> Option<Outcome> {
    world.status.run.as_ref().and_then(|run| run.outcome)
}

/// What passed is recorded as what the primary shall be.
fn is_promoted(world: &World) -> bool {
    world.status.run.as_ref().is_some_and(|run| run.promoting_since.is_some())
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

#[test]
fn initialization_makes_both_copies_and_leads_the_routes_to_the_primary() {
    let world = ramp();
    assert_eq!((world.leads(PRIMARY), world.leads(CANARY)), (OLD, OLD));
    assert_eq!(world.written.iter().map(|(_, weights)| weights.clone()).collect::<Vec<_>>(), [split(100, 0)]);
    assert_eq!(world.status.primary, Some(split(100, 0)));
}

#[test]
fn a_route_that_cannot_be_led_to_the_primary_is_told_with_the_reason() {
    let mut world = World::new(spec("strategy: {ramp: {stepWeight: 20}}"), &[(PRIMARY, 100)]);
    let key = keys(&world.spec).remove(0);
    world.writes.insert(key, Writes::Refused);
    world.point(OLD).run_for(90);
    shows(&world, Phase::Initializing, Reason::Confirming);
    let message = &world.status.message;
    assert!(message.contains("change no Service before that: ") && message.contains("was refused"), "{message}");
}

/// Scenario 1.
#[test]
fn a_changed_service_goes_through_its_ramp_and_what_passed_becomes_the_primary() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Promoting);
    assert_eq!(written(&world), [split(80, 20), split(60, 40), split(40, 60), split(0, 100)]);
    until(&mut world, is_promoted);
    assert_eq!((world.leads(PRIMARY), world.leads(CANARY)), (OLD, NEW), "recorded first, then done");
    assert_eq!(world.live(), split(0, 100), "nobody is sent to a Service that changes");
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(written(&world).last(), Some(&split(100, 0)));
    assert_eq!((world.leads(PRIMARY), world.leads(CANARY)), (NEW, NEW));
    assert_eq!(outcome(&world), Some(Outcome::Succeeded));
    let before = world.status.clone();
    world.run_for(60);
    assert_eq!(world.status, before, "at rest nothing is written");
}

/// Scenario 3.
#[test]
fn step_weights_are_the_canarys_shares() {
    let mut world = with("{bake: 20s, ramp: {stepWeights: [1, 2, 10, 80]}}");
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    let primaries: Vec<u32> = written(&world).iter().map(|weights| weights[PRIMARY]).collect();
    assert_eq!(primaries, [99, 98, 90, 20, 0, 100]);
}

/// Scenario 7 and 27; a failed revision is not tried again by itself.
#[test]
fn a_failing_canary_goes_back_to_the_primary_and_stays_there() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(60, 40));
    world.metrics = Metrics::CanaryFails;
    until(&mut world, |world| world.status.phase == Phase::Failed);
    assert_eq!((world.live(), world.leads(PRIMARY)), (split(100, 0), OLD));
    world.metrics = Metrics::Good;
    world.run_for(120);
    shows(&world, Phase::Failed, Reason::ChecksFailed);
    world.ask(Verb::Retry);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(world.leads(PRIMARY), NEW);
}

/// Scenario U and A: the next revision after a failure is seen.
#[test]
fn another_revision_after_a_failed_one_is_a_new_attempt() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(80, 20));
    world.metrics = Metrics::CanaryBreaksGuard;
    until(&mut world, |world| world.status.phase == Phase::Failed);
    world.metrics = Metrics::Good;
    world.point(NEWER);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(world.leads(PRIMARY), NEWER);
}

/// Scenario 11.
#[test]
fn the_promoted_primary_gets_its_traffic_back_step_by_step() {
    let mut world = with("{bake: 20s, ramp: {stepWeights: [100], stepWeightPromotion: 50}}");
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(written(&world), [split(0, 100), split(50, 50), split(100, 0)]);
}

/// Scenario 13 and 41: the canary is not changed under its traffic; the new one starts from the primary.
#[test]
fn a_revision_that_changes_in_mid_run_restarts_from_the_primary() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(60, 40));
    world.point(NEWER);
    while world.live() != split(100, 0) {
        assert_eq!(world.leads(CANARY), NEW, "traffic still goes there");
        tick(&mut world);
    }
    until(&mut world, |world| world.live() == split(80, 20));
    assert_eq!((world.leads(PRIMARY), world.leads(CANARY)), (OLD, NEWER));
    assert!(world.status.history.iter().all(|run| run.outcome == Outcome::Superseded));
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(world.leads(PRIMARY), NEWER);
}

/// Scenario J.
#[test]
fn a_strategy_that_is_edited_in_mid_run_is_for_the_next_one() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(80, 20));
    world.spec.strategy.ramp = serde_json::from_str(r#"{"stepWeights": [5, 90]}"#).unwrap();
    world.generation += 1;
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(written(&world), [split(80, 20), split(60, 40), split(40, 60), split(0, 100), split(100, 0)]);
    world.point(NEWER);
    until(&mut world, |world| world.status.phase == Phase::Succeeded && world.leads(PRIMARY) == NEWER);
    assert_eq!(written(&world)[5..], [split(95, 5), split(10, 90), split(0, 100), split(100, 0)]);
}

/// Scenario C.
#[test]
fn the_old_services_declared_again_are_a_rollback_at_once() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(60, 40));
    world.point(OLD).pass();
    assert_eq!(world.live(), split(100, 0), "in the same pass");
    tick(&mut world);
    assert_eq!(outcome(&world), Some(Outcome::RolledBack));
    world.run_for(60);
    shows(&world, Phase::Initialized, Reason::AtTarget);
}

/// Scenario B: what was analysed is promoted, never a later version of it.
#[test]
fn a_change_while_the_primary_is_promoted_is_not_promoted_with_it() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, is_promoted);
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
    until(&mut world, is_promoted);
    world.down.insert(PRIMARY.to_owned());
    world.run_for(20);
    assert_eq!(world.live(), split(0, 100), "{:?}", world.status);
    shows(&world, Phase::Held, Reason::RollbackTargetUnavailable);
    world.down.clear();
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(world.live(), split(100, 0));
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

/// What passed dies while it is promoted: only an order to go elsewhere at once helps.
#[test]
fn the_old_services_without_analysis_end_a_promotion_that_cannot_go_on() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, is_promoted);
    world.down.extend([PRIMARY.to_owned(), CANARY.to_owned()]);
    world.run_for(30);
    world.point(OLD).run_for(30);
    assert_ne!(world.leads(PRIMARY), OLD, "a promotion copies what passed, and nothing else");
    world.spec.skip_analysis = true;
    world.down.clear();
    until(&mut world, |world| world.status.phase == Phase::Succeeded && world.leads(PRIMARY) == OLD);
    assert_eq!(world.live(), split(100, 0));
}

/// A data plane that learns of it later would refuse requests that are sent there at once.
#[test]
fn a_service_that_was_changed_gets_no_traffic_before_the_settle_is_over() {
    let mut world = ramp();
    world.point(NEW);
    for (slot, all_or_some) in [(CANARY, split(80, 20)), (PRIMARY, split(100, 0))] {
        until(&mut world, |world| world.leads(slot) == NEW);
        let changed = world.now;
        until(&mut world, |world| world.live() == all_or_some);
        // It is made in the pass after the one that decides, a second later.
        assert!(world.now.duration_since(changed) >= SignedDuration::from_secs(5 - 1), "{slot}");
    }
}

#[test]
fn a_run_can_be_aborted_until_the_primary_is_changed() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(0, 100));
    world.ask(Verb::Abort);
    until(&mut world, |world| world.status.phase == Phase::RolledBack);
    assert_eq!((world.live(), world.leads(PRIMARY)), (split(100, 0), OLD));
}

#[test]
fn nobody_aborts_what_has_passed() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, is_promoted);
    world.ask(Verb::Abort).pass();
    let (_, state, reason) = world.answered.last().unwrap();
    assert_eq!(*state, RequestState::Refused);
    assert!(reason.contains("declare the old Services again"), "{reason}");
}

#[test]
fn without_analysis_a_change_is_promoted_at_once() {
    let mut world = ramp();
    world.spec.skip_analysis = true;
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!((world.leads(PRIMARY), world.live()), (NEW, split(100, 0)));
    assert!(written(&world).iter().all(|weights| *weights == split(100, 0)), "the canary never had traffic");
}

#[test]
fn several_services_move_in_lockstep_and_one_that_is_gone_changes_nothing() {
    let services = "services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: a}}]}, \
                    {name: cart, port: 80, routes: [{gatewayAPI: {name: b}}]}]\n\
                    strategy: {bake: 20s, ramp: {stepWeight: 50}}";
    let mut world = World::new(spec(services), &[(PRIMARY, 100)]);
    world.point(OLD).run_for(10);
    world.point(NEW);
    until(&mut world, |world| world.live() == split(50, 50));
    assert!(world.routes.values().flatten().all(|route| route.weights == split(50, 50)));
    world.sources.remove("cart");
    until(&mut world, |world| world.status.phase == Phase::Held || world.status.phase == Phase::Succeeded);
    assert_eq!(outcome(&world), Some(Outcome::Succeeded), "the run goes on with what it began with");
}

#[test]
fn a_crash_at_any_action_of_a_run_changes_nothing_of_its_end() {
    for moment in 0..160 {
        let mut world = with("{bake: 12s, ramp: {stepWeights: [20, 50]}}");
        world.point(NEW);
        for passed in 0..160 {
            world.probe();
            world.pass_until(if passed == moment { Crash::AfterStatus } else { Crash::Never });
            world.pass_until(if passed == moment { Crash::AfterAction(0) } else { Crash::Never });
            world.after(1);
        }
        shows(&world, Phase::Succeeded, Reason::RunSucceeded);
        assert_eq!((world.leads(PRIMARY), world.live()), (NEW, split(100, 0)), "crash in pass {moment}");
        let rising: Vec<u32> =
            written(&world).iter().map(|weights| weights[CANARY]).take_while(|share| *share > 0).collect();
        assert!(rising.is_sorted(), "{rising:?}");
    }
}

/// Scenario O.
#[test]
fn deleted_in_mid_run_ends_on_the_primary_and_sends_nobody_after_the_unproven_service() {
    let mut world = ramp();
    world.spec.deletion_policy = DeletionPolicy::Revert;
    world.point(NEW);
    until(&mut world, |world| world.live() == split(80, 20));
    world.deleting = true;
    until(&mut world, |world| world.gone);
    assert_eq!((world.live(), world.leads(PRIMARY)), (split(100, 0), OLD));
    let policies: Vec<_> = world.released.iter().map(|(_, policy)| *policy).collect();
    assert_eq!(policies, [DeletionPolicy::Retain], "the route would lead to the Service, and so to {NEW}");
}

/// Scenario O.
#[test]
fn deleted_at_rest_gives_the_route_back_to_the_service_that_passed() {
    let mut world = ramp();
    world.spec.deletion_policy = DeletionPolicy::Revert;
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    world.deleting = true;
    until(&mut world, |world| world.gone);
    let policies: Vec<_> = world.released.iter().map(|(_, policy)| *policy).collect();
    assert_eq!(policies, [DeletionPolicy::Revert]);
}
