//! Each rule of the machine, as a scenario and what happened.

use cutover::api::{
    Phase, Reason, Verb,
    request::RequestState,
    status::{Outcome, Verdict},
};

use super::world::{Crash, Metrics, RouteInWorld, World, Writes, of, spec};

/// eu-1 -> eu-3 through 25 % and 50 %; interval 10 s, settle 5 s, bake 20 s.
const PLAIN: &str = "
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy: {bake: 20s, steps: [{progress: 25%}, {progress: 50%}, {progress: 100%}]}
";

fn plain() -> World {
    World::new(spec(PLAIN), &[("eu-1", 100)])
}

/// At 25 %, confirmed.
fn at_first_step() -> World {
    let mut world = plain();
    world.run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "{:?}", world.status);
    world
}

fn with_strategy(strategy: &str) -> World {
    World::new(
        spec(&format!("members: [{{name: eu-1, weight: 0}}, {{name: eu-3, weight: 100}}]\nstrategy: {strategy}")),
        &[("eu-1", 100)],
    )
}

fn shows(world: &World, phase: Phase, reason: Reason) {
    let status = &world.status;
    assert_eq!((status.phase, status.reason), (phase, reason), "{}", status.message);
}

fn outcome(world: &World) -> Option<Outcome> {
    world.status.run.as_ref().and_then(|run| run.outcome)
}

fn answer(world: &World) -> (RequestState, &str) {
    let (_, state, reason) = world.answered.last().expect("an answer");
    (*state, reason)
}

#[test]
fn a_promotion_goes_through_every_step_and_the_target_becomes_the_primary() {
    let mut world = plain();
    world.run_for(150);
    let steps: Vec<_> = world.written.iter().map(|(_, weights)| weights.clone()).collect();
    let expected = [(75, 25), (50, 50), (0, 100)].map(|(old, new)| of(&[("eu-1", old), ("eu-3", new)]));
    assert_eq!(steps, expected);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    assert_eq!(world.status.primary, Some(of(&[("eu-1", 0), ("eu-3", 100)])));
    assert_eq!(outcome(&world), Some(Outcome::Succeeded));
}

#[test]
fn initialization_reads_the_primary_from_the_live_route_and_moves_nothing() {
    let mut world = World::new(spec("members: [{name: eu-1, weight: 100}, {name: eu-3, weight: 0}]"), &[("eu-1", 100)]);
    world.run_for(60);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    assert!(world.written.is_empty());
}

#[test]
fn the_primary_is_never_guessed() {
    let mut world = plain();
    let keys: Vec<_> = world.routes.keys().cloned().collect();
    world.routes.insert(keys[0].clone(), None);
    world.run_for(5);
    shows(&world, Phase::Initializing, Reason::PrimaryUnknown);
    assert!(world.written.is_empty());
    world.spec.members[0].initial_weight = Some(100);
    world.run_for(3);
    assert_eq!(world.written[0].1, of(&[("eu-1", 100)]), "the route is made at the primary");
}

#[test]
fn a_member_with_traffic_that_is_not_declared_is_refused() {
    let mut world = World::new(spec(PLAIN), &[("eu-9", 100)]);
    world.run_for(5);
    shows(&world, Phase::Initializing, Reason::MemberNotDeclared);
    assert_eq!(
        world.status.message,
        "eu-9 carries 100 of 100 but is not in spec.members; to take it out say weight: 0"
    );
}

#[test]
fn routes_that_differ_are_refused_with_what_they_show() {
    let services = "services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: a}}, {gatewayAPI: {name: b}}]}]";
    let mut world = World::new(spec(&format!("{services}{PLAIN}")), &[("eu-1", 100)]);
    world.routes.values_mut().next().unwrap().as_mut().unwrap().weights = of(&[("eu-1", 90), ("eu-3", 10)]);
    world.run_for(5);
    shows(&world, Phase::Initializing, Reason::PrimaryDiffers);
    assert!(world.written.is_empty());
}

