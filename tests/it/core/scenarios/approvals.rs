//! Steps that several people must promote, each by what he saw.

use cutover::api::{Phase, Reason, Verb, request::RequestState};

use super::{
    super::world::{Metrics, World, of},
    answer, shows, with_strategy,
};

/// The first step needs two people, none of them dora, who declared the change.
fn by_two() -> World {
    let step = "{progress: 25%, wait: Promotion, approval: {min: 2, notAuthor: true}}";
    let mut world = with_strategy(&format!("{{bake: 20s, steps: [{step}, {{progress: 100%}}]}}"));
    world.author = Some("dora".to_owned());
    world.run_for(60);
    shows(&world, Phase::WaitingPromotion, Reason::WaitingForPromotion);
    world
}

/// Somebody requests a promotion by what the status shows; what the hub answers.
fn promoted_by(world: &mut World, person: &'static str) -> (RequestState, String) {
    world.person = person;
    world.ask(Verb::Promote).pass();
    let (state, reason) = answer(world);
    (state, reason.to_owned())
}

fn applied(said: &str) -> (RequestState, String) {
    (RequestState::Applied, said.to_owned())
}

fn refused(said: &str) -> (RequestState, String) {
    (RequestState::Refused, said.to_owned())
}

#[test]
fn two_people_promote_a_step_and_its_author_is_none_of_them() {
    let mut world = by_two();
    let waits = "step 1 passed and waits for people, 0 of 2 approvals, none of them dora: cutover promote";
    assert_eq!(world.status.message, waits);
    let own = "dora declared this change; somebody else must approve it";
    assert_eq!(promoted_by(&mut world, "dora"), refused(own));
    for _ in 0..2 {
        assert_eq!(promoted_by(&mut world, "ann"), applied("1 of 2 approvals of step 1: ann"), "once, however often");
    }
    world.run_for(30);
    let waits = "step 1 passed and waits for people, 1 of 2 approvals (ann), none of them dora: cutover promote";
    assert_eq!((world.status.message.as_str(), world.live()), (waits, of(&[("eu-1", 75), ("eu-3", 25)])));
    let open = "the wait of step 1 is open; 2 of 2 approvals of step 1: ann, ben";
    assert_eq!(promoted_by(&mut world, "ben"), applied(open));
    world.run_for(60);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    let requested: Vec<&str> = world.status.history[0].requests.iter().map(|request| request.by.as_str()).collect();
    assert_eq!(requested, ["ann", "ann", "ben"], "the record keeps who approved");
}

#[test]
fn an_approval_is_void_when_a_check_fails_after_it() {
    let mut world = by_two();
    promoted_by(&mut world, "ann");
    world.metrics = Metrics::CanaryFails;
    while world.status.phase == Phase::WaitingPromotion {
        assert!(world.elapsed < 200, "{}", world.status.message);
        world.run_for(0);
    }
    world.metrics = Metrics::Good;
    world.run_for(60);
    assert!(world.status.message.contains("0 of 2 approvals"), "{}", world.status.message);
    assert_eq!(promoted_by(&mut world, "ben"), applied("1 of 2 approvals of step 1: ben"));
}

#[test]
fn an_approval_is_for_the_weights_that_its_person_saw() {
    let mut world = by_two();
    promoted_by(&mut world, "ann");
    let seen = world.status.desired.as_ref().unwrap().sequence;
    world.edit(&[("eu-1", 50), ("eu-3", 50)]).run_for(2);
    assert!(world.status.desired.as_ref().unwrap().sequence > seen, "the edit was put back by a write");
    world.person = "ben";
    world.ask(Verb::Promote);
    world.requests.last_mut().unwrap().spec.sequence = Some(seen);
    world.pass();
    let said = "the weights of step 1 were written anew after you looked; look again: cutover why";
    assert_eq!(answer(&world), (RequestState::Refused, said));
    assert_eq!(
        promoted_by(&mut world, "ben"),
        refused("step 1 has no check that passed yet, so there is nothing to approve")
    );
    world.run_for(60);
    assert_eq!(promoted_by(&mut world, "ben"), applied("1 of 2 approvals of step 1: ben"), "that of ann is void");
}

#[test]
fn a_request_that_does_not_say_what_was_seen_approves_nothing() {
    let mut world = by_two();
    world.ask(Verb::Promote);
    world.requests.last_mut().unwrap().spec.sequence = None;
    world.pass();
    let said = "step 1 needs approvals of what its checks say: use cutover promote, which names that";
    assert_eq!(answer(&world), (RequestState::Refused, said));
}

#[test]
fn without_an_author_nobody_can_approve() {
    let mut world = by_two();
    let mut unknown = world.clone();
    unknown.status.run.as_mut().unwrap().author = None;
    let (state, reason) = promoted_by(&mut unknown, "ann");
    assert!(state == RequestState::Refused && reason.contains("cutover.dev/declared-by"), "{reason}");
    // Another author is that of the next run: this one keeps its own.
    world.author = Some("ann".to_owned());
    world.pass();
    assert_eq!(promoted_by(&mut world, "dora"), refused("dora declared this change; somebody else must approve it"));
    assert_eq!(promoted_by(&mut world, "ann"), applied("1 of 2 approvals of step 1: ann"));
}
