//! Other people's edits of the routes.

use cutover::api::{Phase, Reason, Verb};

use super::{
    super::world::{Metrics, World, Writes, of},
    at_first_step, plain, shows,
};

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
    assert_eq!(world.baked().as_millis(), 0);
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

/// It lowers every member, the canary too.
#[test]
fn an_edit_that_leaves_nobody_any_weight_is_obeyed_and_ends_with_a_rollback() {
    let nothing = |world: &mut World| {
        world.edit(&[]);
        world.routes.values_mut().flatten().for_each(|route| route.uneven = true);
    };
    let mut world = at_first_step();
    nothing(&mut world);
    world.run_for(20);
    shows(&world, Phase::Paused, Reason::PausedByForeignEdit);
    let message = &world.status.message;
    assert!(message.starts_with("kubectl-edit set HTTPRoute/shop-0 (shop) to nothing; cutover resume"), "{message}");
    world.ask(Verb::Abort).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));

    let mut world = plain();
    world.run_for(150);
    nothing(&mut world);
    world.run_for(20);
    shows(&world, Phase::Held, Reason::RouteDrifted);
    world.ask(Verb::Adopt).run_for(2);
    shows(&world, Phase::Held, Reason::RouteDrifted);
    let primary = world.status.primary.as_ref().unwrap();
    assert!(primary.same_as(&of(&[("eu-3", 100)])), "nobody is no primary: {primary}");
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
    world.run_for(3700);
    assert_eq!(world.live(), of(&[("eu-1", 10), ("eu-3", 90)]), "only a person ends that, not the end of the hour");
    world.ask(Verb::Abort).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

#[test]
fn an_edit_is_counted_once_however_often_the_write_that_puts_it_back_conflicts() {
    let mut world = at_first_step();
    let key = world.routes.keys().next().unwrap().clone();
    world.writes.insert(key, Writes::Conflict);
    world.edit(&[("eu-1", 10), ("eu-3", 90)]).run_for(5);
    assert_eq!(world.run().put_back.len(), 1);
    world.writes.clear();
    world.run_for(1);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

/// Its write has arrived, so that nothing is on its way which would overwrite the edit.
#[test]
fn an_edit_that_raises_a_canary_is_put_back_before_the_data_plane_took_the_step_as_well() {
    let mut world = at_first_step();
    let key = world.routes.keys().next().unwrap().clone();
    world.writes.insert(key, Writes::NotAccepted);
    while world.live() == of(&[("eu-1", 75), ("eu-3", 25)]) {
        world.run_for(1);
    }
    world.edit(&[("eu-1", 10), ("eu-3", 90)]).pass();
    assert_eq!(world.live(), of(&[("eu-1", 50), ("eu-3", 50)]));
    assert_eq!(world.run().put_back.len(), 1);
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
fn outside_a_run_an_edit_is_announced_and_left() {
    let mut world = plain();
    world.run_for(150);
    world.edit(&[("eu-1", 20), ("eu-3", 80)]).run_for(20);
    shows(&world, Phase::Held, Reason::RouteDrifted);
    assert_eq!(world.live(), of(&[("eu-1", 20), ("eu-3", 80)]));
    world.ask(Verb::Adopt).run_for(2);
    assert_eq!(world.status.primary, Some(of(&[("eu-1", 20), ("eu-3", 80)])));
}

#[test]
fn after_a_run_that_failed_an_edit_is_announced_as_well() {
    let mut world = at_first_step();
    world.metrics = Metrics::CanaryBreaksGuard;
    world.run_for(20);
    world.metrics = Metrics::Good;
    assert_eq!(world.status.phase, Phase::Failed, "{}", world.status.message);
    world.edit(&[("eu-1", 20), ("eu-3", 80)]).run_for(20);
    shows(&world, Phase::Held, Reason::RouteDrifted);
    let message = &world.status.message;
    assert!(
        message.starts_with("HTTPRoute/shop-0 (shop) shows eu-1:20 eu-3:80 (changed by kubectl-edit)"),
        "{message}"
    );
    assert!(message.contains("before that Failed: "), "{message}");
    assert_eq!(world.live(), of(&[("eu-1", 20), ("eu-3", 80)]));
    world.edit(&[("eu-1", 100)]).run_for(3);
    assert_eq!(world.status.phase, Phase::Failed, "{}", world.status.message);
}

#[test]
fn retry_puts_back_an_edit_outside_a_run_and_tries_the_failed_revision_only_after_that() {
    let mut world = at_first_step();
    world.metrics = Metrics::CanaryBreaksGuard;
    world.run_for(20);
    world.metrics = Metrics::Good;
    world.edit(&[("eu-1", 20), ("eu-3", 80)]).run_for(20);
    shows(&world, Phase::Held, Reason::RouteDrifted);
    world.ask(Verb::Retry).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    assert_eq!(world.status.phase, Phase::Failed, "{}", world.status.message);
    world.ask(Verb::Retry).run_for(3);
    assert_eq!(world.run().number, 2);
}

#[test]
fn retry_puts_back_an_edit_after_success() {
    let mut world = plain();
    world.run_for(150);
    world.edit(&[("eu-1", 20), ("eu-3", 80)]).run_for(20);
    world.ask(Verb::Retry).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-3", 100)]));
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

#[test]
fn an_edit_that_comes_again_after_it_was_corrected_is_announced_again() {
    let mut world = plain();
    world.run_for(150);
    for _ in 0..2 {
        world.edit(&[("eu-1", 20), ("eu-3", 80)]).run_for(20);
        shows(&world, Phase::Held, Reason::RouteDrifted);
        world.edit(&[("eu-1", 0), ("eu-3", 100)]).run_for(20);
        shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    }
    let drifts = world.status.transitions.iter().filter(|one| one.reason == Reason::RouteDrifted);
    assert_eq!(drifts.count(), 2);
}

#[test]
fn a_route_that_somebody_made_anew_in_mid_run_is_obeyed_where_it_lowers_and_announced() {
    let mut world = at_first_step();
    for route in world.routes.values_mut().flatten() {
        (route.mark, route.split.weights) = (None, of(&[("eu-1", 100)]));
    }
    world.run_for(30);
    shows(&world, Phase::Paused, Reason::PausedByForeignEdit);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    world.ask(Verb::Resume).run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}
