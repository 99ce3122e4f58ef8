//! Scenario O: the end of a rollout that is deleted.

use cutover::api::{DeletionPolicy, PRIMARY, Phase};

use super::{super::world::Metrics, NEW, OLD, ramp, split, tick, until};

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

/// Scenario O, at every moment of a run: the route stays on the primary, and is given back to the user's Service only where that
/// is what passed.
#[test]
fn deleted_at_any_moment_nobody_is_sent_after_what_did_not_pass() {
    for moment in 0..160 {
        let mut world = ramp();
        world.spec.deletion_policy = DeletionPolicy::Revert;
        world.point(NEW);
        (0..moment).for_each(|_| tick(&mut world));
        world.deleting = true;
        until(&mut world, |world| world.gone);
        assert_eq!(world.live(), split(100, 0), "{moment}");
        let passed = world.status.promoted.as_ref().and_then(|promoted| promoted.services["shop"].external_name());
        let expected = if passed == Some(NEW) { DeletionPolicy::Revert } else { DeletionPolicy::Retain };
        assert!(world.released.iter().all(|(_, policy)| *policy == expected), "{moment}: {:?}", world.released);
    }
}

/// Scenario O: the user's own Service leads to what failed.
#[test]
fn deleted_after_a_failure_the_route_stays_on_the_primary() {
    let mut world = ramp();
    world.spec.deletion_policy = DeletionPolicy::Revert;
    world.point(NEW);
    until(&mut world, |world| world.live() == split(80, 20));
    world.metrics = Metrics::CanaryBreaksGuard;
    until(&mut world, |world| world.status.phase == Phase::Failed);
    world.deleting = true;
    until(&mut world, |world| world.gone);
    let policies: Vec<_> = world.released.iter().map(|(_, policy)| *policy).collect();
    assert_eq!((world.live(), policies), (split(100, 0), vec![DeletionPolicy::Retain]));
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
