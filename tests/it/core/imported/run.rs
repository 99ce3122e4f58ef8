//! An imported rollout in a world of its own.

use cutover::{
    api::{CANARY, FleetRolloutSpec, PRIMARY, Phase, Split, Steering, Verb, analysis::Ratio, hook::HookType},
    import::{self, FlaggerOptions},
    validate::file,
    yaml,
};
use serde_json::Value;

use crate::core::world::World;
use crate::import::fixtures::of;

const OLD: &str = "eu-1.example.com";
const NEW: &str = "eu-3.example.com";
/// A run ends within so many seconds, or is stuck.
const LONGEST: i64 = 40 * 3600;

/// A Canary of a fixture, and the rollout that was made of it.
pub(super) struct Imported {
    pub(super) canary: Value,
    pub(super) spec: FleetRolloutSpec,
}

impl Imported {
    pub(super) fn of(fixture: &str, canary: &str) -> Self {
        let found = of("flagger").into_iter().find(|one| one.name() == format!("flagger/{fixture}")).expect(fixture);
        let text = found.text();
        let documents = yaml::documents(&text).unwrap().into_iter();
        let mut objects = documents.map(|document| document.value);
        let is_it = |value: &Value| value["kind"] == "Canary" && value["metadata"]["name"] == canary;
        let canary_value = objects.find(is_it).expect(fixture);
        let manifests = import::flagger(&[("canary.yaml", &text)], FlaggerOptions::default()).manifests;
        let rollouts = manifests.iter().flat_map(|manifest| file(&manifest.text).rollouts);
        let (_, spec) = rollouts.into_iter().find(|(name, _)| name == canary).unwrap();
        Self { canary: canary_value, spec: judged_by_errors(spec) }
    }

    /// The Services led to the old cluster when it was declared, and lead to the new one since.
    pub(super) fn world(&self) -> World {
        let mut world = World::new(self.spec.clone(), &[(PRIMARY, 100)]);
        let rolls_back = self.spec.hooks.iter().filter(|hook| hook.kind == HookType::Rollback);
        world.receivers.extend(rolls_back.map(|hook| (hook.name.clone(), Some(403))));
        world.point(OLD);
        until(&mut world, |world| world.status.phase == Phase::Initialized);
        world.written.clear();
        world.point(NEW);
        world
    }
}

/// What the hub measures of a metric is not the core's: in this world every metric is a share of errors.
fn judged_by_errors(mut spec: FleetRolloutSpec) -> FleetRolloutSpec {
    for metric in &mut spec.analysis.metrics {
        metric.ratio = Some(Ratio { numerator: "n".to_owned(), denominator: "d".to_owned() });
        (metric.histogram, metric.query, metric.template_ref, metric.builtin) = (None, None, None, None);
        (metric.min, metric.max, metric.per_member) = (None, Some(1.0), None);
    }
    spec
}

/// Ticks until this holds; a person promotes whatever waits for one.
pub(super) fn until(world: &mut World, what: impl Fn(&World) -> bool) {
    let end = world.elapsed + LONGEST;
    while !what(world) {
        assert!(world.elapsed < end, "it never came to that: {:?}", world.status);
        if world.status.phase == Phase::WaitingPromotion && world.requests.is_empty() {
            world.ask(Verb::Promote);
        }
        world.probe();
        world.pass();
        world.pass();
        world.after(5);
    }
}

/// What the routes showed of the canary until the run succeeded; `|` is the promotion.
pub(super) fn weights(mut world: World) -> String {
    until(&mut world, |world| world.live_run().is_some());
    let proving = world.run().plan.iter().filter(|step| !step.promotes).count();
    until(&mut world, |world| world.status.phase == Phase::Succeeded);
    let mut shown: Vec<String> = world.written.iter().map(|(_, split)| in_words(split)).collect();
    shown.insert(proving, "|".to_owned());
    if shown.len() == 1 {
        // Nothing is written where the weights are right already.
        shown.push(world.live().weight(CANARY).to_string());
    }
    shown.join(" ")
}

fn in_words(split: &Split) -> String {
    match &split.steering {
        Some(Steering::Mirrored(_)) => "copies".to_owned(),
        Some(Steering::Matched(_)) => "test".to_owned(),
        None => split.weights.weight(CANARY).to_string(),
    }
}
