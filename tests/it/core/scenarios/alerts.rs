//! Alerts are recorded with what they announce, kept until they are delivered, and repeated while the rollout is held.

use cutover::api::{
    Alert, Reason, Severity, Verb,
    alert::{About, AlertsStatus, PendingAlert},
};

use super::super::world::{Metrics, World, spec};

/// An alert of each severity.
fn alerted(strategy: &str) -> World {
    let mut world = World::new(
        spec(&format!("members: [{{name: eu-1, weight: 0}}, {{name: eu-3, weight: 100}}]\nstrategy: {strategy}")),
        &[("eu-1", 100)],
    );
    world.spec.alerts = ["Info", "Warn", "Error"].map(declared).into();
    world
}

fn declared(severity: &str) -> Alert {
    let name = severity.to_lowercase();
    serde_json::from_value(serde_json::json!({"name": name, "severity": severity, "providerRef": {"name": "chat"}}))
        .unwrap()
}

const STEPS: &str = "{bake: 20s, steps: [{progress: 25%}, {progress: 100%}]}";

fn alerts(world: &World) -> &AlertsStatus {
    world.status.alerts.as_ref().unwrap()
}

fn pending(world: &World) -> &[PendingAlert] {
    &alerts(world).pending
}

/// What waits to be sent by the alert of this name.
fn to(world: &World, name: &str) -> Vec<(About, Reason)> {
    let own = pending(world).iter().filter(|alert| alert.to.iter().any(|to| to == name));
    own.map(|alert| (alert.about, alert.reason)).collect()
}

/// All that waits is delivered, and the next pass records it.
fn deliver(world: &mut World) -> Vec<PendingAlert> {
    let waited = pending(world).to_vec();
    let sent = waited.iter().flat_map(|alert| alert.to.iter().map(|name| (alert.number, name.clone())));
    world.deliveries.sent = sent.collect();
    world.pass();
    world.deliveries.sent.clear();
    assert!(pending(world).is_empty());
    waited
}

/// Seconds pass, with a look once a minute.
fn minutes(world: &mut World, minutes: i64) {
    for _ in 0..minutes {
        world.after(60).probe();
        world.pass();
    }
}

#[test]
fn every_transition_is_recorded_in_the_write_that_makes_it() {
    let mut world = alerted(STEPS);
    let mut seen = 0;
    for _ in 0..60 {
        world.probe();
        world.pass();
        world.after(1);
        let newest = world.status.transitions.last().map_or(0, |transition| transition.number);
        assert_eq!(world.status.alerts.as_ref().map_or(0, |alerts| alerts.last), newest, "one alert for each");
        seen = newest;
    }
    assert!(seen >= 4, "{:?}", world.status.transitions);
    let messages: Vec<&str> = pending(&world).iter().map(|alert| alert.message.as_str()).collect();
    let transitions: Vec<&str> = world.status.transitions.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(messages, transitions);
    assert_eq!((to(&world, "warn"), to(&world, "error")), (vec![], vec![]), "all went well");
}

#[test]
fn a_verdict_is_an_error_and_a_persons_rollback_none() {
    let mut failed = alerted(STEPS);
    failed.run_for(8);
    failed.metrics = Metrics::CanaryBreaksGuard;
    failed.run_for(40);
    let reasons: Vec<Reason> = to(&failed, "error").into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(reasons, [Reason::GuardBreached; 2], "it begins to go back, and it has");
    let last = pending(&failed).last().unwrap();
    assert_eq!((last.verbs.as_slice(), last.step.as_str(), last.run), (&[Verb::Retry][..], "1/2", 1));
    let mut aborted = alerted(STEPS);
    aborted.run_for(8);
    aborted.ask(Verb::Abort).run_for(10);
    assert_eq!((to(&aborted, "error"), to(&aborted, "warn")), (vec![], vec![]));
}

#[test]
fn a_step_that_waits_for_a_promotion_calls_somebody_once() {
    let mut world = alerted("{bake: 20s, steps: [{progress: 25%, wait: Promotion}, {progress: 100%}]}");
    world.run_for(200);
    assert_eq!(to(&world, "warn"), [(About::Transition, Reason::WaitingForPromotion)]);
    assert_eq!(pending(&world).last().unwrap().verbs, [Verb::Promote, Verb::Pause, Verb::Abort]);
    deliver(&mut world);
    minutes(&mut world, 300);
    assert_eq!(pending(&world), []);
}

#[test]
fn a_hold_is_repeated_at_growing_intervals_until_it_ends() {
    let mut world = alerted("{bake: 20s, onFailure: Hold, steps: [{progress: 25%}, {progress: 100%}]}");
    world.run_for(8);
    world.metrics = Metrics::CanaryFails;
    while world.status.reason != Reason::FailureHeld {
        world.after(1).probe();
        world.pass();
    }
    let (begin, sent) = (world.now, deliver(&mut world));
    let hold = sent.last().unwrap();
    assert_eq!((hold.about, hold.severity, hold.since), (About::Hold, Severity::Error, Some(begin)));
    let mut repeated = Vec::new();
    for _ in 0..3 * 24 * 60 {
        minutes(&mut world, 1);
        for alert in deliver(&mut world) {
            assert_eq!((alert.about, alert.since), (About::Reminder, Some(begin)));
            repeated.push(alert.at.duration_since(begin).as_secs() / 60);
        }
    }
    assert_eq!(repeated, [15, 60, 240, 240 + 1440, 240 + 2 * 1440]);
    world.ask(Verb::Abort).run_for(5);
    let ends = pending(&world).iter().find(|alert| alert.about == About::HoldEnd).unwrap();
    assert_eq!((ends.since, ends.to.len()), (Some(begin), 3), "whoever heard of it hears of its end");
}

