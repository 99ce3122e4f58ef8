//! The end of a rollout that is deleted.

use cutover::{api::DeletionPolicy, rollout::input::Accepted};
use jiff::SignedDuration;

use super::{
    super::world::{Writes, of},
    at_first_step, plain,
};

#[test]
fn a_deletion_waits_until_the_routes_were_read() {
    let mut world = plain();
    world.run_for(150);
    world.restart().unlisted = true;
    world.deleting = true;
    world.run_for(5);
    assert!(!world.gone, "a route that was not read may still carry our mark");
    world.unlisted = false;
    world.run_for(5);
    assert!(world.gone);
    assert!(world.routes.values().flatten().all(|route| route.mark.is_none()));
}

#[test]
fn deleting_in_mid_run_ends_on_the_primary_and_gives_the_routes_back() {
    let mut world = at_first_step();
    world.deleting = true;
    world.run_for(10);
    assert!(world.gone);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    assert_eq!(world.released.len(), 1);
    assert!(world.routes.values().flatten().all(|route| route.mark.is_none()));
}

#[test]
fn no_route_is_given_back_before_the_data_plane_accepted_the_primary() {
    let mut world = at_first_step();
    let key = world.routes.keys().next().unwrap().clone();
    world.writes.insert(key.clone(), Writes::NotAccepted);
    world.deleting = true;
    world.run_for(10);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    assert!(!world.gone && world.released.is_empty(), "{:?}", world.status);
    world.writes.clear();
    world.routes.get_mut(&key).unwrap().as_mut().unwrap().accepted = Accepted::Yes;
    world.run_for(5);
    assert!(world.gone);
}

/// The write that gives a route back conflicts with an edit that came a moment before it.
#[test]
fn an_edit_just_before_a_route_is_given_back_is_put_back_first() {
    let mut world = at_first_step();
    world.deleting = true;
    let marked = loop {
        let before = world.routes.clone();
        world.pass();
        if world.status.releasing_since.is_some() {
            break before;
        }
        world.now += SignedDuration::from_secs(1);
    };
    (world.routes, world.gone, world.finalizer) = (marked, false, true);
    world.edit(&[("eu-1", 90), ("eu-3", 10)]);
    world.run_for(10);
    assert!(world.gone);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    assert!(world.routes.values().flatten().all(|route| route.mark.is_none()));
}

#[test]
fn deleted_while_suspended_writes_no_route() {
    let mut world = at_first_step();
    world.spec.suspend = true;
    world.deleting = true;
    world.run_for(5);
    assert!(world.gone);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn a_route_whose_mark_somebody_took_off_is_given_back_as_it_was_unless_it_was_edited() {
    for (edited, policy) in [(false, DeletionPolicy::Revert), (true, DeletionPolicy::Retain)] {
        let mut world = plain();
        world.spec.deletion_policy = DeletionPolicy::Revert;
        world.run_for(150);
        if edited {
            world.edit(&[("eu-1", 40), ("eu-3", 60)]);
        }
        world.routes.values_mut().flatten().for_each(|route| route.mark = None);
        world.deleting = true;
        world.run_for(5);
        assert!(world.gone);
        assert_eq!(world.released.iter().map(|(_, policy)| *policy).collect::<Vec<_>>(), [policy]);
        assert!(world.routes.values().flatten().all(|route| !route.traces));
    }
}
