//! Hooks: each is called at its moment, and its answer does what its type says.

use cutover::api::{Phase, Reason, Verb, request::RequestState, status::Outcome};

use super::{
    super::world::{Metrics, World, of, spec},
    answer, shows,
};

/// eu-1 -> eu-3 through 25 %; interval 10 s, settle 5 s, bake 20 s.
fn with_hooks(hooks: &str) -> World {
    let plain = "
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy: {bake: 20s, steps: [{progress: 25%}, {progress: 100%}]}
";
    World::new(spec(&format!("{plain}hooks: [{hooks}]\n")), &[("eu-1", 100)])
}

fn hook(kind: &str) -> String {
    format!("{{name: {}, type: {kind}, url: 'http://hooks.example.com/{kind}'}}", kind.to_lowercase())
}

fn with(kinds: &[&str]) -> World {
    let hooks: Vec<String> = kinds.iter().map(|kind| hook(kind)).collect();
    with_hooks(&hooks.join(", "))
}

/// The names of what was called, each once in a row.
fn called(world: &World) -> Vec<&str> {
    let mut names: Vec<&str> = world.calls.iter().map(|call| call.name.as_str()).collect();
    names.dedup();
    names
}

fn refuses(world: &mut World, name: &str) {
    world.receivers.insert(name.to_owned(), Some(403));
}

fn agrees(world: &mut World, name: &str) {
    world.receivers.remove(name);
}

#[test]
fn every_hook_is_called_at_its_moment_with_the_weights_that_are_there_then() {
    let mut world =
        with(&["PostRollout", "ConfirmTrafficIncrease", "ConfirmRollout", "ConfirmPromotion", "PreRollout"]);
    world.run_for(120);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    let moments: Vec<(&str, Phase, Option<u32>)> = world
        .calls
        .iter()
        .map(|call| {
            let canary = call.weights.as_ref().map(|weights| weights.weight("eu-3"));
            (call.name.as_str(), call.phase, canary)
        })
        .collect();
    let expected = [
        ("confirmrollout", Phase::Progressing, None),
        ("prerollout", Phase::Progressing, None),
        ("confirmtrafficincrease", Phase::Progressing, None),
        ("confirmtrafficincrease", Phase::Progressing, Some(25)),
        ("confirmpromotion", Phase::Progressing, Some(100)),
        ("postrollout", Phase::Succeeded, Some(100)),
    ];
    assert_eq!(moments, expected);
}

