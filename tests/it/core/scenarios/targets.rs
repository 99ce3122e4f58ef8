//! Another target in mid-run.

use cutover::api::{Phase, Reason, status::Outcome};

use super::{
    super::world::{Metrics, Writes, of},
    at_first_step, plain, shows,
};

#[test]
fn a_new_target_in_mid_run_starts_from_the_confirmed_distribution() {
    let mut world = at_first_step();
    world.declare(&[("eu-2", 100)]).run_for(8);
    let run = world.run();
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
    assert!(world.live().weight("eu-3") > 25, "{:?}", world.live());
}

#[test]
fn the_old_primary_as_the_new_target_is_a_rollback_at_once() {
    let mut world = at_first_step();
    world.declare(&[("eu-1", 100)]);
    world.pass();
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    world.run_for(3);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    assert_eq!(world.outcome(), Some(Outcome::RolledBack));
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
