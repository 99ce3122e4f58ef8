//! What goes first where the API server has too much to do.

use cutover::rollout::Urgency;

use super::world::{Metrics, World, Writes, spec};

const PLAIN: &str = "
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy: {bake: 1m, steps: [{progress: 25%}, {progress: 100%}]}
";

/// The urgency of every decision of so many seconds that records or does something, with the weight of the canary before
/// and after it.
fn decisions(world: &mut World, seconds: i64) -> Vec<(Urgency, u32, u32)> {
    let mut made = Vec::new();
    let desired =
        |world: &World| world.status.desired.as_ref().map_or(0, |desired| desired.split.weights.weight("eu-3"));
    for _ in 0..seconds {
        world.probe();
        for _ in 0..2 {
            let (before, weight) = (world.status.clone(), desired(world));
            let decision = world.pass();
            if decision.status != before || !decision.actions.is_empty() {
                made.push((decision.urgency(&before), weight, desired(world)));
            }
        }
        world.after(1);
    }
    made
}

#[test]
fn only_steps_that_raise_a_canary_are_advances_and_only_checks_that_pass_again_are_checks() {
    let mut world = World::new(spec(PLAIN), &[("eu-1", 100)]);
    let made = decisions(&mut world, 240);
    let advances: Vec<_> = made.iter().filter(|(urgency, ..)| *urgency == Urgency::Advance).collect();
    assert_eq!(advances, [&(Urgency::Advance, 0, 25), &(Urgency::Advance, 25, 100)]);
    let checks = made.iter().filter(|(urgency, ..)| *urgency == Urgency::Check).count();
    assert!((2..20).contains(&checks), "{made:?}");
    assert!(made.iter().all(|(urgency, ..)| *urgency != Urgency::Rollback), "{made:?}");
}

#[test]
fn whatever_belongs_to_a_rollback_is_a_rollback() {
    let mut world = World::new(spec(PLAIN), &[("eu-1", 100)]);
    decisions(&mut world, 15);
    world.metrics = Metrics::CanaryBreaksGuard;
    world.writes.insert(world.routes.keys().next().unwrap().clone(), Writes::Refused);
    let made = decisions(&mut world, 60);
    let first = made.iter().position(|(_, before, after)| after < before).expect("a rollback");
    assert_eq!(made[first], (Urgency::Rollback, 25, 0), "{made:?}");
    let last = made.iter().rposition(|(urgency, ..)| *urgency == Urgency::Rollback).unwrap();
    let between = &made[first..=last];
    assert!(between.len() > 1 && between.iter().all(|(urgency, ..)| *urgency == Urgency::Rollback), "{made:?}");
}

#[test]
fn a_check_that_fails_is_no_check_like_the_one_before() {
    let mut world = World::new(spec(PLAIN), &[("eu-1", 100)]);
    decisions(&mut world, 25);
    world.metrics = Metrics::CanaryFails;
    let made = decisions(&mut world, 12);
    assert!(!made.is_empty() && made.iter().all(|(urgency, ..)| *urgency != Urgency::Check), "{made:?}");
}
