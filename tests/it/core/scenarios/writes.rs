//! Writes that are refused, not confirmed, or must be made again.

use cutover::{
    api::{Phase, Reason, Verb, status::Outcome},
    rollout::{
        Action,
        input::{Accepted, Rehearsal},
    },
};

use jiff::SignedDuration;

use super::{
    super::world::{RouteInWorld, World, Writes, of, spec},
    PLAIN, at_first_step, plain, shows,
};

#[test]
fn an_increase_that_is_not_confirmed_everywhere_is_taken_back_everywhere() {
    let services = "services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: a}}, {gatewayAPI: {name: b}}]}]";
    let mut world = World::new(spec(&format!("{services}{PLAIN}")), &[("eu-1", 100)]);
    world.run_for(8);
    let second = world.routes.keys().nth(1).unwrap().clone();
    world.writes.insert(second.clone(), Writes::Refused);
    world.run_for(40);
    assert_eq!(world.live(), of(&[("eu-1", 50), ("eu-3", 50)]));
    world.run_for(40);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "{}", world.status.message);
    world.writes.clear();
    world.run_for(60);
    shows(&world, Phase::Held, Reason::Skewed);
    assert_eq!(
        world.status.message,
        "step 2 was taken back: HTTPRoute/shop-1 (shop): the write was refused: denied by a webhook; repair that, then cutover retry or abort"
    );
    world.ask(Verb::Retry).run_for(40);
    assert_eq!(world.live(), of(&[("eu-1", 50), ("eu-3", 50)]));
}

/// A step between two targets lowers one canary and raises another. To write it once more is no increase, and to take it back
/// would raise the one that was lowered.
#[test]
fn a_step_that_every_route_has_shown_is_not_taken_back_when_that_would_raise_a_canary() {
    let mut world = plain();
    world.declare(&[("eu-2", 50), ("eu-3", 50)]).run_for(8);
    world.declare(&[("eu-3", 100)]);
    while world.live().weight("eu-3") < 34 {
        world.run_for(1);
    }
    let step = world.live();
    assert_eq!(step, of(&[("eu-1", 56), ("eu-2", 10), ("eu-3", 34)]));
    let key = world.routes.keys().next().unwrap().clone();
    world.run_for(10).writes.insert(key, Writes::Refused);
    world.edit(&[("eu-1", 5), ("eu-3", 95)]).run_for(80);
    shows(&world, Phase::Held, Reason::NotConfirmed);
    world.writes.clear();
    world.run_for(3);
    assert_eq!(world.live(), step);
}

#[test]
fn an_increase_that_an_overloaded_api_server_delays_is_taken_back_a_minute_after_the_overload() {
    let services = "services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: a}}, {gatewayAPI: {name: b}}]}]";
    let mut world = World::new(spec(&format!("{services}{PLAIN}")), &[("eu-1", 100)]);
    world.run_for(8);
    world.writes.insert(world.routes.keys().nth(1).unwrap().clone(), Writes::Refused);
    world.run_for(40);
    let raised = of(&[("eu-1", 50), ("eu-3", 50)]);
    assert_eq!(world.live(), raised);
    world.delayed_at = Some(world.now);
    world.run_for(55);
    assert_eq!(world.live(), raised, "{}", world.status.message);
    shows(&world, Phase::Progressing, Reason::Confirming);
    world.run_for(10);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    shows(&world, Phase::Held, Reason::Skewed);
}

#[test]
fn a_dry_run_without_an_answer_is_no_refusal_and_says_what_happened() {
    let mut world = plain();
    world.refuse_rehearsals = true;
    world.run_for(30);
    let late = Rehearsal::Unanswered("the API server did not answer within 4s".to_owned());
    world.rehearsed.values_mut().for_each(|result| *result = late.clone());
    let decision = world.pass();
    assert_eq!((decision.status.phase, decision.status.reason), (Phase::Progressing, Reason::Rehearsing));
    assert!(decision.status.message.ends_with("again: the API server did not answer within 4s"), "{decision:?}");
    assert!(matches!(decision.actions[..], [Action::Rehearse { .. }]), "{decision:?}");
}

