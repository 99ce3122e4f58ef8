//! What is at rest or waits for a person records nothing over and over.

use cutover::api::status::Verdict;

use super::{plain, with_strategy};

#[test]
fn what_rests_writes_nothing() {
    let mut world = plain();
    world.run_for(150);
    let before = world.status.clone();
    for _ in 0..20 {
        world.after(30).probe();
        assert!(world.pass().actions.is_empty());
    }
    assert_eq!(world.status, before);
}

#[test]
fn while_a_person_is_waited_for_unchanged_checks_are_not_recorded() {
    let mut world = with_strategy("{bake: 20s, steps: [{progress: 25%, wait: Promotion}, {progress: 100%}]}");
    world.run_for(120);
    let before = world.status.clone();
    world.run_for(300);
    assert_eq!(world.status, before);
    world.run_for(400);
    assert_ne!(world.status, before, "the numbers are refreshed every ten minutes");
    assert_eq!(world.check().unwrap().verdict, Verdict::Pass);
}
