//! Steps that send copies of requests to canaries, and leave the weights as they are.

use cutover::{
    api::{CANARY, Mirrored, PRIMARY, Phase, Reason, Verb},
    rollout::input::Mark,
};

use super::world::{Crash, HUB, Metrics, UID, World, Writes, spec};

const COPIES_FIRST: &str = "
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy:
  bake: 20s
  steps: [{mirror: {}}, {progress: 10%}, {progress: 100%}]
";

fn world(yaml: &str) -> World {
    World::new(spec(yaml), &[("eu-1", 100)])
}

/// A Service that was changed, in a rollout with this ramp; until it has stood for so long.
fn service(ramp: &str, seconds: i64) -> World {
    let mut world = World::new(spec(&format!("strategy: {{bake: 20s, ramp: {ramp}}}")), &[(PRIMARY, 100)]);
    world.point("eu-1.example.com").run_for(10);
    world.written.clear();
    world.point("eu-3.example.com").run_for(seconds);
    world
}

/// No write gave the canary any weight.
fn nobody_was_served_by(world: &World, canary: &str) {
    assert!(world.written.iter().all(|(_, split)| split.weights.weight(canary) == 0));
}

/// Scenario 15, with members.
#[test]
fn the_first_step_mirrors_at_the_old_weights_and_the_next_moves_weight_and_mirrors_no_more() {
    let mut world = world(COPIES_FIRST);
    world.run_for(240);
    assert_eq!(
        world.written_lines(),
        ["eu-1 100 eu-3 0, copies of all requests", "eu-1 90 eu-3 10", "eu-1 0 eu-3 100"]
    );
    assert_eq!((world.status.phase, world.status.reason), (Phase::Succeeded, Reason::RunSucceeded));
}

/// Scenario 15, with a Service.
#[test]
fn a_ramp_with_mirror_begins_with_one_step_of_copies() {
    let world = service("{stepWeight: 10, maxWeight: 20, mirror: true, mirrorWeight: 30}", 240);
    let lines = world.written_lines();
    let expected = [
        "canary 0 primary 100, copies of 30% of all requests",
        "canary 10 primary 90",
        "canary 20 primary 80",
        "canary 100 primary 0",
        "canary 0 primary 100",
    ];
    assert_eq!(lines, expected);
    assert_eq!(world.status.phase, Phase::Succeeded, "{}", world.status.message);
}

/// Scenario 63: blue/green.
#[test]
fn all_iterations_are_mirrored_before_the_switch() {
    let mut world = service("{iterations: 5, mirror: true}", 40);
    assert_eq!(world.written_lines(), ["canary 0 primary 100, copies of all requests"], "five checks take 50 s");
    world.run_for(200);
    let expected = ["canary 0 primary 100, copies of all requests", "canary 100 primary 0", "canary 0 primary 100"];
    assert_eq!(world.written_lines(), expected);
    assert_eq!(world.status.phase, Phase::Succeeded, "{}", world.status.message);
}

#[test]
fn without_mirror_all_iterations_come_after_the_switch() {
    let mut world = service("{iterations: 5}", 40);
    assert_eq!(world.written_lines(), ["canary 100 primary 0"]);
    world.run_for(200);
    assert_eq!(world.written_lines(), ["canary 100 primary 0", "canary 0 primary 100"]);
}

#[test]
fn a_canary_that_fails_on_copies_is_rolled_back_and_nobody_was_ever_served_by_it() {
    let mut members = world(COPIES_FIRST);
    members.metrics = Metrics::CanaryFails;
    members.run_for(60);
    let mut services = service("{stepWeights: [10, 50], mirror: true}", 0);
    services.metrics = Metrics::CanaryBreaksGuard;
    services.run_for(60);
    for (world, canary, reason) in [(members, "eu-3", Reason::ChecksFailed), (services, CANARY, Reason::GuardBreached)]
    {
        assert_eq!((world.status.phase, world.status.reason), (Phase::Failed, reason), "{}", world.status.message);
        nobody_was_served_by(&world, canary);
        assert!(
            world.written.first().unwrap().1.steering.is_some() && world.written.last().unwrap().1.steering.is_none()
        );
        assert!(world.routes.values().flatten().all(|route| route.split.steering.is_none()));
    }
}

#[test]
fn a_rollback_is_over_when_no_route_mirrors_any_more() {
    let mut world = world(COPIES_FIRST);
    world.run_for(8);
    let keys: Vec<_> = world.routes.keys().cloned().collect();
    world.writes = keys.into_iter().map(|key| (key, Writes::Refused)).collect();
    world.metrics = Metrics::CanaryFails;
    world.run_for(100);
    assert_eq!((world.status.phase, world.status.reason), (Phase::Held, Reason::NotConfirmed));
    world.writes.clear();
    world.run_for(5);
    assert_eq!(world.status.phase, Phase::Failed);
    assert!(world.routes.values().flatten().all(|route| route.split.steering.is_none()));
}

