//! How many failed checks an imported rollout takes, and what happens when its promotion fails.

use cutover::api::{CANARY, PRIMARY, Phase, Reason};

use super::run::{Imported, until};
use crate::core::world::{Metrics, World};

/// A threshold of 4.
fn at_first_weight() -> World {
    let imported = Imported::of("contour-steps", "orders");
    assert_eq!(imported.canary["spec"]["analysis"]["threshold"], 4);
    let mut world = imported.world();
    until(&mut world, |world| world.live().weight(CANARY) == 15);
    world
}

/// Failed and passed checks of the metric that was judged last.
fn recent(world: &World) -> String {
    world.check().map(|check| check.metrics[0].recent.clone()).unwrap_or_default()
}

#[test]
fn the_failed_check_that_reaches_the_threshold_rolls_back_at_once() {
    let mut world = at_first_weight();
    world.metrics = Metrics::CanaryFails;
    until(&mut world, |world| recent(world) == "FFF");
    assert_eq!((world.live().weight(CANARY), world.is_rolling_back()), (15, false), "three are not enough");
    until(&mut world, |world| recent(world) == "FFFF");
    assert_eq!((world.live().weight(CANARY), world.live().weight(PRIMARY)), (0, 100));
    until(&mut world, |world| world.status.phase == Phase::Failed);
    assert_eq!(world.status.reason, Reason::ChecksFailed);
}

#[test]
fn failed_checks_count_over_the_whole_run_however_many_pass_between_them() {
    let mut world = at_first_weight();
    for failed in 1..=3 {
        world.metrics = Metrics::CanaryFails;
        until(&mut world, |world| recent(world).matches('F').count() == failed);
        world.metrics = Metrics::Good;
        let weight = world.live().weight(CANARY);
        until(&mut world, |world| world.live().weight(CANARY) > weight);
    }
    assert!(world.live().weight(CANARY) == 60 && !world.is_rolling_back(), "{}", recent(&world));
    world.metrics = Metrics::CanaryFails;
    until(&mut world, |world| world.status.phase == Phase::Failed);
    assert_eq!(recent(&world).matches('F').count(), 4, "{}", recent(&world));
}

#[test]
fn a_threshold_of_one_takes_no_failed_check() {
    let mut world = Imported::of("odd-values", "rounded").world();
    until(&mut world, |world| world.live().weight(CANARY) == 40);
    world.metrics = Metrics::CanaryFails;
    until(&mut world, |world| recent(world) == "F");
    until(&mut world, |world| world.status.phase == Phase::Failed);
    assert_eq!((recent(&world).as_str(), world.live().weight(CANARY)), ("F", 0));
}

#[test]
fn a_failed_check_lets_the_iterations_begin_again() {
    let mut world = Imported::of("contour-a-b", "orders").world();
    until(&mut world, |world| world.live_run().is_some_and(|run| run.bake().passes == 5));
    world.metrics = Metrics::CanaryFails;
    until(&mut world, |world| recent(world).ends_with('F'));
    assert_eq!(world.run().bake().passes, 0);
    world.metrics = Metrics::Good;
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
}

#[test]
fn what_is_not_measured_holds_the_weight_and_rolls_nothing_back() {
    let mut world = at_first_weight();
    world.metrics = Metrics::CanarySilent;
    for _ in 0..3600 / 5 {
        world.probe();
        world.pass();
        world.after(5);
    }
    assert_eq!((world.status.phase, world.live().weight(CANARY)), (Phase::Held, 15));
}

/// Flagger ends as Failed with everybody on the canary; here they stay there too, and the run goes on when the primary answers.
#[test]
fn a_promoted_primary_that_does_not_answer_leaves_everybody_on_the_canary() {
    let mut world = at_first_weight();
    until(&mut world, World::is_promoting);
    world.down.insert(PRIMARY.to_owned());
    until(&mut world, |world| world.status.phase == Phase::Held);
    assert_eq!(world.live().weight(CANARY), 100);
    world.down.clear();
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(world.live().weight(PRIMARY), 100);
}
