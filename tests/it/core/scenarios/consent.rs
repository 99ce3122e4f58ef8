//! Members that let the namespace of a rollout use them no more.

use cutover::api::{Phase, Reason, Verb};

use super::{super::world::of, at_first_step, plain, shows};

#[test]
fn a_member_that_takes_its_consent_back_gains_nothing_more_until_it_gives_it_again() {
    let mut world = at_first_step();
    world.forbidden.insert("eu-3".to_owned());
    world.run_for(120);
    shows(&world, Phase::Held, Reason::NamespaceNotAllowed);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    world.forbidden.clear();
    world.run_for(5);
    assert_eq!(world.live(), of(&[("eu-1", 50), ("eu-3", 50)]));
}

#[test]
fn a_member_that_takes_its_consent_back_before_the_first_step_gains_nothing() {
    let mut world = plain();
    world.pass();
    world.forbidden.insert("eu-3".to_owned());
    world.run_for(60);
    shows(&world, Phase::Held, Reason::NamespaceNotAllowed);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}

#[test]
fn a_rollback_asks_for_nobodys_consent() {
    let mut world = at_first_step();
    world.forbidden.extend(["eu-1".to_owned(), "eu-3".to_owned()]);
    world.ask(Verb::Abort);
    world.run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
}
