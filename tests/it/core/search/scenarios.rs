//! What the worlds of the search have none of: other rollouts, windows, shares, and declarations that cannot begin.

use std::collections::{BTreeMap, BTreeSet};

use cutover::{
    api::{Reason, ServiceCopy, track::Site},
    rollout::input::DependencySeen,
};
use serde_json::json;

use super::{
    super::world::{Metrics, World, spec},
    reached::{Reached, count_reasons},
};

const PLAIN: &str = "
members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]
strategy: {bake: 20s, steps: [{progress: 25%}, {progress: 100%}]}
";

/// Each scenario by what it has that no other world has, and the world at its beginning.
fn scenarios() -> Vec<(&'static str, World)> {
    let plain = || World::new(spec(PLAIN), &[("eu-1", 100)]);
    let way = ["shop", "base", "shop"].map(str::to_owned).to_vec();
    vec![
        ("a window that is closed", with_windows()),
        ("a deadline that is too short", with_deadline()),
        ("a failure that is held", with_held_failure()),
        ("an analysis that is edited in mid-run", with_edited_analysis()),
        (
            "a Service that was not read yet",
            World::new(spec("strategy: {ramp: {stepWeight: 20}}"), &[("primary", 100)]),
        ),
        ("tracked ConfigMaps that cannot be read", tracking(false)),
        ("a ConfigMap that changes in mid-run", tracking(true)),
        ("copies for the primary that cannot be written", with_copies()),
        ("a dependency under way", after(DependencySeen::NotYet("Progressing, Baking".to_owned()))),
        ("a dependency that is missing", after(DependencySeen::Missing)),
        ("a dependency that failed", after(DependencySeen::Failed("Failed, GuardBreached".to_owned()))),
        ("dependencies in a cycle", after(DependencySeen::Cycle(way))),
        ("a share that is not observed", with_share()),
        ("a gate that is shut", with_hook("ConfirmRollout", Some(403))),
        ("a smoke test that fails", with_hook("PreRollout", Some(500))),
        ("a receiver that is gone", with_hook("Rollout", None)),
        ("a hook that rolls back", with_hook("Rollback", Some(200))),
        ("a hook that leaves the analysis out", with_skip()),
        ("no metrics", {
            let mut world = plain();
            world.spec.analysis.metrics.clear();
            world
        }),
        ("traffic at a member that is not declared", World::new(spec(PLAIN), &[("eu-9", 100)])),
        ("no live route", {
            let mut world = plain();
            world.routes.values_mut().for_each(|route| *route = None);
            world
        }),
    ]
}

fn with_hook(kind: &str, status: Option<u16>) -> World {
    let hook = format!("hooks: [{{name: smoke, type: {kind}, url: 'http://hooks.example.com/'}}]");
    let mut world = World::new(spec(&format!("{PLAIN}{hook}\n")), &[("eu-1", 100)]);
    world.receivers.insert("smoke".to_owned(), status);
    world
}

fn with_skip() -> World {
    let hooks = "hooks: [{name: urgent, type: Skip, url: 'http://hooks.example.com/'}]";
    let mut world = World::new(spec(&format!("strategy: {{ramp: {{stepWeight: 20}}}}\n{hooks}")), &[("primary", 100)]);
    world.point("eu-1.example.com").run_for(10);
    world.point("eu-3.example.com");
    world
}

fn with_windows() -> World {
    let windows = "  windows: [{days: Mon-Fri, from: '09:00', to: '16:00', timeZone: Europe/Berlin}]";
    let strategy = format!("strategy:\n  bake: 20s\n  steps: [{{progress: 25%}}, {{progress: 100%}}]\n{windows}");
    World::new(
        spec(&format!("members: [{{name: eu-1, weight: 0}}, {{name: eu-3, weight: 100}}]\n{strategy}")),
        &[("eu-1", 100)],
    )
}

fn with_deadline() -> World {
    let strategy = "strategy: {bake: 20s, progressDeadline: 30s, steps: [{progress: 25%}, {progress: 100%}]}";
    let members = "members: [{name: eu-1, weight: 0}, {name: eu-3, weight: 100}]";
    World::new(spec(&format!("{members}\n{strategy}")), &[("eu-1", 100)])
}

fn with_held_failure() -> World {
    let mut world = World::new(spec(&PLAIN.replace("bake: 20s", "bake: 20s, onFailure: Hold")), &[("eu-1", 100)]);
    world.metrics = Metrics::CanaryFails;
    world
}

fn with_edited_analysis() -> World {
    let mut world = World::new(spec(PLAIN), &[("eu-1", 100)]);
    world.run_for(20);
    world.spec.analysis.metrics[0].min_samples = 3;
    world
}

fn tracking(is_read: bool) -> World {
    let services = "services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: public}}],
                    track: {workloads: [{kind: Deployment, name: shop}]}}]";
    let mut world = World::new(spec(&format!("{services}{PLAIN}")), &[("eu-1", 100)]);
    let eu_3 = Site::Member("eu-3".to_owned());
    world.config(&eu_3, &[("ConfigMap/shop", "a")]);
    if is_read {
        world.run_for(8).config(&eu_3, &[("ConfigMap/shop", "b")]);
    } else {
        world.hide_configs();
    }
    world
}

fn with_copies() -> World {
    let services = "services: [{name: shop, port: 80, routes: [{gatewayAPI: {name: public}}],
                    track: {workloads: [{kind: Deployment, name: shop}], primaryCopies: true}}]";
    let mut world =
        World::new(spec(&format!("{services}\nstrategy: {{ramp: {{stepWeight: 20}}}}")), &[("primary", 100)]);
    let copy = ServiceCopy::of(&json!({"selector": {"app": "shop"}}), &BTreeMap::new(), &BTreeMap::new());
    world.sources.insert("shop".to_owned(), copy);
    world.config(&Site::Hub, &[("ConfigMap/shop", "a")]).refuse_config_copies = true;
    world
}

fn after(dependency: DependencySeen) -> World {
    let mut world = World::new(spec(&format!("{PLAIN}dependsOn: [{{name: base}}]")), &[("eu-1", 100)]);
    world.dependencies = [("base".to_owned(), dependency)].into();
    world
}

fn with_share() -> World {
    let mut world = World::new(spec(PLAIN), &[("eu-1", 100)]);
    world.spec.analysis.share = serde_json::from_value(json!({"within": 5.0})).unwrap();
    world
}

/// The reasons that the scenarios reach; none of them reaches nothing new.
pub fn reached() -> BTreeSet<Reason> {
    let mut all = BTreeSet::new();
    for (name, mut world) in scenarios() {
        let (before, mut reached) = (all.len(), Reached::default());
        for _ in 0..60 {
            world.run_for(0);
            count_reasons(&world, &mut reached);
        }
        all.extend(reached.reasons.into_keys());
        assert!(all.len() > before, "{name} reaches no reason that is not reached before it");
    }
    all
}
