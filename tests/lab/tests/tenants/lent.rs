//! A member that one tenant lends to another.

use super::{
    proxy::Proxy,
    rights::{lend, withdraw},
};
use crate::{
    rollout::steps,
    runner::Scene,
    shares::assert_shares,
    stage::{Stage, all_at},
    wait::{eventually, seconds},
};
use anyhow::{Result, ensure};
use cutover::api::{FleetRolloutStatus, Phase, Reason, Verb};
use kube::api::{Patch, PatchParams};
use serde_json::json;

/// eu-3 as the second tenant lends it.
const LENT: &str = "lent";

/// The second tenant lends eu-3 to the first, and takes it back while it has a tenth of the traffic: its Prometheus is not
/// queried any more, it gains nothing, and a rollback needs nobody's consent.
pub async fn taken_back(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let proxy = Proxy::pass_on(scene.member("eu-3").prometheus.url(), None).await?;
    let allowed = json!({"from": "Names", "names": [name]});
    let members = lend(&scene, LENT, &json!({"address": proxy.address("http")}), &allowed).await?;
    let stage = Stage::begin(&scene, json!({"strategy": {"bake": "20s", "steps": steps(&[10, 50, 100])}})).await?;
    let to_lent = json!([{"name": "eu-1", "weight": 0, "initialWeight": 100},
                         {"name": LENT, "weight": 100, "initialWeight": 0}]);
    stage.rollout.edit(json!({ "members": to_lent })).await?;
    stage.rollout.applied(1).await?;
    let is_queried = async || {
        ensure!(proxy.queries() > 0, "no query yet");
        Ok(())
    };
    eventually("a query", seconds(20), is_queried).await?;

    let elsewhere = json!({"spec": {"allowedNamespaces": {"from": "Names", "names": ["elsewhere"]}}});
    members.patch(LENT, &PatchParams::default(), &Patch::Merge(elsewhere)).await?;
    let is_held = |status: &FleetRolloutStatus| {
        status.phase == Phase::Held && status.message.contains("spec.allowedNamespaces.names")
    };
    stage.rollout.until("held for the consent", is_held).await?;
    let (before, sent) = (scene.observed(name), proxy.queries());
    stage.load.goes_on_for(seconds(25)).await?;
    assert_shares(&before, &scene.observed(name), &[("eu-1", 90), ("eu-3", 10)])?;
    let more = proxy.queries() - sent;
    ensure!(more == 0, "{more} queries went to a member that does not allow them");

    stage.rollout.ask(Verb::Abort).await?;
    stage.rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    all_at(&scene, &stage.load, "eu-1").await?;
    stage.rollout.delete().await?;
    stage.rollout.is_gone().await?;
    withdraw(&scene, &members, LENT).await?;
    stage.load.stop().await.assert_all_ok()
}
