//! The way forward: steps, waits, dwell and deadline.

use cutover::api::{
    Phase, Reason, Verb,
    request::RequestState,
    status::{Outcome, Verdict},
};

use super::{
    super::world::{Metrics, World, of, spec},
    answer, at_first_step, plain, shows, with_strategy,
};

#[test]
fn a_promotion_goes_through_every_step_and_the_target_becomes_the_primary() {
    let mut world = plain();
    world.run_for(150);
    let steps: Vec<_> = world.written.iter().map(|(_, split)| split.weights.clone()).collect();
    let expected = [(75, 25), (50, 50), (0, 100)].map(|(old, new)| of(&[("eu-1", old), ("eu-3", new)]));
    assert_eq!(steps, expected);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    assert_eq!(world.status.primary, Some(of(&[("eu-1", 0), ("eu-3", 100)])));
    assert_eq!(world.outcome(), Some(Outcome::Succeeded));
}

#[test]
fn the_verdict_on_the_step_before_is_not_that_on_the_present_one_nor_is_a_window_that_fills_unknown() {
    let mut world = plain();
    while world.written.len() < 2 {
        world.run_for(1);
    }
    assert_eq!(world.run().check.as_ref().unwrap().verdict, Verdict::Pass);
    while world.status.summary.verdict.is_empty() {
        world.run_for(1);
    }
    assert_eq!(world.status.summary.verdict, "Pass");
    let judged = world.run().check.as_ref().unwrap().sequence;
    assert_eq!(world.status.desired.as_ref().unwrap().sequence, judged);
}

#[test]
fn a_wait_for_promotion_belongs_to_its_step_alone() {
    let mut world =
        with_strategy("{bake: 20s, steps: [{progress: 25%, wait: Promotion}, {progress: 50%}, {progress: 100%}]}");
    world.run_for(120);
    shows(&world, Phase::WaitingPromotion, Reason::WaitingForPromotion);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    world.ask(Verb::Promote).run_for(150);
    assert_eq!(answer(&world), (RequestState::Applied, "the wait of step 1 is open"));
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

#[test]
fn promote_opens_the_present_wait_in_advance_and_nothing_else() {
    let mut world = with_strategy("{bake: 20s, steps: [{progress: 25%, wait: Promotion}, {progress: 100%}]}");
    world.run_for(8);
    world.ask(Verb::Promote).run_for(40);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-3", 100)]));
    world.ask(Verb::Promote).run_for(1);
    assert_eq!(answer(&world), (RequestState::Refused, "step 2 has no wait to open"));
}

#[test]
fn a_timed_wait_begins_when_the_bake_is_over() {
    let mut world = with_strategy("{bake: 20s, steps: [{progress: 25%, wait: 60s}, {progress: 100%}]}");
    world.run_for(70);
    shows(&world, Phase::Progressing, Reason::WaitingForTime);
    world.run_for(40);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-3", 100)]));
}

#[test]
fn bake_stands_still_while_unknown_and_starts_again_after_a_fail() {
    let baked = |world: &World| world.baked().as_millis();
    let mut world = with_strategy("{bake: 60s, steps: [{progress: 25%}, {progress: 100%}]}");
    world.run_for(30);
    let before = baked(&world);
    assert!(before > 0);
    world.metrics = Metrics::CanarySilent;
    world.run_for(100);
    assert_eq!(baked(&world), before);
    world.metrics = Metrics::CanaryFails;
    world.run_for(10);
    assert_eq!(baked(&world), 0);
}

#[test]
fn a_clock_that_jumps_ahead_does_not_shorten_the_bake() {
    let mut world = with_strategy("{bake: 10m, steps: [{progress: 25%}, {progress: 100%}]}");
    world.run_for(30);
    world.after(3600).run_for(60);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "an hour without checks is no evidence");
}

#[test]
fn a_clock_that_is_set_back_stops_no_check() {
    let mut world = at_first_step();
    world.after(86_400).run_for(10);
    world.after(-86_400).run_for(200);
    assert_eq!(world.live().weight("eu-3"), 100, "{}", world.status.message);
}

#[test]
fn the_deadline_counts_only_time_in_which_nothing_but_checks_stood_in_the_way() {
    let mut world = with_strategy(
        "{bake: 60s, progressDeadline: 100s, steps: [{progress: 25%, wait: Promotion}, {progress: 50%}, {progress: 100%}]}",
    );
    world.run_for(2000);
    shows(&world, Phase::WaitingPromotion, Reason::WaitingForPromotion);
    world.ask(Verb::Promote).run_for(300);
    shows(&world, Phase::Failed, Reason::ProgressDeadlineExceeded);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

/// Of one unit, half is none: the first step gives nobody more, and nobody can be judged at it.
#[test]
fn a_step_that_is_too_small_to_move_anything_proves_nothing_and_goes_on() {
    let yaml = "
members: [{name: eu-1, weight: 100}, {name: eu-3, weight: 0}]
strategy: {bake: 20s, steps: [{progress: 50%, wait: Promotion}, {progress: 100%}]}
analysis: {unknown: {limit: 3, action: Rollback}}
";
    let mut world = World::new(spec(yaml), &[("eu-1", 99), ("eu-3", 1)]);
    world.run_for(90);
    shows(&world, Phase::WaitingPromotion, Reason::WaitingForPromotion);
    world.ask(Verb::Promote).run_for(60);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    assert_eq!(world.live().weight("eu-1"), 100);
}
