//! istiod dies in mid-run: nobody notices, and no weight counts that the members do not observe.

use super::{super::hand_made::endpoint_slices, virtual_service};
use crate::{
    rollout::{Rollout, declaration, to_eu_3},
    runner::{Place, Scene, Test},
    shares::assert_shares,
    stage::{all_at, steady_load},
    wait::seconds,
};
use anyhow::{Result, ensure};
use cutover::api::{Phase, Reason};
use serde_json::json;

pub const TESTS: &[Test] =
    &[Test { name: "istiod_is_killed_in_mid_run", place: Place::Alone, run: |scene| Box::pin(killed(scene)) }];

async fn killed(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let istio = scene.istio().await?;
    endpoint_slices(&scene).await?;
    let only = format!("{name}-eu-1");
    virtual_service(&scene, json!([{"route": [{"destination": {"host": only, "port": {"number": 80}}}]}])).await?;
    let mut declared = declaration(name, &json!({"istio": {"name": "public"}}));
    declared["spec"]["services"][0]["backend"] = json!({"clusterIP": {}});
    declared["spec"]["strategy"] =
        json!({"bake": "3s", "steps": [{"progress": "20%"}, {"progress": "60%"}, {"progress": "100%"}]});
    declared["spec"]["analysis"]["share"] = json!({"within": 10});
    let rollout = Rollout::declare(&scene, name, &declared).await?;
    rollout.phase(Phase::Initialized).await?;
    let load = steady_load(istio.address, name).await?;
    rollout.edit(json!({"members": to_eu_3()})).await?;
    rollout.applied(1).await?;

    istio.kill_istiod().await?;
    // Envoy goes on with what it has, so what is written next does not arrive.
    let held = rollout.stands(Phase::Held, Reason::WeightNotObserved).await?;
    ensure!(held.run.is_some_and(|run| run.step() == 2), "it went on without istiod");
    let before = scene.observed(name);
    load.sends(2_100).await?;
    assert_shares(&before, &scene.observed(name), &[("eu-1", 80), ("eu-3", 20)])?;

    istio.start_istiod().await?;
    rollout.phase(Phase::Succeeded).await?;
    all_at(&scene, &load, "eu-3").await?;
    load.goes_on_for(seconds(3)).await?;
    load.stop().await.assert_all_ok()
}
