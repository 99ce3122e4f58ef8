//! Limits, exactly at their edges: what still counts, and what no longer does.

use cutover::api::{Duration, Phase, Reason, Verb, request::RequestState, status::Verdict};

use super::{
    super::world::{Metrics, World, Writes, of},
    answer, at_first_step, plain, shows, with_strategy,
};

/// At 25 %, where a long bake has begun and one check has passed.
fn baking(more: &str) -> World {
    let mut world = with_strategy(&format!("{{bake: 2h, {more} steps: [{{progress: 25%}}, {{progress: 100%}}]}}"));
    for _ in 0..60 {
        check(&mut world, Metrics::Good);
        if world.check().is_some_and(|check| check.verdict == Verdict::Pass) {
            break;
        }
    }
    assert_eq!(world.check().map(|check| check.verdict), Some(Verdict::Pass), "{:?}", world.status);
    world
}

/// Passes until one more check is recorded, for a minute at most.
fn check(world: &mut World, metrics: Metrics) {
    let at = |world: &World| world.check().map(|check| check.at);
    let before = at(world);
    world.metrics = metrics;
    for _ in 0..60 {
        world.after(1).probe();
        world.pass();
        if at(world) != before {
            return;
        }
    }
}

fn checks(world: &mut World, metrics: &[Metrics]) {
    for metrics in metrics {
        check(world, *metrics);
    }
}

/// The limit is two failures among the last four verdicts.
#[test]
fn a_failure_counts_as_long_as_it_is_among_the_last_verdicts() {
    use Metrics::{CanaryFails, CanarySilent, Good};
    let between: [(&[Metrics], bool); 3] = [
        (&[Good, Good], true),
        (&[Good, Good, Good], false),
        (&[Good, CanarySilent, CanarySilent, CanarySilent, Good], true),
    ];
    for (between, rolls_back) in between {
        let mut world = baking("");
        check(&mut world, CanaryFails);
        checks(&mut world, between);
        assert!(!world.is_rolling_back(), "{between:?}");
        check(&mut world, CanaryFails);
        assert_eq!(world.is_rolling_back(), rolls_back, "{between:?}: {}", world.status.message);
    }
}

#[test]
fn a_retry_forgets_the_failures_before_it() {
    let mut world = baking("onFailure: Hold,");
    checks(&mut world, &[Metrics::CanaryFails; 2]);
    shows(&world, Phase::Held, Reason::FailureHeld);
    world.ask(Verb::Retry).pass();
    check(&mut world, Metrics::CanaryFails);
    shows(&world, Phase::Progressing, Reason::Baking);
    check(&mut world, Metrics::CanaryFails);
    shows(&world, Phase::Held, Reason::FailureHeld);
}

#[test]
fn the_deadline_is_over_after_its_last_instant_and_a_retry_begins_it_anew() {
    let mut world = baking("onFailure: Hold, progressDeadline: 101s,");
    // The first check vouches for one second, each later one for the interval.
    for used in [1, 0].map(|first| Duration::from_secs(first + 100)) {
        while world.run().deadline_used < used {
            let before = world.run().deadline_used;
            check(&mut world, Metrics::Good);
            assert!(world.run().deadline_used > before, "{}", world.status.message);
        }
        assert_eq!(world.run().deadline_used, used);
        shows(&world, Phase::Progressing, Reason::Baking);
        check(&mut world, Metrics::Good);
        shows(&world, Phase::Held, Reason::FailureHeld);
        let said = format!("the run took {} of 1m41s in which", used.saturating_add(Duration::from_secs(10)));
        assert!(world.status.message.starts_with(&said), "{}", world.status.message);
        world.ask(Verb::Retry).pass();
        assert_eq!(world.run().deadline_used, Duration::ZERO);
    }
}

#[test]
fn only_unknown_checks_in_a_row_reach_their_limit() {
    let mut world = baking("");
    world.spec.analysis.unknown =
        serde_json::from_value(serde_json::json!({"limit": 3, "action": "Rollback"})).unwrap();
    checks(&mut world, &[Metrics::CanarySilent; 2]);
    for known in [Metrics::Good, Metrics::CanaryFails] {
        check(&mut world, known);
        checks(&mut world, &[Metrics::CanarySilent; 2]);
        shows(&world, Phase::Held, Reason::MetricsUnknown);
    }
    check(&mut world, Metrics::CanarySilent);
    assert_eq!(world.rollback().map(|rollback| rollback.reason), Some(Reason::UnknownLimit));
}

#[test]
fn a_canary_is_down_at_the_third_probe_in_a_row_and_not_before() {
    let mut world = at_first_step();
    let mut probe = |down: bool| {
        world.down.clear();
        world.down.extend(down.then(|| "eu-3".to_owned()));
        world.after(1).probe();
        world.pass();
        world.is_rolling_back()
    };
    let rolls_back = [true, true, false, true, true, true].map(&mut probe);
    assert_eq!(rolls_back, [false, false, false, false, false, true]);
}

#[test]
fn a_rollback_that_nobody_confirms_is_said_after_a_minute() {
    let mut world = at_first_step();
    let key = world.routes.keys().next().unwrap().clone();
    world.writes.insert(key, Writes::NotAccepted);
    world.ask(Verb::Abort).pass();
    world.after(59).pass();
    shows(&world, Phase::Progressing, Reason::Aborted);
    world.after(1).pass();
    shows(&world, Phase::Held, Reason::NotConfirmed);
}

#[test]
fn an_edit_of_an_hour_ago_is_forgotten() {
    for (seconds, shown) in [(3599, [10, 90]), (3600, [75, 25])] {
        let mut world = baking("");
        let first = world.now;
        for _ in 0..2 {
            world.edit(&[("eu-1", 10), ("eu-3", 90)]).pass();
            world.run_for(3);
        }
        world.now = first;
        world.after(seconds).edit(&[("eu-1", 10), ("eu-3", 90)]).pass();
        assert_eq!(world.live(), of(&[("eu-1", shown[0]), ("eu-3", shown[1])]), "{}", world.status.message);
    }
}

#[test]
fn a_request_is_good_for_ten_minutes() {
    for (seconds, state) in [(600, RequestState::Applied), (601, RequestState::Expired)] {
        let mut world = at_first_step();
        world.ask(Verb::Pause).pass();
        world.ask(Verb::Resume).after(seconds).pass();
        assert_eq!(answer(&world).0, state, "after {seconds} s");
    }
}

#[test]
fn a_soak_is_over_at_its_last_instant() {
    let mut world = plain();
    world.spec.strategy.keep_previous = Some(Duration::from_secs(600));
    while world.status.phase != Phase::Soaking {
        world.after(1).probe();
        world.pass();
    }
    world.run_for(598);
    world.probe();
    world.pass();
    shows(&world, Phase::Soaking, Reason::KeepingPrevious);
    world.after(1).probe();
    world.pass();
    assert_ne!(world.status.reason, Reason::KeepingPrevious, "{}", world.status.message);
}