#[test]
fn a_first_write_that_a_dry_run_refuses_is_not_made() {
    let mut world = plain();
    world.refuse_rehearsals = true;
    world.run_for(30);
    shows(&world, Phase::Held, Reason::RouteRejected);
    assert!(world.written.is_empty());
}

#[test]
fn no_check_counts_until_the_data_plane_took_the_weights() {
    let mut world = plain();
    let key = world.routes.keys().next().unwrap().clone();
    world.writes.insert(key, Writes::NotAccepted);
    world.run_for(30);
    shows(&world, Phase::Progressing, Reason::Confirming);
    assert!(world.check().is_none());
}

/// What is missing is no news before the data plane had time: the next write of the status says that it is confirmed.
#[test]
fn a_step_is_recorded_once_while_it_is_just_being_written() {
    let mut world = at_first_step();
    world.writes = world.routes.keys().map(|key| (key.clone(), Writes::NotAccepted)).collect();
    while world.live().weight("eu-3") < 50 {
        world.probe();
        world.pass();
        world.after(1);
    }
    let recorded = world.status.clone();
    assert_eq!(recorded.message, "step 2/3: eu-1:50 eu-3:50 is being written");
    let decision = world.pass();
    assert_eq!(decision.status, recorded);
    assert_eq!(decision.wake, Some(world.now + SignedDuration::from_secs(4)));
    world.after(4).pass();
    let missing = "HTTPRoute/shop-0 (shop): the data plane has not accepted it yet";
    assert_eq!(world.status.message, format!("waiting for the routes to confirm eu-1:50 eu-3:50: {missing}"));
}

#[test]
fn a_step_that_is_refused_says_so_at_once() {
    let mut world = at_first_step();
    world.writes = world.routes.keys().map(|key| (key.clone(), Writes::Refused)).collect();
    while world.status.desired.as_ref().is_some_and(|desired| desired.confirmed_at.is_some()) {
        world.probe();
        world.pass();
        world.after(1);
    }
    world.pass();
    assert!(world.status.message.ends_with("the write was refused: denied by a webhook"), "{}", world.status.message);
}

#[test]
fn a_route_that_was_made_by_the_hub_is_made_again_when_it_vanishes() {
    let mut world = plain();
    world.spec.members[0].initial_weight = Some(100);
    let key = world.routes.keys().next().unwrap().clone();
    world.routes.insert(key.clone(), None);
    world.run_for(10);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    world.routes.insert(key, None::<RouteInWorld>);
    world.run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn a_backend_that_is_taken_away_in_mid_run_is_made_again() {
    let mut world = at_first_step();
    world.unready_backends = true;
    world.run_for(1);
    assert!(!world.unready_backends, "{:?}", world.status);
}

#[test]
fn a_backend_without_weight_that_is_refused_does_not_stop_a_rollback() {
    let mut world = at_first_step();
    world.writes = world.routes.keys().map(|key| (key.clone(), Writes::IdleRefused)).collect();
    world.ask(Verb::Abort);
    world.run_for(5);
    assert_eq!((world.live(), world.outcome()), (of(&[("eu-1", 100)]), Some(Outcome::RolledBack)));
    let twice = world.written.len();
    world.run_for(120);
    assert_eq!(world.written.len(), twice, "what was left out is not written again");
}

#[test]
fn a_backend_without_weight_that_is_refused_does_not_stop_a_deletion() {
    let mut world = at_first_step();
    world.writes = world.routes.keys().map(|key| (key.clone(), Writes::IdleRefused)).collect();
    world.deleting = true;
    world.run_for(10);
    assert!(world.gone, "{}", world.status.message);
}

#[test]
fn a_backend_without_weight_that_stays_refused_is_left_out_and_the_run_goes_on() {
    let mut world = at_first_step();
    for route in world.routes.values_mut().flatten() {
        (route.accepted, route.idle) = (Accepted::No("Service shop does not exist".to_owned()), true);
    }
    world.run_for(300);
    assert_eq!(world.outcome(), Some(Outcome::Succeeded), "{}", world.status.message);
}
