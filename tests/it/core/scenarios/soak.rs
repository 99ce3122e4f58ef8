//! The soak after the last step.

use cutover::api::{Phase, Reason, Verb, status::Outcome};

use super::{
    super::world::{Metrics, of},
    shows, with_strategy,
};

#[test]
fn a_soak_keeps_rollback_possible() {
    let mut world = with_strategy("{bake: 20s, keepPrevious: 10m, steps: [{progress: 100%}]}");
    world.run_for(60);
    shows(&world, Phase::Soaking, Reason::KeepingPrevious);
    assert_eq!(world.status.primary, Some(of(&[("eu-1", 100)])));
    let mut aborted = world.clone();
    aborted.ask(Verb::Rollback).run_for(3);
    assert_eq!(aborted.live(), of(&[("eu-1", 100)]));
    shows(&aborted, Phase::RolledBack, Reason::RollbackRequested);
    let mut failing = world.clone();
    failing.metrics = Metrics::CanaryFails;
    failing.spec.analysis.metrics[0].min_samples = 1;
    failing.run_for(60);
    assert_eq!(failing.live(), of(&[("eu-1", 100)]), "checks go on in the soak");
    world.run_for(700);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

#[test]
fn a_new_target_ends_the_soak_with_the_soaked_distribution_as_the_rollback_target() {
    let mut world = with_strategy("{bake: 20s, keepPrevious: 10m, steps: [{progress: 50%}, {progress: 100%}]}");
    world.run_for(100);
    shows(&world, Phase::Soaking, Reason::KeepingPrevious);
    world.declare(&[("eu-2", 100)]).run_for(8);
    let run = world.run();
    assert_eq!(
        (&run.start, &run.rollback_to),
        (&of(&[("eu-1", 0), ("eu-3", 100)]), &of(&[("eu-1", 0), ("eu-3", 100)]))
    );
}

#[test]
fn a_run_that_follows_a_soak_goes_back_to_what_was_soaked() {
    let mut world = with_strategy("{bake: 20s, keepPrevious: 10m, steps: [{progress: 50%}, {progress: 100%}]}");
    world.run_for(100);
    shows(&world, Phase::Soaking, Reason::KeepingPrevious);
    world.declare(&[("eu-2", 100)]).run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-2", 50), ("eu-3", 50)]));
    world.metrics = Metrics::CanaryBreaksGuard;
    world.run_for(60);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-3", 100)]));
    let ended: Vec<_> = world.status.history.iter().map(|record| (record.outcome, record.reason)).collect();
    assert_eq!(ended, [(Outcome::Superseded, Reason::NewTarget), (Outcome::Failed, Reason::GuardBreached)]);
}

#[test]
fn the_distribution_of_before_the_run_is_a_rollback_in_the_soak_too() {
    let mut world = with_strategy("{bake: 20s, keepPrevious: 10m, steps: [{progress: 50%}, {progress: 100%}]}");
    world.run_for(100);
    shows(&world, Phase::Soaking, Reason::KeepingPrevious);
    world.declare(&[("eu-1", 100)]).pass();
    assert_eq!(world.live(), of(&[("eu-1", 100)]), "at once, and not in steps");
    world.run_for(3);
    assert_eq!(world.outcome(), Some(Outcome::RolledBack));
    assert_eq!(world.status.history.last().map(|record| record.reason), Some(Reason::OldTargetDeclared));
}
