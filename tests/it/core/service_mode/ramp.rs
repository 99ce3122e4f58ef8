//! The way of a change that passes or fails.

use cutover::api::{
    CANARY, PRIMARY, Phase, Reason, Verb,
    status::{Outcome, Verdict},
};
use jiff::SignedDuration;

use super::{
    super::world::{Crash, Metrics, World, spec},
    NEW, NEWER, OLD, ramp, shows, split, until, with, written,
};

/// Scenario 1.
#[test]
fn a_changed_service_goes_through_its_ramp_and_what_passed_becomes_the_primary() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Promoting);
    assert_eq!(written(&world), [split(80, 20), split(60, 40), split(40, 60), split(0, 100)]);
    until(&mut world, World::is_promoting);
    assert_eq!((world.leads(PRIMARY), world.leads(CANARY)), (OLD, NEW), "recorded first, then done");
    assert_eq!(world.live(), split(0, 100), "nobody is sent to a Service that changes");
    assert_eq!(world.status.phase, Phase::Promoting);
    until(&mut world, |world| world.status.phase == Phase::Finalizing);
    assert_eq!(world.status.desired.as_ref().unwrap().split.weights, split(100, 0));
    assert_eq!(world.leads(PRIMARY), NEW, "the primary is what passed before it gets its traffic back");
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(written(&world).last(), Some(&split(100, 0)));
    assert_eq!((world.leads(PRIMARY), world.leads(CANARY)), (NEW, NEW));
    assert_eq!(world.outcome(), Some(Outcome::Succeeded));
    let before = world.status.clone();
    world.run_for(60);
    assert_eq!(world.status, before, "at rest nothing is written");
}

#[test]
fn without_metrics_the_canary_is_promoted_by_time_alone() {
    let strategy = "strategy: {bake: 20s, ramp: {stepWeights: [20, 60, 120]}}\nanalysis: {metrics: []}";
    let mut world = World::new(spec(strategy), &[(PRIMARY, 100)]);
    world.point(OLD).run_for(10);
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(written(&world), [split(80, 20), split(40, 60), split(0, 100), split(100, 0)]);
    assert_eq!(world.leads(PRIMARY), NEW);
    assert!(world.status.transitions.iter().all(|transition| !transition.message.contains("pass")));
}

/// Scenario 3.
#[test]
fn step_weights_are_the_canarys_shares() {
    let mut world = with("{bake: 20s, ramp: {stepWeights: [1, 2, 10, 80]}}");
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    let primaries: Vec<u32> = written(&world).iter().map(|weights| weights.weight(PRIMARY)).collect();
    assert_eq!(primaries, [99, 98, 90, 20, 0, 100]);
}

/// Scenario 7 and 27; a failed revision is not tried again by itself.
#[test]
fn a_failing_canary_goes_back_to_the_primary_and_stays_there() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(60, 40));
    world.metrics = Metrics::CanaryFails;
    let fails = |world: &World| {
        world.live_run().and_then(|run| run.check.as_ref()).is_some_and(|check| check.verdict == Verdict::Fail)
    };
    until(&mut world, fails);
    assert_eq!((world.live(), world.is_rolling_back()), (split(60, 40), false), "two failures are the limit");
    until(&mut world, |world| world.status.phase == Phase::Failed);
    assert_eq!((world.live(), world.leads(PRIMARY)), (split(100, 0), OLD));
    assert_eq!(written(&world), [split(80, 20), split(60, 40), split(100, 0)], "at once");
    world.metrics = Metrics::Good;
    world.run_for(120);
    shows(&world, Phase::Failed, Reason::ChecksFailed);
    world.ask(Verb::Retry);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(world.leads(PRIMARY), NEW);
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
    assert!(world.routes.values().flatten().all(|route| route.split.weights == split(50, 50)));
    world.deleted.insert("cart".to_owned());
    until(&mut world, |world| !world.status.history.is_empty());
    assert_eq!(world.outcome(), Some(Outcome::Succeeded), "the run goes on with what it began with");
    let primary_of = |service: &str| world.copies[&(service.to_owned(), PRIMARY.to_owned())].external_name();
    assert_eq!((primary_of("shop"), primary_of("cart")), (Some(NEW), Some(NEW)));
    let written = world.written.len();
    world.point(NEWER).run_for(60);
    shows(&world, Phase::Held, Reason::ServiceNotFound);
    assert_eq!(world.written.len(), written, "one without the other is no target");
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
            written(&world).iter().map(|weights| weights.weight(CANARY)).take_while(|share| *share > 0).collect();
        assert!(rising.is_sorted(), "{rising:?}");
    }
}