#[test]
fn a_guard_rolls_back_in_the_pass_that_sees_the_breach() {
    let mut world = at_first_step();
    world.metrics = Metrics::CanaryBreaksGuard;
    while world.status.run.as_ref().unwrap().rollback.is_none() {
        world.after(1).probe();
        world.pass();
    }
    assert_eq!(world.live(), of(&[("eu-1", 100)]), "written in the same pass");
    world.run_for(2);
    shows(&world, Phase::Failed, Reason::GuardBreached);
    assert_eq!(
        world.status.history.last().unwrap().message,
        "errors of shop: all canaries together: 100 % of 40 requests is beyond the guard (max 20)"
    );
}

#[test]
fn failed_checks_roll_back_at_their_limit_and_the_revision_is_not_tried_again_until_asked() {
    let mut world = at_first_step();
    world.metrics = Metrics::CanaryFails;
    world.run_for(40);
    shows(&world, Phase::Failed, Reason::ChecksFailed);
    let writes = world.written.len();
    world.metrics = Metrics::Good;
    world.run_for(120);
    assert_eq!(world.written.len(), writes, "not tried again by itself");
    world.ask(Verb::Retry).run_for(10);
    assert_eq!(answer(&world).0, RequestState::Applied);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn a_revision_declared_again_after_another_one_is_a_new_attempt() {
    let mut world = at_first_step();
    world.metrics = Metrics::CanaryFails;
    world.run_for(40);
    world.metrics = Metrics::Good;
    world.declare(&[("eu-1", 100)]).run_for(5);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    world.declare(&[("eu-3", 100)]).run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn unknown_holds_and_is_neither_success_nor_failure() {
    let mut world = at_first_step();
    world.metrics = Metrics::CanarySilent;
    world.run_for(400);
    shows(&world, Phase::Held, Reason::MetricsUnknown);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    assert_eq!(world.status.message, "errors of shop: eu-3: prometheus: connection refused");
    world.metrics = Metrics::Good;
    world.run_for(40);
    assert_eq!(world.live(), of(&[("eu-1", 50), ("eu-3", 50)]));
}

#[test]
fn too_few_requests_are_unknown() {
    let mut world = at_first_step();
    world.metrics = Metrics::TooFew;
    world.run_for(40);
    shows(&world, Phase::Held, Reason::TooFewSamples);
    assert_eq!(world.status.message, "errors of shop: 3 samples, minSamples is 100; wait for more, or lower it");
}

#[test]
fn too_many_unknown_checks_roll_back_where_that_is_declared() {
    let mut world = at_first_step();
    world.spec.analysis.unknown =
        serde_json::from_value(serde_json::json!({"limit": 3, "action": "Rollback"})).unwrap();
    world.metrics = Metrics::CanarySilent;
    world.run_for(60);
    shows(&world, Phase::Failed, Reason::UnknownLimit);
}

#[test]
fn a_shared_incident_is_not_the_canarys() {
    let mut world = at_first_step();
    world.metrics = Metrics::AllFail;
    world.run_for(300);
    shows(&world, Phase::Held, Reason::PrimaryFailsToo);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    assert_eq!(world.status.run.as_ref().unwrap().check.as_ref().unwrap().unknown_in_a_row, 0);
}

#[test]
fn a_canary_whose_endpoint_does_not_answer_is_rolled_back_within_three_probes() {
    let mut world = at_first_step();
    world.down.insert("eu-3".to_owned());
    for _ in 0..3 {
        world.after(1).probe();
        world.pass();
    }
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    world.run_for(2);
    shows(&world, Phase::Failed, Reason::EndpointDown);
}

#[test]
fn a_member_that_was_down_before_the_first_step_gets_weight_when_it_is_back_for_good() {
    let mut world = plain();
    world.down.insert("eu-3".to_owned());
    world.run_for(20);
    shows(&world, Phase::Held, Reason::MemberNotReady);
    world.down.clear();
    world.after(1).probe();
    world.pass();
    shows(&world, Phase::Held, Reason::MemberNotReady);
    assert_eq!(
        world.status.message,
        "the endpoint of eu-3 for shop was down and has answered 1 of 3 probes in a row since"
    );
    world.run_for(5);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn who_comes_back_second_from_the_same_incident_is_not_rolled_back() {
    let mut world = at_first_step();
    world.down.extend(["eu-1".to_owned(), "eu-3".to_owned()]);
    world.run_for(60);
    shows(&world, Phase::Held, Reason::PrimaryFailsToo);
    world.down.remove("eu-1");
    world.after(1).probe();
    world.pass();
    shows(&world, Phase::Held, Reason::PrimaryFailsToo);
    world.down.clear();
    world.run_for(5);
    shows(&world, Phase::Progressing, Reason::Settling);
    assert_eq!(world.live(), of(&[("eu-1", 50), ("eu-3", 50)]));
}

#[test]
fn endpoints_that_nobody_reaches_are_the_hubs_trouble() {
    let mut world = at_first_step();
    world.down.extend(["eu-1".to_owned(), "eu-3".to_owned()]);
    world.run_for(60);
    shows(&world, Phase::Held, Reason::PrimaryFailsToo);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn a_dead_primary_gives_its_weight_to_the_others_and_gets_it_back() {
    let members = "members: [{name: eu-1, weight: 40}, {name: eu-2, weight: 40}, {name: eu-3, weight: 20}]
strategy: {bake: 20s, steps: [{progress: 50%}, {progress: 100%}]}";
    let mut world = World::new(spec(members), &[("eu-1", 50), ("eu-2", 50)]);
    world.run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 45), ("eu-2", 45), ("eu-3", 10)]));
    world.down.insert("eu-1".to_owned());
    world.run_for(20);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-2", 90), ("eu-3", 10)]));
    world.run_for(60);
    shows(&world, Phase::Held, Reason::RollbackTargetUnavailable);
    world.down.clear();
    world.run_for(5);
    assert_eq!(world.live(), of(&[("eu-1", 45), ("eu-2", 45), ("eu-3", 10)]));
}