#[test]
fn a_canary_that_does_not_answer_gets_no_copies() {
    let mut world = world(COPIES_FIRST);
    world.down.insert("eu-3".to_owned());
    world.run_for(60);
    assert!(world.written.is_empty(), "{:?}", world.written_lines());
}

#[test]
fn a_canary_that_is_down_gets_no_copies_any_more() {
    let mut world = world(COPIES_FIRST);
    world.run_for(8);
    world.down.insert("eu-3".to_owned());
    world.run_for(8);
    assert_eq!((world.status.phase, world.status.reason), (Phase::Failed, Reason::EndpointDown));
    assert_eq!(world.written_lines(), ["eu-1 100 eu-3 0, copies of all requests", "eu-1 100"]);
}

#[test]
fn each_gaining_member_of_the_stage_gets_its_own_copy() {
    let mut world = world(
        "
members: [{name: eu-1, weight: 0}, {name: eu-2, weight: 40}, {name: eu-3, weight: 40}, {name: eu-4, weight: 20}]
strategy:
  bake: 20s
  stages: [{name: first, members: [eu-4]}, {name: rest, members: [eu-2, eu-3]}]
  steps: [{mirror: {}}, {progress: 100%}]
",
    );
    world.run_for(300);
    let copied: Vec<Vec<String>> = world
        .written
        .iter()
        .filter_map(|(_, split)| split.steering.as_ref()?.mirrored())
        .map(|Mirrored { members, .. }| members.clone())
        .collect();
    assert_eq!(copied, [vec!["eu-4".to_owned()], vec!["eu-2".to_owned(), "eu-3".to_owned()]]);
    assert_eq!(world.status.phase, Phase::Succeeded, "{}", world.status.message);
}

#[test]
fn copies_that_somebody_ended_are_not_sent_again_until_resume() {
    let mut world = world(COPIES_FIRST);
    world.run_for(8);
    let route = world.routes.values_mut().flatten().next().unwrap();
    route.split.steering = None;
    route.editor = Some("kubectl".to_owned());
    world.run_for(3);
    assert_eq!(world.status.phase, Phase::Paused, "{}", world.status.message);
    world.ask(Verb::Resume).run_for(3);
    assert!(world.routes.values().flatten().all(|route| route.split.steering.is_some()));
}

/// The weights of the manifest are those of the step, so that the copies alone tell that somebody was there.
#[test]
fn a_manifest_that_is_applied_anew_ends_the_copies_and_what_was_proven_by_them() {
    for (restarts, forges) in [(false, false), (true, false), (false, true)] {
        let mut world = world(COPIES_FIRST);
        world.run_for(20);
        assert!(world.baked().as_millis() > 0);
        let key = world.routes.keys().next().unwrap().clone();
        world.apply_anew(&key, &[("eu-1", 100)]);
        if forges {
            let route = world.routes.get_mut(&key).unwrap().as_mut().unwrap();
            route.mark = Some(Mark { hub: HUB.to_owned(), rollout: UID.to_owned(), run: 1, sequence: u64::MAX });
            route.marked_by = Some("kubectl".to_owned());
        }
        if restarts {
            world.restart();
        }
        world.run_for(3);
        assert_eq!(world.status.reason, Reason::PausedByForeignEdit, "{}", world.status.message);
        world.ask(Verb::Resume).run_for(3);
        assert!(world.routes.values().flatten().all(|route| route.split.steering.is_some()));
        assert_eq!(world.baked().as_millis(), 0);
    }
}

#[test]
fn copies_are_no_wrong_share() {
    let mut world = world(COPIES_FIRST);
    world.spec.analysis.share = Some(serde_json::from_value(serde_json::json!({"within": 5})).unwrap());
    world.run_for(20);
    let check = world.check().unwrap();
    let measured = |name: &str| check.metrics[0].members.iter().any(|one| one.member == name && one.value.is_some());
    assert!(measured("eu-1") && measured("eu-3") && check.observed.is_empty(), "{check:?}");
    world.run_for(40);
    assert!(world.written_lines().len() > 1, "{}: {}", world.status.reason, world.status.message);
}

#[test]
fn a_crash_in_between_keeps_the_copies_and_changes_nothing_of_the_end() {
    for crash in [Crash::AfterStatus, Crash::AfterAction(0)] {
        let mut world = world(COPIES_FIRST);
        world.run_for(8);
        world.after(1).probe();
        world.pass_until(crash);
        world.restart().run_for(3);
        assert!(world.routes.values().flatten().all(|route| route.split.steering.is_some()), "{crash:?}");
        for round in 0..400 {
            world.after(1).probe();
            world.pass_until(if round % 7 == 0 { crash } else { Crash::Never });
        }
        assert_eq!(world.status.phase, Phase::Succeeded, "{crash:?}: {}", world.status.message);
        assert!(world.routes.values().flatten().all(|route| route.split.steering.is_none()));
        assert_eq!(
            world.written_lines(),
            ["eu-1 100 eu-3 0, copies of all requests", "eu-1 90 eu-3 10", "eu-1 0 eu-3 100"]
        );
    }
}
