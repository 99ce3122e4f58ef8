//! Users who stay where they were sent.

use cutover::api::{PRIMARY, Phase, Reason, Verb};

use super::world::{Crash, Metrics, World, of, spec};

/// Half of all traffic goes over in two steps.
const KEPT: &str = "
members: [{name: eu-1, weight: 50}, {name: eu-3, weight: 50}]
strategy:
  bake: 20s
  sessionAffinity: {cookieName: shop}
  steps: [{progress: 10%}, {mirror: {}}, {progress: 50%}, {progress: 100%}]
";

const SERVICE: &str = "
strategy:
  bake: 20s
  sessionAffinity: {cookieName: shop}
  ramp: {stepWeights: [20, 50], stepWeightPromotion: 50}
";

fn world(yaml: &str) -> World {
    World::new(spec(yaml), &[("eu-1", 100)])
}

/// The member of each bin, one line a write, without repeats.
fn kept(world: &World) -> Vec<String> {
    let mut lines: Vec<String> = world
        .written
        .iter()
        .map(|(_, split)| {
            let bins = split.affinity.iter().flat_map(|affinity| &affinity.bins);
            bins.map(|bin| format!("{}:{}", bin.member, bin.weight)).collect::<Vec<_>>().join(" ")
        })
        .collect();
    lines.dedup();
    lines
}

#[test]
fn users_move_once_and_only_with_the_weight_and_are_free_at_the_end() {
    let mut world = world(KEPT);
    world.run_for(300);
    assert_eq!(
        kept(&world),
        ["eu-1:50 eu-1:25 eu-1:20 eu-3:5", "eu-1:50 eu-1:25 eu-3:20 eu-3:5", "eu-1:50 eu-3:25 eu-3:20 eu-3:5", ""]
    );
    assert_eq!((world.status.phase, world.live()), (Phase::Succeeded, of(&[("eu-1", 50), ("eu-3", 50)])));
    assert!(world.status.desired.as_ref().unwrap().confirmed_at.is_some());
    for (_, split) in &world.written {
        let Some(affinity) = &split.affinity else { continue };
        assert_eq!(affinity.weights(), split.weights);
        assert_eq!((affinity.run.as_str(), affinity.cookie_name.as_str()), ("11111111-1", "shop"));
    }
}

#[test]
fn nobody_is_kept_during_a_rollback() {
    let mut world = world(KEPT);
    world.metrics = Metrics::CanaryFails;
    world.run_for(120);
    assert_eq!((world.status.phase, world.status.reason), (Phase::Failed, Reason::ChecksFailed));
    assert_eq!(kept(&world).last().map(String::as_str), Some(""));
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

#[test]
fn in_service_mode_users_are_kept_until_one_has_everybody() {
    let mut world = World::new(spec(SERVICE), &[(PRIMARY, 100)]);
    world.point("gateway.eu-1.example.com").run_for(10);
    world.point("gateway.eu-3.example.com").run_for(300);
    assert_eq!(world.status.phase, Phase::Succeeded, "{}", world.status.message);
    let kept: Vec<String> = kept(&world).into_iter().filter(|bins| !bins.is_empty()).collect();
    assert_eq!(kept, ["canary:20 primary:50 primary:30", "canary:20 primary:50 canary:30"]);
}

#[test]
fn rules_that_somebody_changed_are_put_back_and_lowered_weights_are_obeyed() {
    let mut world = world(KEPT);
    world.run_for(10);
    let desired = world.status.desired.clone().unwrap().split.affinity;
    assert!(desired.is_some());
    let route = world.routes.values_mut().flatten().next().unwrap();
    route.split.affinity = None;
    route.editor = Some("kubectl".to_owned());
    world.run_for(2);
    assert!(world.routes.values().flatten().all(|route| route.split.affinity == desired), "{}", world.status.message);
    let transitions: Vec<&str> =
        world.status.transitions.iter().map(|transition| transition.message.as_str()).collect();
    assert!(
        transitions.iter().any(|text| text.starts_with("kubectl changed the rules that keep users where they are on")),
        "{transitions:?}"
    );
    world.run_for(3).edit(&[("eu-1", 99), ("eu-3", 1)]).run_for(3);
    assert_eq!((world.status.phase, world.status.reason), (Phase::Paused, Reason::PausedByForeignEdit));
    assert_eq!(world.live(), of(&[("eu-1", 99), ("eu-3", 1)]));
}

#[test]
fn while_a_member_is_down_nobody_is_kept() {
    let mut world = World::new(
        spec(
            "
members: [{name: eu-1, weight: 40}, {name: eu-2, weight: 10}, {name: eu-3, weight: 50}]
strategy:
  bake: 60s
  sessionAffinity: {cookieName: shop}
  steps: [{progress: 50%}, {progress: 100%}]
",
        ),
        &[("eu-1", 80), ("eu-2", 20)],
    );
    world.run_for(20);
    assert!(world.status.desired.as_ref().unwrap().split.affinity.is_some());
    world.down.insert("eu-2".to_owned());
    world.run_for(20);
    let desired = world.status.desired.as_ref().unwrap();
    assert_eq!(
        (desired.split.weights.get("eu-2"), &desired.split.affinity),
        (Some(0), &None),
        "{}",
        world.status.message
    );
}

#[test]
fn a_crash_at_any_point_ends_in_the_same_place() {
    for crash in [Crash::AfterStatus, Crash::AfterAction(0)] {
        let mut world = world(KEPT);
        for round in 0..400 {
            world.after(1).probe();
            world.pass_until(if round % 7 == 0 { crash } else { Crash::Never });
        }
        assert_eq!(world.status.phase, Phase::Succeeded, "{crash:?}: {}", world.status.message);
        assert!(world.routes.values().flatten().all(|route| route.split.affinity.is_none()));
    }
}

#[test]
fn each_run_has_bins_of_its_own() {
    let mut world = world(KEPT);
    world.run_for(10);
    world.ask(Verb::Rollback).run_for(10);
    world.ask(Verb::Retry).run_for(20);
    let runs: Vec<&str> =
        world.written.iter().filter_map(|(_, split)| Some(split.affinity.as_ref()?.run.as_str())).collect();
    assert!(runs.contains(&"11111111-1") && runs.last() == Some(&"11111111-2"), "{runs:?}");
}
