//! Another target in mid-run.

use cutover::api::{Phase, Reason, Steering, status::Outcome};

use super::{
    super::world::{Metrics, World, Writes, of},
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
fn services_that_are_declared_otherwise_in_mid_run_begin_a_run_where_the_weights_are() {
    let mut world = at_first_step();
    world.spec.services[0].port = 81;
    world.generation += 1;
    world.pass();
    world.run_for(8);
    let run = world.run();
    assert_eq!((run.number, run.start.clone()), (2, of(&[("eu-1", 75), ("eu-3", 25)])));
    assert_eq!((run.rollback_to.clone(), world.status.history[0].outcome), (of(&[("eu-1", 100)]), Outcome::Superseded));
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
fn a_new_target_steers_nothing_to_a_canary_before_it_is_proven_where_it_stands() {
    let steered_to = |world: &World| {
        let steering = |(_, split): &(_, cutover::api::Split)| split.steering.clone();
        let members = |steering: Steering| steering.members().map(str::to_owned).collect::<Vec<_>>();
        world.written.iter().filter_map(steering).flat_map(members).collect::<Vec<_>>()
    };
    for first in [r#"{"matches": [{"headers": [{"name": "x-test", "exact": "a"}]}]}"#, r#"{"mirror": {}}"#] {
        let mut world = at_first_step();
        world.metrics = Metrics::CanarySilent;
        world.spec.strategy.steps = serde_json::from_str(&format!("[{first}, {{\"progress\": \"100%\"}}]")).unwrap();
        world.declare(&[("eu-2", 10), ("eu-3", 90)]).run_for(60);
        assert_eq!(steered_to(&world), [""; 0], "{first}: {}", world.status.message);
        world.metrics = Metrics::Good;
        world.run_for(60);
        assert!(steered_to(&world).contains(&"eu-3".to_owned()), "{first}: {}", world.status.message);
    }
}

/// Whoever has no weight yet gains on its own evidence, as in any run; the other one is judged with it.
#[test]
fn a_canary_that_keeps_its_weight_keeps_nobody_else_from_gaining() {
    let mut world = at_first_step();
    world.spec.strategy.steps = serde_json::from_str(r#"[{"mirror": {}}, {"progress": "100%"}]"#).unwrap();
    world.declare(&[("eu-2", 75), ("eu-3", 25)]).run_for(8);
    assert_eq!(world.written_lines().last().unwrap(), "eu-1 75 eu-2 0 eu-3 25, copies of all requests");
    world.metrics = Metrics::CanaryBreaksGuard;
    world.run_for(20);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
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
