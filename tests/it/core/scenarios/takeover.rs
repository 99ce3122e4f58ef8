//! Another instance of the hub, an old status, another hub, another cluster.

use cutover::api::{Phase, Reason, Verb};

use super::{super::world::of, at_first_step, plain, shows, with_strategy};

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
    let baked = world.baked();
    let sequence = world.status.sequence;
    world.restart();
    world.pass();
    let mark = world.routes.values().flatten().next().unwrap().mark.clone().unwrap();
    assert_eq!(mark.sequence, sequence + 1);
    assert_eq!(world.baked(), baked);
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