#[test]
fn a_rollback_gives_nothing_to_a_dead_primary() {
    let members = "members: [{name: eu-1, weight: 40}, {name: eu-2, weight: 40}, {name: eu-3, weight: 20}]
strategy: {bake: 20s, steps: [{progress: 50%}, {progress: 100%}]}";
    let mut world = World::new(spec(members), &[("eu-1", 50), ("eu-2", 50)]);
    world.run_for(8);
    world.down.insert("eu-1".to_owned());
    world.run_for(5);
    world.ask(Verb::Abort);
    world.pass();
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-2", 100)]));
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
fn pauses_stop_advances_but_never_a_rollback() {
    let mut world = at_first_step();
    world.ask(Verb::Pause).run_for(100);
    shows(&world, Phase::Paused, Reason::PausedByRequest);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    world.metrics = Metrics::CanaryBreaksGuard;
    world.run_for(20);
    shows(&world, Phase::Failed, Reason::GuardBreached);
}

#[test]
fn resume_is_refused_against_the_spec() {
    let mut world = at_first_step();
    world.spec.paused = true;
    world.run_for(60);
    shows(&world, Phase::Paused, Reason::PausedBySpec);
    world.ask(Verb::Resume).run_for(1);
    assert_eq!(answer(&world), (RequestState::Refused, "spec.paused is true; set it to false"));
}

#[test]
fn suspended_means_that_nothing_is_written() {
    let mut world = at_first_step();
    world.spec.suspend = true;
    world.metrics = Metrics::CanaryBreaksGuard;
    let writes = world.written.len();
    world.run_for(60);
    shows(&world, Phase::Paused, Reason::Suspended);
    assert_eq!(world.written.len(), writes);
}

#[test]
fn abort_wins_over_all_others() {
    let mut world = at_first_step();
    world.ask(Verb::Pause).ask(Verb::Abort);
    world.pass();
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    world.run_for(2);
    shows(&world, Phase::RolledBack, Reason::Aborted);
    assert_eq!(world.status.failed_revision.as_deref(), Some(cutover::rollout::revision(&world.spec).as_str()));
}

#[test]
fn a_request_is_applied_once_even_if_the_hub_dies_before_it_answers() {
    let mut world = at_first_step();
    world.ask(Verb::Pause);
    world.pass_until(Crash::AfterStatus);
    world.ask(Verb::Resume);
    world.run_for(3);
    let states: Vec<_> = world.answered.iter().map(|answer| answer.1).collect();
    assert_eq!(states, [RequestState::Applied, RequestState::Applied]);
    assert!(world.status.run.as_ref().unwrap().pause.is_none());
}

#[test]
fn requests_for_another_run_and_late_ones_are_refused() {
    let mut world = at_first_step();
    world.ask(Verb::Pause);
    world.requests[0].spec.run = 7;
    world.run_for(1);
    assert_eq!(answer(&world), (RequestState::Refused, "meant for run 7, but this is run 1"));
    world.ask(Verb::Retry).after(700);
    world.pass();
    assert_eq!(answer(&world), (RequestState::Expired, "older than 10m; ask again"));
}

#[test]
fn bake_stands_still_while_unknown_and_starts_again_after_a_fail() {
    let baked = |world: &World| world.status.run.as_ref().unwrap().baked.as_millis();
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
fn a_crash_loop_never_promotes_faster() {
    let mut world = with_strategy("{bake: 60s, steps: [{progress: 25%}, {progress: 100%}]}");
    world.run_for(8);
    let start = world.now;
    while world.live() == of(&[("eu-1", 75), ("eu-3", 25)]) {
        world.restart().run_for(3);
        assert!(world.now.duration_since(start).as_secs() < 300, "{}", world.status.message);
    }
    assert!(world.now.duration_since(start).as_secs() >= 60);
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
    assert_eq!(world.live()["eu-3"], 100, "{}", world.status.message);
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
}

#[test]
fn on_failure_hold_waits_for_a_person_but_the_guard_still_rolls_back() {
    let mut world = with_strategy("{bake: 20s, onFailure: Hold, steps: [{progress: 25%}, {progress: 100%}]}");
    world.run_for(8);
    world.metrics = Metrics::CanaryFails;
    world.run_for(60);
    shows(&world, Phase::Held, Reason::FailureHeld);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    world.metrics = Metrics::CanaryBreaksGuard;
    world.run_for(20);
    shows(&world, Phase::Failed, Reason::GuardBreached);
}

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
    assert!(world.status.run.as_ref().unwrap().check.is_none());
}

#[test]
fn an_edit_that_only_lowers_canaries_is_obeyed_and_resume_writes_the_step_again() {
    let mut world = at_first_step();
    world.edit(&[("eu-1", 95), ("eu-3", 5)]).run_for(100);
    shows(&world, Phase::Paused, Reason::PausedByForeignEdit);
    assert_eq!(world.live(), of(&[("eu-1", 95), ("eu-3", 5)]));
    assert!(world.status.message.starts_with("kubectl-edit set HTTPRoute/shop-0 (shop) to eu-1:95 eu-3:5"));
    world.restart().run_for(20);
    assert_eq!(world.live(), of(&[("eu-1", 95), ("eu-3", 5)]), "also after a takeover");
    world.ask(Verb::Resume).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    assert_eq!(world.status.run.as_ref().unwrap().baked.as_millis(), 0);
}

/// Whoever lowers one weight leaves the others, and the sum is no longer whole.
#[test]
fn an_edit_of_one_weight_alone_is_judged_like_any_other() {
    let uneven = |world: &mut World, weights: &[(&str, u32)]| {
        world.edit(weights);
        world.routes.values_mut().flatten().for_each(|route| route.uneven = true);
    };
    let mut world = at_first_step();
    uneven(&mut world, &[("eu-1", 94), ("eu-3", 6)]);
    world.run_for(20);
    shows(&world, Phase::Paused, Reason::PausedByForeignEdit);
    world.ask(Verb::Abort).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 100)]), "it keeps nobody from going back");

    let mut world = at_first_step();
    uneven(&mut world, &[("eu-1", 75), ("eu-3", 25)]);
    let before = world.written.len();
    world.run_for(3);
    assert!(world.routes.values().flatten().all(|route| !route.uneven), "what is nearly right is made right");
    assert_eq!(world.written.len(), before + world.routes.len());
}

