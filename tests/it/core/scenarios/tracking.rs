//! ConfigMaps and Secrets of the workloads behind a service, in member mode.

use cutover::api::{Phase, Reason, status::Outcome, track::Site};

use super::{
    super::world::{World, of, spec},
    shows,
};

const TRACKING: &str = "
services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: public}}],
            track: {workloads: [{kind: Deployment, name: shop}]}}]
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy: {bake: 20s, keepPrevious: 10m, steps: [{progress: 25%}, {progress: 50%}, {progress: 100%}]}
";

fn eu_3() -> Site {
    Site::Member("eu-3".to_owned())
}

/// The member that gains uses one ConfigMap.
fn tracking() -> World {
    let mut world = World::new(spec(TRACKING), &[("eu-1", 100)]);
    world.config(&eu_3(), &[("ConfigMap/shop", "a")]);
    world
}

fn ended(world: &World) -> Vec<(Outcome, Reason, &str)> {
    world.status.history.iter().map(|run| (run.outcome, run.reason, run.message.as_str())).collect()
}

#[test]
fn a_change_in_mid_run_begins_the_analysis_again_from_the_primary_and_names_what_changed() {
    let mut world = tracking();
    world.run_for(40);
    assert_eq!(world.live(), of(&[("eu-1", 50), ("eu-3", 50)]));
    world.config(&eu_3(), &[("ConfigMap/shop", "b"), ("Secret/token", "c")]).pass();
    assert_eq!(world.live(), of(&[("eu-1", 100)]), "in the same pass");
    world.run_for(8);
    let message = "eu-3/ConfigMap/shop, eu-3/Secret/token changed; the analysis begins again from the primary";
    assert_eq!(ended(&world), [(Outcome::Superseded, Reason::ConfigChanged, message)]);
    assert_eq!((world.run().number, world.live()), (2, of(&[("eu-1", 75), ("eu-3", 25)])));
    world.run_for(120);
    shows(&world, Phase::Soaking, Reason::KeepingPrevious);
}

#[test]
fn a_change_in_the_soak_begins_its_time_again_and_moves_nothing() {
    let mut world = tracking();
    world.run_for(120);
    shows(&world, Phase::Soaking, Reason::KeepingPrevious);
    world.run_for(400).config(&eu_3(), &[("ConfigMap/shop", "b")]).run_for(400);
    shows(&world, Phase::Soaking, Reason::KeepingPrevious);
    assert_eq!(world.live(), of(&[("eu-1", 0), ("eu-3", 100)]));
    let said = &world.status.transitions.last().unwrap().message;
    assert_eq!(said, "eu-3/ConfigMap/shop changed; the time of keepPrevious begins again");
    world.run_for(400);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

#[test]
fn no_run_begins_before_what_is_tracked_is_known() {
    let mut world = tracking();
    world.configs.clear();
    world.run_for(60);
    assert_eq!((world.live(), world.status.phase), (of(&[("eu-1", 100)]), Phase::Initializing), "nothing was written");
    world.config(&eu_3(), &[]).hide_configs().run_for(60);
    assert_eq!(world.live(), of(&[("eu-1", 100)]));
    assert_eq!((world.status.reason, world.status.message.as_str()), (Reason::ConfigsUnknown, "eu-3: no answer"));
    world.config(&eu_3(), &[("ConfigMap/shop", "a")]).run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn more_than_fits_into_a_status_is_refused() {
    let names: Vec<String> = (0..257).map(|number| format!("ConfigMap/c{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a")).collect();
    let mut world = tracking();
    world.config(&eu_3(), &many).run_for(20);
    assert_eq!((world.live(), world.status.reason), (of(&[("eu-1", 100)]), Reason::ConfigsUnknown));
    world.config(&eu_3(), &many[1..]).run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}

#[test]
fn what_cannot_be_read_for_a_time_has_not_changed() {
    let mut world = tracking();
    world.run_for(8).hide_configs().restart().run_for(20);
    assert_eq!(world.run().number, 1, "{}", world.status.message);
    world.configs.clear();
    world.restart().run_for(20);
    world.config(&eu_3(), &[("ConfigMap/shop", "a")]).run_for(120);
    assert_eq!(world.run().number, 1);
    shows(&world, Phase::Soaking, Reason::KeepingPrevious);
}

/// The traffic is there already, so there is nothing that weights could prove.
#[test]
fn a_change_at_rest_moves_nothing() {
    let mut world = tracking();
    world.run_for(900);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    world.config(&eu_3(), &[("ConfigMap/shop", "b")]).run_for(60);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
    world.configs.clear();
    world.restart().run_for(60);
    shows(&world, Phase::Succeeded, Reason::RunSucceeded);
}

#[test]
fn a_failed_revision_is_tried_again_when_its_configuration_changes_and_not_before() {
    let mut world = tracking();
    world.run_for(8);
    world.metrics = super::super::world::Metrics::CanaryBreaksGuard;
    world.run_for(30);
    assert_eq!(world.status.phase, Phase::Failed, "{}", world.status.message);
    world.metrics = super::super::world::Metrics::Good;
    let known = world.configs.clone();
    world.configs.clear();
    world.restart().run_for(60);
    world.configs = known;
    world.hide_configs().run_for(60);
    assert!(world.status.run.is_none(), "nobody knows whether it is another one");
    world.config(&eu_3(), &[("ConfigMap/shop", "a")]).run_for(60);
    assert_eq!(world.status.phase, Phase::Failed, "{}", world.status.message);
    world.config(&eu_3(), &[("ConfigMap/shop", "b")]).run_for(8);
    assert_eq!(world.live(), of(&[("eu-1", 75), ("eu-3", 25)]));
}