#[test]
fn metrics_that_are_missing_for_a_moment_call_nobody() {
    let mut world = alerted(STEPS);
    world.run_for(8);
    deliver(&mut world);
    world.metrics = Metrics::CanarySilent;
    world.run_for(120);
    assert_eq!((world.status.reason, to(&world, "info")), (Reason::MetricsUnknown, vec![]));
    world.metrics = Metrics::Good;
    world.run_for(15);
    assert_eq!(to(&world, "warn"), [], "it is over, and nobody heard that it began");
    world.metrics = Metrics::CanarySilent;
    world.run_for(330);
    assert_eq!(to(&world, "warn"), [(About::Hold, Reason::MetricsUnknown)]);
    world.metrics = Metrics::Good;
    world.run_for(15);
    assert_eq!(to(&world, "warn")[1].0, About::HoldEnd);
}

#[test]
fn a_hub_that_was_gone_repeats_a_hold_once() {
    let mut world = alerted("{bake: 20s, onFailure: Hold, steps: [{progress: 25%}, {progress: 100%}]}");
    world.run_for(8);
    world.metrics = Metrics::CanaryFails;
    world.run_for(60);
    deliver(&mut world);
    world.after(30 * 3600).restart();
    world.probe();
    world.pass();
    assert_eq!(to(&world, "error"), [(About::Reminder, Reason::FailureHeld)]);
}

#[test]
fn of_what_is_never_delivered_the_least_important_is_dropped_and_counted() {
    let mut world = alerted(STEPS);
    world.run_for(8);
    for _ in 0..6 {
        world.metrics = Metrics::CanaryFails;
        world.run_for(60);
        world.metrics = Metrics::Good;
        world.ask(Verb::Retry).run_for(8);
    }
    let alerts = alerts(&world);
    assert_eq!(alerts.pending.len(), 16);
    assert_eq!(alerts.dropped, alerts.last - 16);
    let errors = alerts.pending.iter().filter(|alert| alert.severity == Severity::Error).count();
    assert_eq!(errors, 12, "two for each of six failures");
}

#[test]
fn a_delivery_that_fails_is_said_until_one_succeeds() {
    let mut world = alerted(STEPS);
    world.run_for(8);
    let began = world.now;
    world.deliveries.failed.insert("info".to_owned(), "HTTP 500".to_owned());
    world.pass();
    world.deliveries.failed.insert("info".to_owned(), "no answer within 10 s".to_owned());
    world.after(60).pass();
    let failing: Vec<_> =
        alerts(&world).failing.iter().map(|one| (one.name.as_str(), one.message.as_str(), one.since)).collect();
    assert_eq!(failing, [("info", "HTTP 500", began)], "another failure is no reason to write again");
    world.deliveries.failed.clear();
    deliver(&mut world);
    assert_eq!(alerts(&world).failing, []);
}

#[test]
fn where_no_alert_is_declared_the_status_says_nothing_of_any() {
    let mut world = alerted(STEPS);
    world.spec.alerts.clear();
    world.run_for(20);
    assert_eq!(world.status.alerts, None);
    world.spec.alerts = vec![declared("Info")];
    world.run_for(60);
    let last = alerts(&world).last;
    world.spec.alerts.clear();
    world.pass();
    let nothing = AlertsStatus { last, ..AlertsStatus::default() };
    assert_eq!(*alerts(&world), nothing, "a number is not given twice");
}

#[test]
fn a_rollout_that_is_deleted_stays_until_its_last_alert_is_delivered() {
    let mut world = alerted(STEPS);
    world.run_for(20);
    deliver(&mut world);
    world.deleting = true;
    world.run_for(20);
    assert_eq!(world.live(), super::super::world::of(&[("eu-1", 100)]));
    assert!(!world.gone && !world.released.is_empty(), "the routes are given back, and the rollout is still there");
    let words = "the routes are given back; waiting for alerts and events to be delivered, until ";
    assert!(world.status.message.starts_with(words), "{}", world.status.message);
    let reasons = to(&world, "info");
    assert_eq!(reasons.last().unwrap().1, Reason::Deleting);
    deliver(&mut world);
    assert!(world.gone);
}

#[test]
fn while_the_last_alert_waits_nothing_is_claimed_of_routes_that_were_left_alone() {
    let mut world = alerted(STEPS);
    world.run_for(20);
    deliver(&mut world);
    world.spec.suspend = true;
    world.deleting = true;
    world.run_for(3);
    let before = world.status.clone();
    let words = "deleted while suspended: no route is written; waiting for alerts and events to be delivered, until ";
    assert!(before.reason == Reason::Deleting && before.message.starts_with(words), "{}", before.message);
    world.run_for(10);
    assert_eq!(world.status, before, "waiting writes nothing");
}

#[test]
fn a_service_that_takes_no_alert_keeps_a_deleted_rollout_for_a_minute() {
    let mut world = alerted(STEPS);
    world.run_for(20);
    world.deleting = true;
    world.run_for(30);
    let last = pending(&world).last().unwrap().at;
    while !world.gone {
        world.probe();
        world.pass();
        world.after(1);
        assert!(world.now.duration_since(last).as_secs() <= 62);
    }
    assert!(world.now.duration_since(last).as_secs() >= 60);
}

#[test]
fn an_alert_that_failed_for_an_hour_keeps_no_rollout_that_announces_nothing_new() {
    let mut world = alerted(STEPS);
    world.spec.alerts.retain(|alert| alert.severity == Severity::Error);
    world.run_for(8);
    world.metrics = Metrics::CanaryBreaksGuard;
    world.run_for(40);
    assert!(!pending(&world).is_empty());
    minutes(&mut world, 60);
    world.deleting = true;
    world.run_for(5);
    assert!(world.gone);
}
