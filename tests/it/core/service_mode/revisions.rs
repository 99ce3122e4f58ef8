//! Another change before the one under way has ended, or after it.

use cutover::api::{CANARY, PRIMARY, Phase, Reason, status::Outcome};

use super::{
    super::world::{Crash, Metrics},
    NEW, NEWER, OLD, ramp, shows, split, tick, until,
};

/// Scenario U and A: the next revision after a failure is seen.
#[test]
fn another_revision_after_a_failed_one_is_a_new_attempt() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(80, 20));
    world.metrics = Metrics::CanaryBreaksGuard;
    until(&mut world, |world| world.status.phase == Phase::Failed);
    world.metrics = Metrics::Good;
    world.point(NEWER).unlisted = true;
    world.pass();
    world.unlisted = false;
    world.pass_until(Crash::AfterStatus);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(world.leads(PRIMARY), NEWER);
}

/// Scenario 41: what passed last is no attempt; what failed is one again after it.
#[test]
fn a_failed_revision_declared_again_after_the_one_that_passed_is_a_new_attempt() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(80, 20));
    world.metrics = Metrics::CanaryBreaksGuard;
    until(&mut world, |world| world.status.phase == Phase::Failed);
    world.metrics = Metrics::Good;
    let runs = world.status.last_run();
    world.point(OLD).run_for(60);
    assert_eq!((world.status.reason, world.status.last_run()), (Reason::AtTarget, runs), "{}", world.status.message);
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!((world.leads(PRIMARY), world.status.last_run()), (NEW, runs + 1));
}

/// Scenario D: the services themselves are part of the revision.
#[test]
fn a_service_that_is_declared_otherwise_in_mid_run_restarts_from_the_primary() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(60, 40));
    world.spec.services[0].port = 81;
    world.generation += 1;
    until(&mut world, |world| world.live() == split(100, 0));
    until(&mut world, |world| world.live() == split(80, 20));
    assert!(world.status.history.iter().all(|run| run.outcome == Outcome::Superseded));
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

/// Scenario C.
#[test]
fn the_old_services_declared_again_are_a_rollback_at_once() {
    let mut world = ramp();
    world.point(NEW);
    until(&mut world, |world| world.live() == split(60, 40));
    world.point(OLD).pass();
    assert_eq!(world.live(), split(100, 0), "in the same pass");
    tick(&mut world);
    assert_eq!(world.outcome(), Some(Outcome::RolledBack));
    world.run_for(60);
    shows(&world, Phase::Initialized, Reason::AtTarget);
}