#[test]
fn an_edit_that_raises_a_canary_is_put_back_twice_and_then_held() {
    let mut world = at_first_step();
    for _ in 0..2 {
        world.edit(&[("eu-1", 10), ("eu-3", 90)]);
        world.pass();
        assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
        world.run_for(3);
    }
    world.edit(&[("eu-1", 10), ("eu-3", 90)]).run_for(5);
    shows(&world, Phase::Held, Reason::ForeignEditsRepeat);
    assert_eq!(world.live(), of(&[("eu-1", 10), ("eu-3", 90)]));
    world.ask(Verb::Abort).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

#[test]
fn an_edit_is_counted_once_however_often_the_write_that_puts_it_back_conflicts() {
    let mut world = at_first_step();
    let key = world.routes.keys().next().unwrap().clone();
    world.writes.insert(key, Writes::Conflict);
    world.edit(&[("eu-1", 10), ("eu-3", 90)]).run_for(5);
    assert_eq!(world.status.run.as_ref().unwrap().put_back.len(), 1);
    world.writes.clear();
    world.run_for(1);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn in_a_rollback_every_edit_is_put_back() {
    let mut world = at_first_step();
    let key = world.routes.keys().next().unwrap().clone();
    world.writes.insert(key.clone(), Writes::NotAccepted);
    world.ask(Verb::Abort).run_for(3);
    world.edit(&[("eu-1", 50), ("eu-3", 50)]).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    world.writes.clear();
    world.routes.get_mut(&key).unwrap().as_mut().unwrap().accepted = cutover::rollout::input::Accepted::Yes;
    world.run_for(3);
    shows(&world, Phase::RolledBack, Reason::Aborted);
}

#[test]
fn outside_a_run_an_edit_is_told_and_left() {
    let mut world = plain();
    world.run_for(150);
    world.edit(&[("eu-1", 20), ("eu-3", 80)]).run_for(20);
    shows(&world, Phase::Held, Reason::RouteDrifted);
    assert_eq!(world.live(), of(&[("eu-1", 20), ("eu-3", 80)]));
    world.ask(Verb::Adopt).run_for(2);
    assert_eq!(world.status.primary, Some(of(&[("eu-1", 20), ("eu-3", 80)])));
}

#[test]
fn an_old_status_over_newer_routes_writes_nothing_until_adopt() {
    let mut world = at_first_step();
    let old = world.status.clone();
    world.run_for(40);
    let live = world.live();
    let writes = world.written.len();
    world.status = old;
    world.restart().run_for(60);
    shows(&world, Phase::Held, Reason::StatusBehindRoute);
    assert_eq!(world.written.len(), writes);
    world.ask(Verb::Adopt);
    world.pass();
    assert_eq!(world.status.primary, Some(live));
}

#[test]
fn a_new_life_of_the_hub_does_nothing_before_it_has_read_the_routes() {
    let mut world = at_first_step();
    let old = world.status.clone();
    world.run_for(40);
    assert_eq!(world.status.sequence, old.sequence + 1, "the instance before wrote once more");
    world.status = old.clone();
    world.restart().unlisted = true;
    world.run_for(5);
    assert_eq!(world.status, old);
    world.unlisted = false;
    world.run_for(5);
    shows(&world, Phase::Held, Reason::StatusBehindRoute);
}

#[test]
fn a_deletion_waits_until_the_routes_were_read() {
    let mut world = plain();
    world.run_for(150);
    world.restart().unlisted = true;
    world.deleting = true;
    world.run_for(5);
    assert!(!world.gone, "a route that was not read may still carry our mark");
    world.unlisted = false;
    world.run_for(5);
    assert!(world.gone);
    assert!(world.routes.values().flatten().all(|route| route.mark.is_none()));
}

#[test]
fn another_hubs_mark_is_respected() {
    let mut world = plain();
    for route in world.routes.values_mut().flatten() {
        route.mark =
            Some(cutover::rollout::input::Mark { hub: "other".into(), rollout: "x".into(), run: 1, sequence: 3 });
    }
    world.run_for(20);
    shows(&world, Phase::Held, Reason::OwnedByOtherHub);
    assert!(world.written.is_empty());
}

#[test]
fn a_takeover_marks_every_route_before_anything_else_and_keeps_the_dwell() {
    let mut world = with_strategy("{bake: 60s, steps: [{progress: 25%}, {progress: 100%}]}");
    world.run_for(40);
    let baked = world.status.run.as_ref().unwrap().baked;
    let sequence = world.status.sequence;
    world.restart();
    world.pass();
    let mark = world.routes.values().flatten().next().unwrap().mark.clone().unwrap();
    assert_eq!(mark.sequence, sequence + 1);
    assert_eq!(world.status.run.as_ref().unwrap().baked, baked);
}

#[test]
fn a_new_target_in_mid_run_starts_from_the_confirmed_distribution() {
    let mut world = at_first_step();
    world.declare(&[("eu-2", 100)]).run_for(8);
    let run = world.status.run.as_ref().unwrap();
    assert_eq!(run.start, of(&[("eu-1", 75), ("eu-3", 25)]));
    assert_eq!(run.rollback_to, of(&[("eu-1", 100)]), "the rollback target is the old primary");
    world.metrics = Metrics::CanaryBreaksGuard;
    world.run_for(20);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

#[test]
fn a_new_target_does_not_keep_a_step_that_nobody_confirms() {
    let mut world = at_first_step();
    let key = world.routes.keys().next().unwrap().clone();
    world.writes.insert(key.clone(), Writes::NotAccepted);
    world.run_for(30);
    assert_eq!(world.live(), of(&[("eu-1", 50), ("eu-3", 50)]));
    world.declare(&[("eu-2", 100)]).run_for(80);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "{}", world.status.message);
}

#[test]
fn a_new_target_gives_a_canary_no_more_before_it_is_proven_where_it_stands() {
    let mut world = at_first_step();
    world.metrics = Metrics::CanarySilent;
    world.declare(&[("eu-2", 10), ("eu-3", 90)]).run_for(60);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "{}", world.status.message);
    world.metrics = Metrics::Good;
    world.run_for(60);
    assert!(world.live()["eu-3"] > 25, "{:?}", world.live());
}

#[test]
fn the_old_primary_as_the_new_target_is_a_rollback_at_once() {
    let mut world = at_first_step();
    world.declare(&[("eu-1", 100)]);
    world.pass();
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    world.run_for(3);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    assert_eq!(outcome(&world), Some(Outcome::RolledBack));
}

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
    let run = world.status.run.as_ref().unwrap();
    assert_eq!(
        (&run.start, &run.rollback_to),
        (&of(&[("eu-1", 0), ("eu-3", 100)]), &of(&[("eu-1", 0), ("eu-3", 100)]))
    );
}

