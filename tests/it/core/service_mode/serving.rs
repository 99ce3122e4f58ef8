//! Service mode: what is promoted must serve, and what leads no traffic begins no run.

use cutover::api::{Phase, Reason, status::Outcome};

use super::{NEW, OLD, World, ramp, shows, with};

/// The Services led to the old cluster; without analysis.
fn unproven() -> World {
    let mut world = with("{bake: 20s}");
    world.spec.skip_analysis = true;
    world
}

fn primary_leads_to(world: &World) -> Option<&str> {
    world.status.promoted.as_ref()?.services.get("shop")?.external_name()
}

#[test]
fn a_target_that_does_not_answer_is_not_promoted_until_it_does() {
    let mut world = unproven();
    world.down.insert("canary".to_owned());
    world.point(NEW).run_for(60);
    shows(&world, Phase::Held, Reason::MemberNotReady);
    assert_eq!(primary_leads_to(&world), Some(OLD));
    world.down.clear();
    world.run_for(30);
    assert_eq!((world.outcome(), primary_leads_to(&world)), (Some(Outcome::Succeeded), Some(NEW)));
}

#[test]
fn a_primary_that_stops_answering_when_it_is_changed_is_no_success() {
    let mut world = unproven();
    world.point(NEW);
    while primary_leads_to(&world) == Some(OLD) {
        assert!(world.elapsed < 200, "{}", world.status.message);
        world.run_for(1);
    }
    world.down.insert("primary".to_owned());
    world.endpoints.clear();
    world.run_for(60);
    assert_ne!(world.outcome(), Some(Outcome::Succeeded), "{}", world.status.message);
    shows(&world, Phase::Held, Reason::MemberNotReady);
}

#[test]
fn a_note_on_a_service_begins_no_run_and_is_copied() {
    let mut world = unproven();
    let before = world.status.last_run();
    world.annotate("cloud.example.com/load-balancer", "lb-7").run_for(10);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    assert_eq!((world.status.last_run(), world.live_run()), (before, None));
    let key = ("shop".to_owned(), "primary".to_owned());
    assert_eq!(world.copies[&key].annotations["cloud.example.com/load-balancer"], "lb-7");
}

#[test]
fn a_note_on_a_service_does_not_restart_a_run() {
    let mut world = ramp();
    world.point(NEW).run_for(40);
    let (run, weights) = (world.run().number, world.live());
    assert!(weights.weight("canary") > 0);
    world.annotate("cloud.example.com/load-balancer", "lb-7").run_for(5);
    assert_eq!((world.run().number, world.is_rolling_back()), (run, false));
    world.run_for(300);
    assert_eq!((world.outcome(), world.status.last_run()), (Some(Outcome::Succeeded), run));
}

#[test]
fn another_member_behind_a_service_begins_a_run() {
    let mut world = unproven();
    let before = world.status.last_run();
    world.annotate("cutover.dev/member", "eu-3").run_for(30);
    assert_eq!(world.status.last_run(), before + 1);
}

#[test]
fn what_passed_becomes_the_primary_only_with_consent() {
    let mut world = ramp();
    world.point(NEW).run_for(40);
    let weight = world.live().weight("canary");
    assert!(weight > 0, "{}", world.status.message);
    world.forbidden.insert("canary".to_owned());
    world.run_for(300);
    shows(&world, Phase::Held, Reason::NamespaceNotAllowed);
    assert_eq!(world.live().weight("canary"), weight);
}
