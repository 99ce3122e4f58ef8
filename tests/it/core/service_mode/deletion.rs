//! Scenario O: the end of a rollout that is deleted.

use cutover::api::{DeletionPolicy, PRIMARY, Phase};

use super::{NEW, OLD, ramp, split, until};

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
