//! What a rollout takes its first primary from, and what it refuses to begin with.

use cutover::api::{Phase, Reason};

use super::{
    super::world::{World, of, spec},
    PLAIN, plain, shows,
};

#[test]
fn initialization_reads_the_primary_from_the_live_route_and_moves_nothing() {
    let mut world = World::new(spec("members: [{name: eu-1, weight: 100}, {name: eu-3, weight: 0}]"), &[("eu-1", 100)]);
    world.run_for(60);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    assert!(world.written.is_empty());
}

#[test]
fn the_primary_is_never_guessed() {
    let mut world = plain();
    let keys: Vec<_> = world.routes.keys().cloned().collect();
    world.routes.insert(keys[0].clone(), None);
    world.run_for(5);
    shows(&world, Phase::Initializing, Reason::PrimaryUnknown);
    assert!(world.written.is_empty());
    world.spec.members[0].initial_weight = Some(100);
    world.run_for(3);
    assert_eq!(world.written[0].1.weights, of(&[("eu-1", 100)]), "the route is made at the primary");
}

#[test]
fn a_member_with_traffic_that_is_not_declared_is_refused() {
    let mut world = World::new(spec(PLAIN), &[("eu-9", 100)]);
    world.run_for(5);
    shows(&world, Phase::Initializing, Reason::MemberNotDeclared);
    assert_eq!(
        world.status.message,
        "eu-9 carries 100 of 100 but is not in spec.members; to take it out say weight: 0"
    );
}

#[test]
fn routes_that_differ_are_refused_with_what_they_show() {
    let services = "services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: a}}, {gatewayAPI: {name: b}}]}]";
    let mut world = World::new(spec(&format!("{services}{PLAIN}")), &[("eu-1", 100)]);
    world.routes.values_mut().next().unwrap().as_mut().unwrap().split.weights = of(&[("eu-1", 90), ("eu-3", 10)]);
    world.run_for(5);
    shows(&world, Phase::Initializing, Reason::PrimaryDiffers);
    assert!(world.written.is_empty());
}

#[test]
fn a_route_that_is_declared_later_is_not_moved_to_the_primary() {
    let mut world = plain();
    world.run_for(150);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    let mut added = world.routes.keys().next().unwrap().clone();
    added.route = "HTTPRoute/added".to_owned();
    let writes = world.written.len();
    world.apply_anew(&added, &[("eu-1", 100)]).run_for(20);
    shows(&world, Phase::Held, Reason::PrimaryDiffers);
    assert_eq!(
        world.status.message,
        "HTTPRoute/added (shop) was not written yet and shows eu-1:100, but the primary is eu-3:100; bring it to that \
         first"
    );
    assert_eq!(world.written.len(), writes);
    world.apply_anew(&added, &[("eu-3", 100)]).run_for(5);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    assert!(world.routes[&added].as_ref().unwrap().mark.is_some());
}
