//! When a step may be taken, whatever the checks say: windows, and other rollouts.

use cutover::api::{
    Phase, Reason, Verb,
    status::{Outcome, Verdict},
};
use cutover::rollout::input::DependencySeen;
use jiff::Timestamp;

use super::world::{Metrics, World, of, spec};

/// eu-1 -> eu-3 through 25 % on working days, 09:00 to 16:00 in Berlin; settle and bake of a step take 25 s.
fn on_working_days() -> World {
    let text = "
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy:
  bake: 20s
  steps: [{progress: 25%}, {progress: 100%}]
  windows: [{days: Mon-Fri, from: '09:00', to: '16:00', timeZone: Europe/Berlin}]
  progressDeadline: 10m
";
    World::new(spec(text), &[("eu-1", 100)])
}

/// The world at an instant, in which every member has been answering.
fn at(mut world: World, when: &str) -> World {
    world.now = when.parse().unwrap();
    world
}

fn shows(world: &World, phase: Phase, reason: Reason) {
    let status = &world.status;
    assert_eq!((status.phase, status.reason), (phase, reason), "{}", status.message);
}

/// Sleeps until the hub would wake by itself, and passes.
fn sleep(world: &mut World) -> Timestamp {
    let wake = world.pass().wake.expect("a time to look again");
    world.now = wake.max(world.now);
    world.probe();
    world.pass();
    world.now
}

