//! A hook of type Skip: only a yes leaves the analysis out, and no word claims that anything was analysed.

use cutover::api::{
    CANARY, PRIMARY, Phase, Reason,
    hook::{Hook, HookType},
};

use super::{super::world::World, NEW, NEWER, OLD, ramp, shows, split, until, written};

/// The usual ramp with hooks of these types, each with the name of its type in small letters.
fn with_hooks(types: &[&str]) -> World {
    let mut world = ramp();
    world.spec.hooks = types.iter().map(|kind| hook(&kind.to_lowercase(), kind)).collect();
    world
}

fn hook(name: &str, kind: &str) -> Hook {
    let hook = serde_json::json!({"name": name, "type": kind, "url": "http://hooks.example.com/"});
    serde_json::from_value(hook).unwrap()
}

fn calls(world: &World, name: &str) -> usize {
    world.calls.iter().filter(|call| call.name == name).count()
}

#[test]
fn a_yes_promotes_at_once_and_says_that_nothing_was_analysed() {
    let mut world = with_hooks(&["ConfirmRollout", "Skip", "PreRollout", "ConfirmPromotion", "PostRollout"]);
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!((world.leads(PRIMARY), world.live()), (NEW, split(100, 0)));
    assert!(written(&world).iter().all(|weights| *weights == split(100, 0)), "the canary never had traffic");
    let called = ["confirmrollout", "skip", "prerollout", "confirmpromotion", "postrollout"];
    assert_eq!(called.map(|name| calls(&world, name)), [1, 1, 0, 0, 1]);
    let said: Vec<(Reason, &str)> =
        world.status.transitions.iter().map(|one| (one.reason, one.message.as_str())).collect();
    assert!(
        said.contains(&(Reason::AnalysisSkipped, "hook skip (Skip) said yes: promoted without analysis")),
        "{said:?}"
    );
    assert!(said.iter().all(|(_, message)| !message.contains("passed")), "{said:?}");
    assert_eq!(world.ended_run().unwrap().message, "promoted without analysis");
}

#[test]
fn after_a_no_and_where_nobody_answers_a_change_is_analysed() {
    for answer in [Some(403), Some(500), None] {
        let mut world = with_hooks(&["Skip"]);
        world.receivers.insert("skip".to_owned(), answer);
        world.point(NEW);
        until(&mut world, |world| world.status.phase == Phase::Succeeded);
        let expected = [split(80, 20), split(60, 40), split(40, 60), split(0, 100), split(100, 0)];
        assert_eq!(written(&world), expected, "{answer:?}");
        assert_eq!(calls(&world, "skip"), 1, "{answer:?}: it decides once for a run");
    }
}

#[test]
fn one_no_of_several_is_a_no() {
    let mut world = with_hooks(&["Skip"]);
    world.spec.hooks.push(hook("other", "Skip"));
    world.receivers.insert("other".to_owned(), Some(403));
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(written(&world).first(), Some(&split(80, 20)));
}

#[test]
fn a_slow_receiver_is_waited_for_and_called_again_by_another_instance_with_the_same_key() {
    let mut world = with_hooks(&["Skip"]);
    world.slow.insert("skip".to_owned());
    world.point(NEW).run_for(15);
    shows(&world, Phase::Progressing, Reason::WaitingForHook);
    assert_eq!(world.status.message, "hook skip (Skip) is called and has not answered yet");
    world.restart().run_for(1);
    assert_eq!(calls(&world, "skip"), 2);
    world.slow.clear();
    world.answer_hooks();
    world.run_for(60);
    assert_eq!((world.status.phase, world.leads(PRIMARY)), (Phase::Succeeded, NEW));
}

#[test]
fn the_yes_for_one_change_is_none_for_the_next() {
    let mut world = with_hooks(&["Skip"]);
    world.point(NEW);
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    world.receivers.insert("skip".to_owned(), Some(403));
    world.point(NEWER);
    until(&mut world, |world| world.status.phase == Phase::Succeeded && world.leads(PRIMARY) == NEWER);
    assert_eq!(written(&world)[..2], [split(80, 20), split(60, 40)]);
    assert_eq!(world.leads(CANARY), NEWER);
}

#[test]
fn a_canary_that_does_not_answer_is_not_promoted_by_a_yes() {
    let mut world = with_hooks(&["Skip"]);
    world.down.insert(CANARY.to_owned());
    world.point(NEW).run_for(60);
    assert_eq!((world.leads(PRIMARY), calls(&world, "skip")), (OLD, 0));
}

#[test]
fn the_type_has_its_place_between_the_confirmation_and_the_smoke_tests() {
    assert!(HookType::ConfirmRollout < HookType::Skip && HookType::Skip < HookType::PreRollout);
}