#[test]
fn deleting_in_mid_run_ends_on_the_primary_and_gives_the_routes_back() {
    let mut world = at_first_step();
    world.deleting = true;
    world.run_for(10);
    assert!(world.gone);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    assert_eq!(world.released.len(), 1);
    assert!(world.routes.values().flatten().all(|route| route.mark.is_none()));
}

#[test]
fn deleted_while_suspended_writes_no_route() {
    let mut world = at_first_step();
    world.spec.suspend = true;
    world.deleting = true;
    world.run_for(5);
    assert!(world.gone);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn another_cluster_behind_a_members_name_voids_the_evidence() {
    let mut world = at_first_step();
    world.identities.insert("eu-3".to_owned(), "another".to_owned());
    world.run_for(60);
    shows(&world, Phase::Held, Reason::ClusterIdentityChanged);
    assert_eq!(
        world.status.message,
        "eu-3 is another cluster, or is reached elsewhere, than when the run began; look, then cutover retry or abort"
    );
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn a_share_that_is_not_observed_holds() {
    let mut world = plain();
    world.spec.analysis.share = serde_json::from_value(serde_json::json!({"within": 5.0})).unwrap();
    world.run_for(60);
    shows(&world, Phase::Held, Reason::WeightNotObserved);
    assert_eq!(
        world.status.message,
        "eu-1 was observed at 50 % of shop, not 75 %; look for another way to it, sticky sessions, or a route that ignores weights"
    );
}

#[test]
fn what_rests_writes_nothing() {
    let mut world = plain();
    world.run_for(150);
    let before = world.status.clone();
    for _ in 0..20 {
        world.after(30).probe();
        assert!(world.pass().actions.is_empty());
    }
    assert_eq!(world.status, before);
}

#[test]
fn while_a_person_is_waited_for_unchanged_checks_are_not_recorded() {
    let mut world = with_strategy("{bake: 20s, steps: [{progress: 25%, wait: Promotion}, {progress: 100%}]}");
    world.run_for(120);
    let before = world.status.clone();
    world.run_for(300);
    assert_eq!(world.status, before);
    world.run_for(400);
    assert_ne!(world.status, before, "the numbers are refreshed every ten minutes");
    assert_eq!(world.status.run.as_ref().unwrap().check.as_ref().unwrap().verdict, Verdict::Pass);
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
fn a_route_that_somebody_made_anew_in_mid_run_is_obeyed_where_it_lowers_and_told() {
    let mut world = at_first_step();
    for route in world.routes.values_mut().flatten() {
        (route.mark, route.weights) = (None, of(&[("eu-1", 100)]));
    }
    world.run_for(30);
    shows(&world, Phase::Paused, Reason::PausedByForeignEdit);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    world.ask(Verb::Resume).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn a_spec_that_is_edited_every_second_is_followed_to_the_newest_only() {
    let mut world = plain();
    for second in 0..120 {
        world.declare(&[("eu-1", second % 100), ("eu-3", 100 - second % 100)]).run_for(1);
    }
    world.declare(&[("eu-1", 40), ("eu-3", 60)]).run_for(300);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    assert_eq!(world.live(), of(&[("eu-1", 40), ("eu-3", 60)]));
    let bytes = serde_json::to_vec(&world.status).unwrap().len();
    assert!(bytes < 64 << 10, "the status has {bytes} bytes");
}

#[test]
fn verdicts_that_go_back_and_forth_are_counted_among_the_last_ones() {
    let mut world = at_first_step();
    for _ in 0..3 {
        world.metrics = Metrics::CanaryFails;
        world.run_for(10);
        world.metrics = Metrics::Good;
        world.run_for(10);
    }
    shows(&world, Phase::Failed, Reason::ChecksFailed);
}

#[test]
fn an_analysis_that_is_changed_in_mid_run_applies_at_the_next_check_and_is_told() {
    let mut world = at_first_step();
    world.metrics = Metrics::TooFew;
    world.run_for(20);
    shows(&world, Phase::Held, Reason::TooFewSamples);
    let told =
        |world: &World| world.status.transitions.iter().filter(|one| one.reason == Reason::AnalysisChanged).count();
    assert_eq!(told(&world), 0);
    world.spec.analysis.metrics[0].min_samples = 3;
    world.run_for(12);
    assert_eq!(world.status.run.as_ref().unwrap().check.as_ref().unwrap().verdict, Verdict::Pass);
    assert_eq!(told(&world), 1);
    world.run_for(30);
    assert_eq!(told(&world), 1, "once, and not at every check");
}

#[test]
fn a_backend_that_is_taken_away_in_mid_run_is_made_again() {
    let mut world = at_first_step();
    world.unready_backends = true;
    world.run_for(1);
    assert!(!world.unready_backends, "{:?}", world.status);
}