#[test]
fn no_run_begins_while_every_window_is_closed_and_the_hub_wakes_when_one_opens() {
    let mut world = at(on_working_days(), "2026-01-09T15:00:00Z");
    world.run_for(3);
    shows(&world, Phase::Progressing, Reason::WindowClosed);
    let message = "the step to 25% takes 25s (settle and bake) and waits for a window; the next opens Mon 2026-01-12 \
                   09:00 Europe/Berlin (2026-01-12T08:00:00Z); checks and rollback go on";
    assert_eq!(world.status.message, message);
    assert!(world.written.is_empty() && world.live_run().is_none());
    assert_eq!(sleep(&mut world).to_string(), "2026-01-12T08:00:00Z");
    world.run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn a_step_that_would_not_end_inside_its_window_waits_for_the_next_one() {
    let mut world = at(on_working_days(), "2026-01-09T14:59:20Z");
    world.run_for(120);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "the first step had its time, the second had not");
    shows(&world, Phase::Progressing, Reason::WindowClosed);
    world.run_for(3600);
    assert_eq!(world.check().unwrap().verdict, Verdict::Pass, "checks go on");
    assert!(world.run().deadline_used.as_millis() < 120_000, "the deadline's clock stands still");
    world.now = "2026-01-12T07:59:50Z".parse().unwrap();
    world.run_for(9);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    world.run_for(60);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

#[test]
fn a_closed_window_delays_no_rollback() {
    for (metrics, reason) in [(Some(Metrics::CanaryBreaksGuard), Reason::GuardBreached), (None, Reason::Aborted)] {
        let mut world = at(on_working_days(), "2026-01-09T14:59:20Z");
        world.run_for(120);
        shows(&world, Phase::Progressing, Reason::WindowClosed);
        match metrics {
            Some(metrics) => world.metrics = metrics,
            None => drop(world.ask(Verb::Abort)),
        }
        world.run_for(20);
        assert_eq!(world.live(), of(&[("eu-1", 100)]));
        assert_eq!(world.status.history.last().unwrap().reason, reason);
    }
}

#[test]
fn a_new_target_waits_for_a_window_too_and_what_carries_weight_is_still_checked() {
    let mut world = at(on_working_days(), "2026-01-09T14:59:20Z");
    world.run_for(120);
    world.declare(&[("eu-1", 50), ("eu-3", 50)]).run_for(120);
    shows(&world, Phase::Progressing, Reason::WindowClosed);
    assert_eq!(world.run().number, 1);
    let used = world.run().deadline_used;
    world.run_for(900);
    assert_eq!(world.run().deadline_used, used);
    world.metrics = Metrics::CanaryFails;
    world.run_for(30);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    assert_eq!(world.status.history.last().unwrap().outcome, Outcome::Failed);
}

#[test]
fn a_new_target_that_only_lowers_a_canary_waits_for_no_window() {
    let mut world = at(on_working_days(), "2026-01-09T14:59:20Z");
    world.run_for(120);
    world.declare(&[("eu-1", 90), ("eu-3", 10)]).run_for(120);
    assert_eq!(world.live(), of(&[("eu-1", 90), ("eu-3", 10)]));
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

/// eu-1 -> eu-3, after `base`.
fn after_base() -> World {
    let text = "
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy: {bake: 20s, steps: [{progress: 25%}, {progress: 100%}], progressDeadline: 10m}
dependsOn: [{name: base}]
";
    let mut world = World::new(spec(text), &[("eu-1", 100)]);
    world.dependencies = [("base".to_owned(), DependencySeen::AtRest)].into();
    world
}

fn base_stands(world: &mut World, stands: DependencySeen) -> &mut World {
    world.dependencies = [("base".to_owned(), stands)].into();
    world
}

#[test]
fn a_run_begins_when_what_it_depends_on_has_come_to_rest() {
    let mut world = after_base();
    base_stands(&mut world, DependencySeen::NotYet("Progressing, Baking".to_owned())).run_for(20);
    shows(&world, Phase::Progressing, Reason::WaitingForDependency);
    let message = "waits for FleetRollout base to be Ready with what it declares: Progressing, Baking";
    assert_eq!(world.status.message, message);
    assert!(world.live_run().is_none() && world.written.is_empty());
    base_stands(&mut world, DependencySeen::AtRest).run_for(120);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

#[test]
fn what_is_missing_has_failed_or_waits_for_this_one_is_announced_and_holds() {
    let way = ["shop", "base", "shop"].map(str::to_owned).to_vec();
    for (stands, reason, words) in [
        (DependencySeen::Missing, Reason::DependencyMissing, "FleetRollout base does not exist in this namespace"),
        (
            DependencySeen::Failed("Failed, GuardBreached".to_owned()),
            Reason::DependencyFailed,
            "(Failed, GuardBreached)",
        ),
        (DependencySeen::Cycle(way), Reason::DependencyCycle, "shop -> base -> shop"),
    ] {
        let mut world = after_base();
        base_stands(&mut world, stands).run_for(20);
        shows(&world, Phase::Held, reason);
        assert!(world.status.message.contains(words), "{}", world.status.message);
        assert!(world.written.is_empty());
        base_stands(&mut world, DependencySeen::AtRest).run_for(120);
        shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    }
}

#[test]
fn what_changes_in_mid_run_stops_advances_but_no_check_and_no_rollback() {
    let mut world = after_base();
    world.run_for(10);
    base_stands(&mut world, DependencySeen::NotYet("Progressing, Confirming".to_owned())).run_for(1200);
    shows(&world, Phase::Progressing, Reason::WaitingForDependency);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]), "no advance, and the deadline's clock stood still");
    world.metrics = Metrics::CanaryFails;
    world.run_for(30);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    assert_eq!(world.status.history.last().unwrap().reason, Reason::ChecksFailed);
}

/// A step that chooses requests or copies them gives them to a canary as much as a weight does.
#[test]
fn a_step_that_moves_no_weight_waits_for_a_window_too() {
    for step in ["matches: [{headers: [{name: user-agent, exact: pc}]}]", "mirror: {}"] {
        waits_for_a_window(step);
    }
}

fn waits_for_a_window(step: &str) {
    let text = format!(
        "
members: [{{name: eu-1, weight: 0}}, {{name: eu-3, weight: 100}}]
strategy:
  bake: 20s
  steps: [{{{step}}}, {{progress: 100%}}]
  windows: [{{days: Mon-Fri, from: '09:00', to: '16:00', timeZone: Europe/Berlin}}]
"
    );
    let mut world = at(World::new(spec(&text), &[("eu-1", 100)]), "2026-01-09T14:58:30Z");
    world.run_for(8);
    assert!(
        world.status.desired.as_ref().is_some_and(|desired| desired.split.steering.is_some()),
        "{:?}",
        world.status
    );
    let mut world = at(World::new(spec(&text), &[("eu-1", 100)]), "2026-01-09T14:59:50Z");
    world.run_for(8);
    shows(&world, Phase::Progressing, Reason::WindowClosed);
    assert!(world.live_run().is_none(), "a step of 25 s would end after the window");
}
