//! ConfigMaps and Secrets of the workloads behind the users' Services.

use std::collections::BTreeMap;

use cutover::api::{DeletionPolicy, Phase, Reason, ServiceCopy, status::Outcome, track::Site};
use serde_json::json;

use super::{
    super::world::{World, of, spec},
    shows, split, until,
};

const TRACKING: &str = "
services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: public}}],
            track: {workloads: [{kind: Deployment, name: shop}]}}]
strategy: {bake: 20s, ramp: {stepWeight: 20, maxWeight: 50}}
";

/// A Service of the hub cluster that selects pods, which use one ConfigMap; the first one is what passed.
fn tracking() -> World {
    let mut world = World::new(spec(TRACKING), &[("primary", 100)]);
    let copy = ServiceCopy::of(&json!({"selector": {"app": "shop"}}), &BTreeMap::new(), &BTreeMap::new());
    world.sources.insert("shop".to_owned(), copy);
    world.config(&Site::Hub, &[("ConfigMap/shop", "a")]).run_for(10);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    world
}

#[test]
fn a_change_between_runs_begins_one_and_what_passed_is_remembered() {
    let mut world = tracking();
    world.config(&Site::Hub, &[("ConfigMap/shop", "b")]).run_for(8);
    let began = &world.status.transitions.iter().find(|one| one.message.starts_with("run 1 begins")).unwrap().message;
    assert!(began.ends_with("of the Services (ConfigMap/shop changed)"), "{began}");
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    world.configs.clear();
    world.restart().run_for(30);
    world.config(&Site::Hub, &[("ConfigMap/shop", "b")]).run_for(30);
    assert_eq!((world.status.phase, world.status.history.len()), (Phase::Succeeded, 1));
}

#[test]
fn a_change_in_mid_run_restarts_from_the_primary_and_the_old_content_is_a_rollback() {
    let mut world = tracking();
    world.config(&Site::Hub, &[("ConfigMap/shop", "b")]);
    until(&mut world, |world| world.live() == split(60, 40));
    world.config(&Site::Hub, &[("ConfigMap/shop", "c")]).run_for(3);
    let ended = world.status.history.last().unwrap();
    assert_eq!((ended.outcome, ended.reason), (Outcome::Superseded, Reason::ConfigChanged));
    until(&mut world, |world| world.live() == split(80, 20));
    world.config(&Site::Hub, &[("ConfigMap/shop", "a")]).run_for(60);
    let ended = world.status.history.last().unwrap();
    assert_eq!((ended.outcome, ended.reason), (Outcome::RolledBack, Reason::OldTargetDeclared));
    assert_eq!(world.live(), of(&[("canary", 0), ("primary", 100)]));
}

#[test]
fn a_service_behind_which_nobody_knows_the_workloads_begins_nothing_and_says_what_to_do() {
    let mut world = World::new(spec(TRACKING), &[("primary", 100)]);
    world.point("eu-1.example.com").run_for(10);
    assert_eq!((world.status.phase, world.status.reason), (Phase::Initializing, Reason::ConfigsUnknown));
    assert_eq!(
        world.status.message,
        "Service shop: it has neither a selector nor the annotation cutover.dev/member, so nobody knows where the workloads \
         of its `track` run: add one, or remove `track`"
    );
}

/// The same with copies for the workloads of the primary.
fn copying() -> World {
    let keeps = TRACKING.replace("name: shop}]}}]", "name: shop}], primaryCopies: true}}]");
    let mut world = World::new(spec(&keeps), &[("primary", 100)]);
    let copy = ServiceCopy::of(&json!({"selector": {"app": "shop"}}), &BTreeMap::new(), &BTreeMap::new());
    world.sources.insert("shop".to_owned(), copy);
    world.config(&Site::Hub, &[("ConfigMap/shop", "a"), ("Secret/later", "absent")]);
    world
}

fn copies(world: &World) -> Vec<(&str, &str)> {
    world.config_copies.get("shop").map(|copies| copies.iter().collect()).unwrap_or_default()
}

