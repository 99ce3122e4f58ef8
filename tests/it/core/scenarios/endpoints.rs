//! Members whose endpoints do not answer.

use cutover::{
    api::{Phase, Reason, Verb},
    rollout::input::EndpointSource,
};

use super::{
    super::world::{World, of, spec},
    at_first_step, plain, shows, with_strategy,
};

const THREE: &str = "members: [{name: eu-1, weight: 40}, {name: eu-2, weight: 40}, {name: eu-3, weight: 20}]
strategy: {bake: 20s, steps: [{progress: 50%}, {progress: 100%}]}";

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
    let mut world = World::new(spec(THREE), &[("eu-1", 50), ("eu-2", 50)]);
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
    let mut world = World::new(spec(THREE), &[("eu-1", 50), ("eu-2", 50)]);
    world.run_for(8);
    world.down.insert("eu-1".to_owned());
    world.run_for(5);
    world.ask(Verb::Abort);
    world.pass();
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-2", 100)]));
}

const PATIENCE: &str = "{bake: 20s, progressDeadline: 3m, steps: [{progress: 25%}, {progress: 100%}]}";

#[test]
fn a_canary_that_never_becomes_ready_ends_the_run_at_its_deadline() {
    let mut world = with_strategy(PATIENCE);
    world.down.insert("eu-3".to_owned());
    world.run_for(175);
    shows(&world, Phase::Held, Reason::MemberNotReady);
    let used = world.run().deadline_used_at(world.now).as_millis();
    assert!((165_000..=180_000).contains(&used), "the clock runs while it waits: {used}");
    world.run_for(30);
    shows(&world, Phase::Failed, Reason::ProgressDeadlineExceeded);
    let said = "progressDeadline of 3m has passed: the endpoint of eu-3 for shop does not answer";
    assert_eq!(world.status.history.last().unwrap().message, said);
    assert!(world.written.is_empty(), "{:?}", world.written);
    world.run_for(600);
    assert_eq!(world.status.history.len(), 1, "it is not tried again by itself");
}

#[test]
fn time_in_which_a_person_paused_does_not_count_as_not_ready() {
    let mut world = with_strategy(PATIENCE);
    world.down.insert("eu-3".to_owned());
    world.run_for(60);
    world.ask(Verb::Pause);
    world.run_for(600);
    assert!(world.run().deadline_used.as_millis() < 70_000, "{:?}", world.run().deadline_used);
    world.ask(Verb::Resume);
    world.run_for(60);
    shows(&world, Phase::Held, Reason::MemberNotReady);
    world.run_for(90);
    shows(&world, Phase::Failed, Reason::ProgressDeadlineExceeded);
}

#[test]
fn a_canary_that_becomes_ready_in_time_goes_on_with_what_is_left_of_the_deadline() {
    let mut world = with_strategy(PATIENCE);
    world.down.insert("eu-3".to_owned());
    world.run_for(100);
    world.down.clear();
    world.run_for(20);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
    let used = world.run().deadline_used.as_millis();
    assert!((95_000..125_000).contains(&used), "{used}");
}

#[test]
fn a_canary_without_a_ready_address_is_rolled_back_wherever_the_primary_leads() {
    for primary_is_seen in [true, false] {
        let mut world = at_first_step();
        world.endpoint_source = EndpointSource::EndpointSlices;
        world.down.insert("eu-3".to_owned());
        for _ in 0..3 {
            world.after(1).probe();
            if !primary_is_seen {
                world.endpoints.remove("eu-1");
            }
            world.pass();
        }
        assert_eq!(world.live(), of(&[("eu-1", 100)]));
        let rollback = &world.run().state.rollback().unwrap().message;
        let others = if primary_is_seen { " while that of eu-1 did" } else { "" };
        let message = format!("the endpoint of eu-3 for shop had no ready address 3 times in a row{others}");
        assert_eq!(rollback, &message);
    }
}

#[test]
fn where_no_address_is_ready_at_all_nothing_is_moved() {
    let mut world = at_first_step();
    world.endpoint_source = EndpointSource::EndpointSlices;
    world.down.extend(["eu-1".to_owned(), "eu-3".to_owned()]);
    world.run_for(60);
    shows(&world, Phase::Held, Reason::PrimaryFailsToo);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn a_canary_whose_service_is_deleted_under_its_traffic_is_rolled_back_at_once() {
    let mut world = at_first_step();
    world.missing.insert("eu-3".to_owned());
    world.pass();
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    world.run_for(5);
    shows(&world, Phase::Failed, Reason::EndpointDown);
    assert_eq!(world.status.history.last().unwrap().message, "Service legacy-eu-3 does not exist");
}

#[test]
fn a_primary_whose_service_is_deleted_gives_its_weight_to_the_others() {
    let mut world = World::new(spec(THREE), &[("eu-1", 50), ("eu-2", 50)]);
    world.run_for(8);
    world.missing.insert("eu-1".to_owned());
    world.run_for(3);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-2", 90), ("eu-3", 10)]));
    world.missing.clear();
    world.run_for(5);
    assert_eq!(world.live(), of(&[("eu-1", 45), ("eu-2", 45), ("eu-3", 10)]));
}

#[test]
fn a_service_that_is_deleted_under_the_traffic_of_a_rollout_at_rest_is_reported() {
    let mut world = World::new(spec("members: [{name: eu-1, weight: 100}]"), &[("eu-1", 100)]);
    world.run_for(5);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    world.missing.insert("eu-1".to_owned());
    world.run_for(5);
    shows(&world, Phase::Held, Reason::BackendNotReady);
    assert_eq!(world.status.message, "Service legacy-eu-1 does not exist");
    assert!(world.written.is_empty(), "{:?}", world.written);
}
