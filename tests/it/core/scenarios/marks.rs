//! Marks on a route that this hub did not leave: another hub's, another rollout's, and forged ones.

use cutover::{
    api::{Phase, Reason, Verb},
    rollout::input::Mark,
};

use super::{
    super::world::{HUB, UID, World, of},
    at_first_step, plain, shows,
};

const FIRST: [(&str, u32); 2] = [("eu-1", 75), ("eu-3", 25)];

/// Every route carries this mark; `by` is who wrote it, if no hub did.
fn mark(world: &mut World, (hub, rollout, sequence): (&str, &str, u64), by: Option<&str>) {
    let mark = Mark { hub: hub.to_owned(), rollout: rollout.to_owned(), run: 1, sequence };
    for route in world.routes.values_mut().flatten() {
        (route.mark, route.marked_by) = (Some(mark.clone()), by.map(str::to_owned));
    }
}

/// A mark, and who wrote it.
type Forged = ((&'static str, &'static str, u64), Option<&'static str>);

/// Marks that no hub can have left.
fn forged() -> [Forged; 5] {
    let kubectl = Some("kubectl-annotate");
    [
        ((HUB, UID, 60), kubectl),
        ((HUB, UID, u64::MAX), kubectl),
        ((HUB, UID, u64::MAX), None),
        (("other-hub", "other", u64::MAX), kubectl),
        ((HUB, "another", 1), kubectl),
    ]
}

#[test]
fn another_writers_mark_stops_all_writes_whatever_its_sequence_until_adopt() {
    for (hub, rollout, reason) in
        [("other-hub", "other", Reason::OwnedByOtherHub), (HUB, "one-that-is-gone", Reason::StatusBehindRoute)]
    {
        for sequence in [0, 1, 100] {
            let mut world = at_first_step();
            mark(&mut world, (hub, rollout, sequence), None);
            let writes = world.written.len();
            world.ask(Verb::Abort).run_for(100);
            shows(&world, Phase::Held, reason);
            assert_eq!(world.written.len(), writes, "{hub} {sequence}");
            world.ask(Verb::Adopt).run_for(3);
            assert_eq!(world.status.primary, Some(of(&FIRST)), "{}", world.status.message);
            assert!(world.written.len() > writes, "{}", world.status.message);
        }
    }
}

#[test]
fn a_hub_whose_marks_were_adopted_stops_the_writes_again_when_it_writes_once_more() {
    let mut world = at_first_step();
    mark(&mut world, ("other-hub", "other", 5), None);
    world.ask(Verb::Adopt).run_for(3);
    mark(&mut world, ("other-hub", "other", 5), None);
    world.run_for(3);
    assert_ne!(world.status.reason, Reason::OwnedByOtherHub, "a route that was adopted, from a backup");
    mark(&mut world, ("other-hub", "other", 6), None);
    world.run_for(20);
    shows(&world, Phase::Held, Reason::OwnedByOtherHub);
}

#[test]
fn a_mark_that_no_hub_can_have_left_keeps_nobody_from_going_back() {
    for (forged, by) in forged() {
        let mut world = at_first_step();
        mark(&mut world, forged, by);
        world.ask(Verb::Abort).run_for(5);
        shows(&world, Phase::RolledBack, Reason::Aborted);
        assert_eq!(world.live(), of(&[("eu-1", 100)]), "{forged:?}");

        let mut world = at_first_step();
        world.ask(Verb::Abort).pass();
        mark(&mut world, forged, by);
        world.edit(&[("eu-1", 10), ("eu-3", 90)]).run_for(5);
        assert_eq!(world.live(), of(&[("eu-1", 100)]), "{forged:?}");

        let mut world = at_first_step();
        mark(&mut world, forged, by);
        world.deleting = true;
        world.run_for(5);
        assert!(world.gone, "{forged:?}");
        assert_eq!(world.live(), of(&[("eu-1", 100)]), "{forged:?}");
    }
}

#[test]
fn a_mark_that_no_hub_can_have_left_is_an_edit_like_any_other() {
    for (forged, by) in forged() {
        let mut world = at_first_step();
        mark(&mut world, forged, by);
        world.edit(&[("eu-1", 95), ("eu-3", 5)]).run_for(20);
        shows(&world, Phase::Paused, Reason::PausedByForeignEdit);
        assert_eq!(world.live(), of(&[("eu-1", 95), ("eu-3", 5)]), "{forged:?}");

        let mut world = at_first_step();
        mark(&mut world, forged, by);
        world.edit(&[("eu-1", 10), ("eu-3", 90)]).run_for(3);
        assert_eq!(world.live(), of(&FIRST), "{forged:?}");
        assert_eq!(world.run().put_back.len(), 1, "{forged:?}");

        let mut world = at_first_step();
        mark(&mut world, forged, by);
        world.run_for(2);
        let left = world.routes.values().flatten().filter_map(|route| route.mark.clone());
        assert_eq!(left.map(|mark| mark.sequence).collect::<Vec<_>>(), [world.status.sequence], "{forged:?}");
    }
}

#[test]
fn an_adopted_mark_never_brings_the_sequence_out_of_reach() {
    let mut world = plain();
    mark(&mut world, ("other-hub", "other", u64::MAX), None);
    world.run_for(5);
    shows(&world, Phase::Held, Reason::OwnedByOtherHub);
    world.ask(Verb::Adopt).run_for(10);
    assert_eq!(world.live(), of(&FIRST), "{}", world.status.message);
    assert!(world.status.sequence < 100, "{}", world.status.sequence);
}

#[test]
fn before_the_first_write_everybodys_mark_counts() {
    let mut world = plain();
    mark(&mut world, ("other-hub", "other", 3), Some("velero-server"));
    world.run_for(20);
    shows(&world, Phase::Held, Reason::OwnedByOtherHub);
    assert!(world.written.is_empty());
}