#[test]
fn the_primary_has_copies_of_what_passed_and_gets_others_while_it_has_no_traffic() {
    let mut world = copying();
    world.run_for(10);
    shows(&world, Phase::Initialized, Reason::AtTarget);
    assert_eq!(copies(&world), [("ConfigMap/shop", "a")]);
    world.config(&Site::Hub, &[("ConfigMap/shop", "b"), ("Secret/later", "absent")]);
    until(&mut world, |world| copies(world) != [("ConfigMap/shop", "a")]);
    assert_eq!((world.live(), world.status.phase), (split(0, 100), Phase::Promoting));
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(copies(&world), [("ConfigMap/shop", "b")]);
}

#[test]
fn a_canary_that_fails_leaves_the_copies_as_they_are() {
    let mut world = copying();
    world.run_for(10).config(&Site::Hub, &[("ConfigMap/shop", "b")]).run_for(8);
    world.metrics = super::super::world::Metrics::CanaryBreaksGuard;
    until(&mut world, |world| world.status.phase == Phase::Failed);
    world.run_for(60);
    assert_eq!(copies(&world), [("ConfigMap/shop", "a")]);
}

#[test]
fn a_copy_that_cannot_be_written_keeps_the_traffic_where_it_is_healthy_and_says_why() {
    let mut world = copying();
    world.run_for(10).config(&Site::Hub, &[("ConfigMap/shop", "b")]);
    until(&mut world, World::is_promoting);
    world.refuse_config_copies = true;
    world.run_for(60);
    assert_eq!(world.live(), split(0, 100));
    shows(&world, Phase::Promoting, Reason::ConfigCopiesNotReady);
    assert_eq!(world.status.message, "ConfigMap/shop-primary could not be written and is tried again: forbidden");
    world.refuse_config_copies = false;
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    assert_eq!(copies(&world), [("ConfigMap/shop", "b")]);
}

#[test]
fn what_changes_while_the_primary_is_promoted_is_not_copied_before_it_has_passed() {
    let mut world = copying();
    world.run_for(10).config(&Site::Hub, &[("ConfigMap/shop", "b")]);
    until(&mut world, World::is_promoting);
    world.refuse_config_copies = true;
    world.run_for(2).config(&Site::Hub, &[("ConfigMap/shop", "c")]);
    world.refuse_config_copies = false;
    until(&mut world, |world| world.status.history.len() == 1);
    assert_eq!(copies(&world), [("ConfigMap/shop", "a")], "b is nowhere any more, and nobody has analysed c");
    let warned = world.status.transitions.iter().find(|one| one.reason == Reason::ConfigChanged).unwrap();
    assert_eq!(
        warned.message,
        "ConfigMap/shop changed after the analysis: the copy for the primary keeps what it has until a run with the change has \
         passed"
    );
    until(&mut world, |world| world.status.phase == Phase::Succeeded && world.status.history.len() == 2);
    assert_eq!(copies(&world), [("ConfigMap/shop", "c")]);
}

#[test]
fn copies_that_are_kept_are_nobodys_after_the_rollout() {
    for (policy, released) in [(DeletionPolicy::Retain, true), (DeletionPolicy::Revert, false)] {
        let mut world = copying();
        world.spec.deletion_policy = policy;
        world.run_for(10);
        world.deleting = true;
        world.run_for(10);
        assert_eq!((world.gone, world.released_config_copies), (true, released), "{policy:?}");
    }
}

#[test]
fn copies_are_kept_only_for_workloads_of_the_hub_cluster() {
    let mut world = copying();
    let leads = BTreeMap::from([("cutover.dev/member".to_owned(), "eu-3".to_owned())]);
    let spec = json!({"type": "ExternalName", "externalName": "eu-3.example.com"});
    world.sources.insert("shop".to_owned(), ServiceCopy::of(&spec, &BTreeMap::new(), &leads));
    world.config(&Site::Member("eu-3".to_owned()), &[("ConfigMap/shop", "a")]).run_for(10);
    assert_eq!((world.status.phase, world.status.reason), (Phase::Initializing, Reason::InvalidSpec));
    assert_eq!(
        world.status.message,
        "service shop: track.primaryCopies: it leads to eu-3, and copies are kept for pods of the hub cluster only: leave \
         primaryCopies out"
    );
}
