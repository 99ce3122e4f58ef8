//! What people ask for, by request and by spec.

use cutover::api::{Phase, Reason, Verb, request::RequestState, status::Verdict};

use super::{
    super::world::{Crash, Metrics, of},
    answer, at_first_step, shows,
};

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
    let said = world.status.clone();
    world.run_for(300);
    assert_eq!(world.status, said, "it is said once");
    assert!(world.pass().actions.is_empty());
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
    assert!(world.run().pause.is_none());
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
fn what_people_requested_and_why_is_kept_in_the_record_of_the_run() {
    let mut world = at_first_step();
    for (verb, reason) in [(Verb::Pause, Some("a look")), (Verb::Resume, None), (Verb::Abort, Some("complaints"))] {
        world.ask(verb).requests.last_mut().unwrap().spec.reason = reason.map(str::to_owned);
        world.run_for(2);
    }
    let record = world.ended_run().unwrap();
    let kept: Vec<_> =
        record.requests.iter().map(|kept| (kept.verb, kept.by.as_str(), kept.reason.as_deref())).collect();
    assert_eq!(
        kept,
        [
            (Verb::Pause, "alice", Some("a look")),
            (Verb::Resume, "alice", None),
            (Verb::Abort, "alice", Some("complaints"))
        ]
    );
    assert!(record.message.ends_with("requested Abort: complaints"), "{}", record.message);
    world.ask(Verb::Retry).requests.last_mut().unwrap().spec.reason = Some("fixed".to_owned());
    world.run_for(2);
    let began = &world.run().requests[0];
    assert_eq!((began.verb, began.reason.as_deref()), (Verb::Retry, Some("fixed")));
}

#[test]
fn the_reason_of_a_pause_is_in_its_message() {
    let mut world = at_first_step();
    world.ask(Verb::Pause).requests.last_mut().unwrap().spec.reason = Some("a look".to_owned());
    world.run_for(100);
    let message = "alice requested a pause: a look; checks and rollback go on; cutover resume goes on";
    assert_eq!(world.status.message, message);
}

#[test]
fn a_record_says_how_the_weights_moved_and_what_the_checks_said_of_each() {
    let mut world = at_first_step();
    world.run_for(30);
    world.metrics = Metrics::CanaryBreaksGuard;
    world.run_for(60);
    let record = world.ended_run().unwrap();
    let first = &record.moves[0];
    assert_eq!((first.step, &first.weights), (1, &of(&[("eu-1", 75), ("eu-3", 25)])));
    let last = record.moves.last().unwrap();
    assert_eq!((&last.weights, last.verdict), (&of(&[("eu-1", 100)]), None));
    let judged = &record.moves[record.moves.len() - 2];
    assert_eq!(judged.verdict, Some(Verdict::Fail));
    assert!(record.moves.iter().all(|one| !one.weights.is_empty()) && record.moves.is_sorted_by_key(|one| one.at));
}
