//! Members whose endpoints do not answer.

use cutover::api::{Phase, Reason, Verb};

use super::{
    super::world::{World, of, spec},
    at_first_step, plain, shows,
};

#[test]
fn a_canary_whose_endpoint_does_not_answer_is_rolled_back_within_three_probes() {
    let mut world = at_first_step();
    world.down.insert("eu-3".to_owned());
    for _ in 0..3 {
        world.after(1).probe();
        world.pass();
    }
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    world.run_for(2);
    shows(&world, Phase::Failed, Reason::EndpointDown);
}

#[test]
fn a_member_that_was_down_before_the_first_step_gets_weight_when_it_is_back_for_good() {
    let mut world = plain();
    world.down.insert("eu-3".to_owned());
    world.run_for(20);
    shows(&world, Phase::Held, Reason::MemberNotReady);
    world.down.clear();
    world.after(1).probe();
    world.pass();
    shows(&world, Phase::Held, Reason::MemberNotReady);
    assert_eq!(
        world.status.message,
        "the endpoint of eu-3 for shop was down and has answered 1 of 3 probes in a row since"
    );
    world.run_for(5);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn who_comes_back_second_from_the_same_incident_is_not_rolled_back() {
    let mut world = at_first_step();
    world.down.extend(["eu-1".to_owned(), "eu-3".to_owned()]);
    world.run_for(60);
    shows(&world, Phase::Held, Reason::PrimaryFailsToo);
    world.down.remove("eu-1");
    world.after(1).probe();
    world.pass();
    shows(&world, Phase::Held, Reason::PrimaryFailsToo);
    world.down.clear();
    world.run_for(5);
    shows(&world, Phase::Progressing, Reason::Settling);
    assert_eq!(world.live(), of(&[("eu-1", 50), ("eu-3", 50)]));
}

#[test]
fn endpoints_that_nobody_reaches_are_the_hubs_trouble() {
    let mut world = at_first_step();
    world.down.extend(["eu-1".to_owned(), "eu-3".to_owned()]);
    world.run_for(60);
    shows(&world, Phase::Held, Reason::PrimaryFailsToo);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn a_primary_that_is_down_gives_its_weight_to_the_others_and_gets_it_back() {
    let members = "members: [{name: eu-1, weight: 40}, {name: eu-2, weight: 40}, {name: eu-3, weight: 20}]
strategy: {bake: 20s, steps: [{progress: 50%}, {progress: 100%}]}";
    let mut world = World::new(spec(members), &[("eu-1", 50), ("eu-2", 50)]);
    world.run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 45), ("eu-2", 45), ("eu-3", 10)]));
    world.down.insert("eu-1".to_owned());
    world.run_for(20);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-2", 90), ("eu-3", 10)]));
    world.run_for(60);
    shows(&world, Phase::Held, Reason::RollbackTargetUnavailable);
    world.down.clear();
    world.run_for(5);
    assert_eq!(world.live(), of(&[("eu-1", 45), ("eu-2", 45), ("eu-3", 10)]));
}

#[test]
fn a_rollback_gives_nothing_to_a_primary_that_is_down() {
    let members = "members: [{name: eu-1, weight: 40}, {name: eu-2, weight: 40}, {name: eu-3, weight: 20}]
strategy: {bake: 20s, steps: [{progress: 50%}, {progress: 100%}]}";
    let mut world = World::new(spec(members), &[("eu-1", 50), ("eu-2", 50)]);
    world.run_for(8);
    world.down.insert("eu-1".to_owned());
    world.run_for(5);
    world.ask(Verb::Abort);
    world.pass();
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-2", 100)]));
}