#[test]
fn nothing_moves_before_a_rollout_is_confirmed_and_waiting_writes_nothing() {
    let mut world = with(&["ConfirmRollout", "PreRollout"]);
    refuses(&mut world, "confirmrollout");
    world.run_for(30);
    shows(&world, Phase::Progressing, Reason::WaitingForHook);
    let waits = "waiting for hook confirmrollout (ConfirmRollout) to say yes: it answered 403";
    assert_eq!(world.status.message, waits);
    let waiting = world.status.clone();
    world.run_for(600);
    assert_eq!((&world.status, world.live()), (&waiting, of(&[("eu-1", 100)])));
    assert_eq!(called(&world), ["confirmrollout"], "nothing is tried before");
    let keys: std::collections::BTreeSet<&String> = world.calls.iter().map(|call| &call.key).collect();
    assert_eq!(keys.len(), world.calls.len(), "each attempt has a key of its own");
    assert!((60..=66).contains(&world.calls.len()), "at every interval: {}", world.calls.len());
    agrees(&mut world, "confirmrollout");
    world.run_for(120);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

#[test]
fn a_new_instance_calls_again_with_the_key_of_that_interval() {
    let mut world = with(&["ConfirmRollout"]);
    refuses(&mut world, "confirmrollout");
    world.run_for(3);
    assert_eq!(world.calls.len(), 1);
    world.restart().run_for(2);
    assert_eq!((world.calls.len(), &world.calls[0].key), (2, &world.calls[1].key));
    world.run_for(10);
    assert_ne!(world.calls[1].key, world.calls[2].key, "a later attempt is another one");
}

#[test]
fn smoke_tests_that_fail_up_to_the_limit_fail_the_run_before_anything_moved() {
    let mut world = with(&["PreRollout", "PostRollout"]);
    world.receivers.insert("prerollout".to_owned(), Some(500));
    world.run_for(5);
    shows(&world, Phase::Progressing, Reason::HookFailed);
    assert_eq!(world.status.message, "hook prerollout (PreRollout) said no: it answered 500; it is called again");
    world.run_for(30);
    shows(&world, Phase::Failed, Reason::HookFailed);
    let why = "hook prerollout said no 2 times in 2 answers: it answered 500";
    assert!(world.status.message.starts_with(why), "{}", world.status.message);
    assert!(world.written.iter().all(|(_, split)| split.weights.weight("eu-3") == 0), "{:?}", world.written);
    assert_eq!(called(&world), ["prerollout", "postrollout"]);
}

#[test]
fn smoke_tests_pass_once_and_for_the_whole_run() {
    let mut world = with(&["PreRollout", "ConfirmTrafficIncrease"]);
    refuses(&mut world, "confirmtrafficincrease");
    world.run_for(60);
    world.restart().run_for(60);
    agrees(&mut world, "confirmtrafficincrease");
    world.run_for(120);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    assert_eq!(world.calls.iter().filter(|call| call.name == "prerollout").count(), 1);
}

#[test]
fn a_step_is_left_only_after_a_yes_at_its_weights_and_failures_count() {
    let mut world = with(&["Rollout"]);
    world.slow.insert("rollout".to_owned());
    world.run_for(60);
    shows(&world, Phase::Progressing, Reason::WaitingForHook);
    assert_eq!(world.status.message, "step 1: hook rollout (Rollout) has not answered at these weights yet");
    assert_eq!((world.live(), world.calls.len()), (of(&[("eu-1", 75), ("eu-3", 25)]), 1), "one call at a time");
    world.slow.clear();
    world.receivers.insert("rollout".to_owned(), Some(500));
    world.answer_hooks();
    world.run_for(1);
    shows(&world, Phase::Progressing, Reason::HookFailed);
    agrees(&mut world, "rollout");
    world.run_for(9);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "the bake began again");
    world.receivers.insert("rollout".to_owned(), Some(500));
    world.run_for(120);
    shows(&world, Phase::Failed, Reason::HookFailed);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

#[test]
fn what_nobody_answers_holds_and_is_no_failure() {
    let mut world = with(&["Rollout"]);
    world.receivers.insert("rollout".to_owned(), None);
    world.run_for(300);
    shows(&world, Phase::Held, Reason::HookUnanswered);
    let why = "hook rollout (Rollout): no answer within 10 s; it is called again at every interval, until it answers or is removed";
    assert_eq!((world.status.message.as_str(), world.live()), (why, of(&[("eu-1", 75), ("eu-3", 25)])));
    world.spec.hooks.clear();
    world.generation += 1;
    world.run_for(120);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

#[test]
fn a_promotion_waits_for_its_hook_while_checks_go_on() {
    let mut world = with(&["ConfirmPromotion"]);
    refuses(&mut world, "confirmpromotion");
    world.run_for(200);
    shows(&world, Phase::Progressing, Reason::WaitingForHook);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-3", 100)]));
    world.metrics = Metrics::CanaryFails;
    world.run_for(60);
    shows(&world, Phase::Failed, Reason::ChecksFailed);
    assert_eq!(world.live(), of(&[("eu-1", 100)]), "no gate keeps a rollback waiting");
}

#[test]
fn a_yes_was_for_the_step_at_which_it_was_said() {
    let mut world = with(&["ConfirmTrafficIncrease"]);
    world.run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    refuses(&mut world, "confirmtrafficincrease");
    world.run_for(120);
    shows(&world, Phase::Progressing, Reason::WaitingForHook);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "the yes of the first step opens no other");
}

#[test]
fn a_hook_rolls_back_at_once_and_says_who_did() {
    let mut world = with(&["Rollback"]);
    refuses(&mut world, "rollback");
    world.run_for(15);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    agrees(&mut world, "rollback");
    world.run_for(12);
    shows(&world, Phase::RolledBack, Reason::RollbackByHook);
    let ended = world.ended_run().unwrap();
    assert_eq!((ended.outcome, ended.ended_by.as_deref()), (Outcome::RolledBack, Some("hook rollback")));
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

#[test]
fn an_abort_waits_for_no_receiver() {
    let mut world = with(&["Rollout", "ConfirmTrafficIncrease", "PostRollout"]);
    world.slow.extend(["rollout".to_owned(), "postrollout".to_owned()]);
    world.run_for(8);
    world.ask(Verb::Abort).pass();
    assert_eq!(answer(&world).0, RequestState::Applied);
    world.run_for(2);
    shows(&world, Phase::RolledBack, Reason::Aborted);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

#[test]
fn every_transition_is_sent_in_order_and_again_with_its_key_after_a_crash() {
    let mut world = with(&["Event"]);
    world.run_for(120);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    let numbers = |world: &World| {
        let number = |call: &super::super::world::Called| {
            let number = call.key.split("event-").nth(1).and_then(|rest| rest.split('/').next()?.parse::<u64>().ok());
            number.expect(&call.key)
        };
        world.calls.iter().map(number).collect::<Vec<_>>()
    };
    let last = world.status.transitions.last().unwrap().number;
    assert_eq!(numbers(&world), (1..=last).collect::<Vec<_>>());
    world.calls.clear();
    world.restart().run_for(5);
    let again = numbers(&world);
    assert!(again.iter().all(|number| *number <= last), "{again:?}");
    world.calls.clear();
    world.run_for(600);
    assert!(world.calls.is_empty(), "each was delivered: {:?}", world.calls);
}

#[test]
fn an_event_that_nobody_took_is_sent_until_somebody_does() {
    let mut world = with(&["Event"]);
    world.receivers.insert("event".to_owned(), None);
    world.run_for(60);
    let first = world.calls[0].key.clone();
    assert!(world.calls.len() > 3 && world.calls.iter().all(|call| call.key == first), "{:?}", world.calls);
    agrees(&mut world, "event");
    world.run_for(120);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    assert!(world.calls.last().unwrap().key.contains(&format!("event-{}/", world.status.transitions.len())));
}

#[test]
fn a_rollout_that_is_deleted_stays_until_its_last_event_is_taken() {
    let mut world = with(&["Event"]);
    world.run_for(8);
    world.slow.insert("event".to_owned());
    world.deleting = true;
    world.run_for(20);
    assert!(!world.gone, "the event is on its way");
    world.slow.clear();
    world.answer_hooks();
    world.run_for(10);
    assert!(world.gone);
    let last = world.status.transitions.last().unwrap();
    assert!(world.calls.last().unwrap().key.contains(&format!("event-{}/", last.number)), "{:?}", world.calls);
}

#[test]
fn what_was_called_after_a_run_is_reported_and_called_once() {
    let mut world = with(&["PostRollout"]);
    world.receivers.insert("postrollout".to_owned(), Some(500));
    world.run_for(300);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    assert_eq!(world.calls.len(), 1);
    let last = world.status.transitions.last().unwrap();
    let said = "hook postrollout, called after run 1: it answered 500";
    assert_eq!((last.reason, last.message.as_str(), last.warning), (Reason::HookFailed, said, true));
    world.restart().run_for(60);
    assert_eq!(world.calls.len(), 1, "not again by another instance");
}

#[test]
fn nothing_is_called_while_nothing_may_be_written() {
    let mut world = with(&["ConfirmRollout", "Event", "Rollout"]);
    world.spec.suspend = true;
    world.run_for(60);
    assert_eq!(called(&world), ["event"; 0]);
}
