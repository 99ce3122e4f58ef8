//! Steps that choose requests by what they carry.

use std::collections::BTreeSet;

use cutover::api::{Phase, Reason, Verb, status::Verdict};

use super::world::{Crash, Metrics, World, of, spec};

/// A little weight that waits for a person, then two sorts of requests and the rest by itself.
const MIXED: &str = "
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy:
  bake: 20s
  steps:
    - {progress: 5%, wait: Promotion}
    - {matches: [{headers: [{name: user-agent, exact: pc}]}], iterations: 3}
    - {matches: [{headers: [{name: user-agent, exact: mobile}]}], iterations: 3}
    - {progress: 100%}
";

/// Requests of testers first, no weight yet.
const TESTERS: &str = "
members: [{name: eu-1, weight: 0}, {name: eu-2, weight: 75}, {name: eu-3, weight: 25}]
strategy:
  bake: 20s
  steps:
    - {matches: [{headers: [{name: x-test, exact: a}], query: [{name: beta, regex: '1|2'}]}, {cookies: [{name: canary, exact: always}]}]}
    - {progress: 50%}
    - {progress: 100%}
";

fn world(yaml: &str) -> World {
    World::new(spec(yaml), &[("eu-1", 100)])
}

#[test]
fn a_plan_of_weights_and_matches_waits_on_its_first_step_only() {
    let mut world = world(MIXED);
    world.run_for(120);
    assert_eq!(
        (world.status.phase, world.written_lines()),
        (Phase::WaitingPromotion, vec!["eu-1 95 eu-3 5".to_owned()])
    );
    world.ask(Verb::Promote).run_for(200);
    assert_eq!(
        world.written_lines(),
        [
            "eu-1 95 eu-3 5",
            "eu-1 95 eu-3 5, header user-agent: pc",
            "eu-1 95 eu-3 5, header user-agent: mobile",
            "eu-1 0 eu-3 100"
        ]
    );
    assert_eq!((world.status.phase, world.status.reason), (Phase::Succeeded, Reason::RunSucceeded));
}

#[test]
fn a_step_of_three_checks_ends_after_three_that_passed() {
    let mut world = world(MIXED);
    // The first check about a step comes when the window is full, and the window would hold three intervals.
    world.spec.analysis.metrics[0].window = Some("30s".parse().unwrap());
    world.run_for(120);
    world.ask(Verb::Promote);
    let mut passed = BTreeSet::new();
    for _ in 0..200 {
        world.run_for(1);
        let Some(run) = world.live_run() else { break };
        let check = run.check.as_ref().filter(|check| run.step() == 2 && check.verdict == Verdict::Pass);
        passed.extend(check.filter(|_| run.bake().passes > 0).map(|check| check.at));
    }
    // The pass that sees the third moves on, so that it is seen at the step after.
    assert_eq!(passed.len(), 2, "{passed:?}");
    assert_eq!(world.status.phase, Phase::Succeeded);
}

#[test]
fn only_checks_that_passed_count_and_one_that_failed_takes_them_back() {
    let mut world = world(MIXED);
    world.spec.analysis.metrics[0].window = Some("30s".parse().unwrap());
    world.run_for(120);
    world.ask(Verb::Promote);
    let passes = |world: &World| world.live_run().filter(|run| run.step() == 2).map(|run| run.bake().passes);
    for _ in 0..100 {
        world.run_for(0);
        if passes(&world) == Some(1) {
            break;
        }
    }
    world.metrics = Metrics::CanarySilent;
    world.run_for(20);
    assert_eq!(passes(&world), Some(1), "what is not known is no pass, and no failure");
    world.metrics = Metrics::CanaryFails;
    while world.run().check.as_ref().is_none_or(|check| check.verdict != Verdict::Fail) {
        assert!(world.elapsed < 400, "{}", world.status.message);
        world.run_for(0);
    }
    assert_eq!(passes(&world), Some(0));
}

#[test]
fn matching_requests_are_divided_as_all_will_be_in_the_end_and_all_others_stay() {
    let mut world = world(TESTERS);
    world.run_for(8);
    assert_eq!(
        world.written_lines(),
        ["eu-1 100 eu-2 0 eu-3 0, header x-test: a and query beta ~ 1|2 or cookie canary: always"]
    );
    assert_eq!(world.written[0].1.matched().unwrap().weights, of(&[("eu-2", 75), ("eu-3", 25)]));
}

#[test]
fn a_member_without_weight_is_judged_by_the_requests_that_match() {
    let mut world = world(TESTERS);
    world.metrics = Metrics::CanaryFails;
    world.run_for(60);
    assert_eq!((world.status.phase, world.status.reason), (Phase::Failed, Reason::ChecksFailed));
    assert_eq!(world.written_lines().last().map(String::as_str), Some("eu-1 100"), "a rollback chooses no requests");
}

#[test]
fn a_guard_takes_the_matches_away_in_the_pass_that_sees_the_breach() {
    let mut world = world(TESTERS);
    world.run_for(8);
    world.metrics = Metrics::CanaryBreaksGuard;
    while !world.is_rolling_back() {
        world.after(1).probe();
        world.pass();
    }
    assert_eq!(world.routes.values().flatten().next().unwrap().split.steering, None);
}

#[test]
fn an_edit_that_lowers_the_weight_is_obeyed_while_requests_are_chosen_too() {
    let mut world = world(MIXED);
    world.run_for(120);
    world.ask(Verb::Promote).run_for(15);
    assert!(world.status.desired.as_ref().unwrap().split.steering.is_some());
    world.edit(&[("eu-1", 97), ("eu-3", 3)]).run_for(3);
    assert_eq!((world.status.phase, world.status.reason), (Phase::Paused, Reason::PausedByForeignEdit));
    assert_eq!(world.live(), of(&[("eu-1", 97), ("eu-3", 3)]));
}

#[test]
fn a_step_with_matches_is_confirmed_only_when_the_route_shows_them() {
    let mut world = world(TESTERS);
    world.run_for(8);
    assert!(world.status.desired.as_ref().unwrap().confirmed_at.is_some());
    let route = world.routes.values_mut().flatten().next().unwrap();
    route.split.steering = None;
    route.editor = Some("kubectl".to_owned());
    world.run_for(3);
    assert_eq!(world.status.phase, Phase::Paused, "somebody took them away, and is obeyed: {}", world.status.message);
    world.ask(Verb::Resume).run_for(3);
    assert!(world.routes.values().flatten().all(|route| route.split.steering.is_some()));
}

#[test]
fn the_observed_share_is_not_compared_while_requests_are_chosen() {
    let mut world = world(TESTERS);
    world.spec.analysis.share = Some(serde_json::from_value(serde_json::json!({"within": 5})).unwrap());
    world.run_for(60);
    assert!(world.written_lines().len() > 1, "{}: {}", world.status.reason, world.status.message);
}

#[test]
fn a_crash_at_any_point_ends_in_the_same_place() {
    for crash in [Crash::AfterStatus, Crash::AfterAction(0)] {
        let mut world = world(MIXED);
        for round in 0..500 {
            world.after(1).probe();
            world.pass_until(if round % 7 == 0 { crash } else { Crash::Never });
            if world.status.phase == Phase::WaitingPromotion && world.requests.is_empty() {
                world.ask(Verb::Promote);
            }
        }
        assert_eq!(world.status.phase, Phase::Succeeded, "{crash:?}: {}", world.status.message);
        assert!(world.routes.values().flatten().all(|route| route.split.steering.is_none()));
    }
}
