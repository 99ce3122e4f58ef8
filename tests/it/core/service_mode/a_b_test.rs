//! Requests that match are proven on the canary, and then the primary is changed under its traffic.

use cutover::api::{CANARY, PRIMARY, Phase, Reason, Verb, status::Outcome};

use super::{
    super::world::{Crash, Metrics, World, of},
    NEW, OLD, shows, split, until, with, written,
};

fn a_b_test() -> World {
    with("{bake: 20s, ramp: {iterations: 3, matches: [{headers: [{name: x-test, exact: a}]}]}}")
}

fn is_matching(world: &World) -> bool {
    world.routes.values().flatten().all(|route| route.split.steering.is_some())
}

#[test]
fn an_a_b_test_promotes_without_sending_everybody_to_the_canary() {
    let mut world = a_b_test();
    world.point(NEW);
    until(&mut world, is_matching);
    assert_eq!((world.live(), world.leads(PRIMARY)), (split(100, 0), OLD));
    assert_eq!(world.written_lines().last().unwrap(), "canary 0 primary 100, header x-test: a");
    let (_, wanted) = world.written.last().unwrap();
    assert_eq!(wanted.matched().unwrap().weights.nonzero(), of(&[(CANARY, 100)]));
    until(&mut world, |world| world.leads(PRIMARY) == NEW);
    assert!(is_matching(&world), "until the primary is what passed, its testers stay on the canary");
    until(&mut world, |world| world.status.phase == Phase::Finalizing);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert!(!is_matching(&world) && world.outcome() == Some(Outcome::Succeeded));
    assert!(written(&world).iter().all(|weights| *weights == split(100, 0)), "{:?}", written(&world));
}

#[test]
fn an_a_b_test_that_fails_leaves_the_primary_as_it_is() {
    let mut world = a_b_test();
    world.point(NEW);
    until(&mut world, is_matching);
    world.metrics = Metrics::CanaryFails;
    until(&mut world, |world| world.status.phase == Phase::Failed);
    assert!(!is_matching(&world));
    assert_eq!((world.live(), world.leads(PRIMARY)), (split(100, 0), OLD));
}

#[test]
fn a_canary_that_does_not_serve_when_its_test_is_over_is_not_copied() {
    let mut world = a_b_test();
    world.point(NEW);
    until(&mut world, is_matching);
    world.down.insert("canary".to_owned());
    world.run_for(60);
    shows(&world, Phase::Failed, Reason::EndpointDown);
    assert_eq!(world.leads(PRIMARY), OLD);
}

#[test]
fn a_crash_in_an_a_b_test_changes_nothing_of_its_end() {
    for moment in 0..90 {
        let mut world = a_b_test();
        world.point(NEW);
        for passed in 0..120 {
            world.probe();
            world.pass_until(if passed == moment { Crash::AfterStatus } else { Crash::Never });
            world.pass_until(if passed == moment { Crash::AfterAction(0) } else { Crash::Never });
            world.after(1);
        }
        shows(&world, Phase::Succeeded, Reason::RunSucceeded);
        assert_eq!((world.leads(PRIMARY), world.live()), (NEW, split(100, 0)), "crash in pass {moment}");
        assert!(!is_matching(&world));
    }
}

#[test]
fn an_a_b_test_is_aborted_before_its_end() {
    let mut world = a_b_test();
    world.point(NEW);
    until(&mut world, is_matching);
    world.ask(Verb::Abort);
    until(&mut world, |world| world.status.phase == Phase::RolledBack);
    assert_eq!((world.leads(PRIMARY), is_matching(&world)), (OLD, false));
}
