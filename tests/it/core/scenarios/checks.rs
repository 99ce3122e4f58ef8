//! What the checks say, and what follows from it.

use cutover::api::{Phase, Reason, Verb, request::RequestState, status::Verdict};

use super::{
    super::world::{Metrics, World, of, spec},
    answer, at_first_step, plain, shows, with_strategy,
};

#[test]
fn a_guard_rolls_back_in_the_pass_that_sees_the_breach() {
    let mut world = at_first_step();
    world.metrics = Metrics::CanaryBreaksGuard;
    while !world.is_rolling_back() {
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
fn failed_checks_roll_back_at_their_limit_and_the_revision_is_not_tried_again_until_a_retry() {
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
    assert_eq!(world.check().unwrap().unknown_in_a_row, 0);
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
fn an_analysis_that_is_changed_in_mid_run_applies_at_the_next_check_and_is_announced() {
    let mut world = at_first_step();
    world.metrics = Metrics::TooFew;
    world.run_for(20);
    shows(&world, Phase::Held, Reason::TooFewSamples);
    let announced =
        |world: &World| world.status.transitions.iter().filter(|one| one.reason == Reason::AnalysisChanged).count();
    assert_eq!(announced(&world), 0);
    world.spec.analysis.metrics[0].min_samples = 3;
    world.run_for(12);
    assert_eq!(world.check().unwrap().verdict, Verdict::Pass);
    assert_eq!(announced(&world), 1);
    world.run_for(30);
    assert_eq!(announced(&world), 1, "once, and not at every check");
}

/// Somebody wrote `metrics: []`: nothing is measured, and nothing that is said sounds as if it were.
#[test]
fn without_metrics_time_and_probes_judge_and_nothing_is_said_to_pass() {
    let mut world = without_metrics();
    let (mut waited, mut written_at) = (false, Vec::new());
    for _ in 0..150 {
        world.run_for(0);
        written_at.resize(world.written.len(), world.elapsed);
        let status = &world.status;
        let transitions = status.transitions.iter().map(|transition| &transition.message);
        for said in transitions.chain([&status.message]) {
            assert!(!said.contains("pass"), "{said}");
        }
        assert!(["", "NotMeasured"].contains(&status.summary.verdict.as_str()), "{}", status.summary.verdict);
        if status.phase == Phase::WaitingPromotion {
            waited = true;
            assert!(world.run().bake().passes >= 2, "two intervals, as the step says");
            world.ask(Verb::Promote);
        }
    }
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    let [first, second, _] = written_at[..] else { panic!("{written_at:?}") };
    assert!(second - first >= 25, "settle and bake: {written_at:?}");
    let ended = world.status.history.last().unwrap();
    assert!(waited && ended.message == "every step is over, with nothing measured", "{}", ended.message);
    assert!(ended.moves.iter().all(|moved| moved.verdict.is_none()), "{:?}", ended.moves);
    let check = ended.check.as_ref().unwrap();
    assert_eq!((check.reason, check.passed_at), (Reason::NothingMeasured, None));
}

#[test]
fn without_metrics_an_endpoint_that_is_down_still_rolls_back() {
    let mut world = without_metrics();
    world.run_for(12);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "{:?}", world.status);
    world.down.insert("eu-3".to_owned());
    world.run_for(10);
    shows(&world, Phase::Failed, Reason::EndpointDown);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

fn without_metrics() -> World {
    let yaml = "members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]\nanalysis: {metrics: []}\n\
                strategy: {bake: 20s, steps: [{progress: 25%}, {progress: 50%, iterations: 2, wait: Promotion}, {progress: 100%}]}";
    World::new(spec(yaml), &[("eu-1", 100)])
}
