//! ConfigMaps and Secrets of the workloads behind the users' Services.

use std::collections::BTreeMap;

use cutover::api::{Phase, Reason, ServiceCopy, status::Outcome, track::Site};
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
