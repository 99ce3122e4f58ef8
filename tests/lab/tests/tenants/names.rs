//! Two tenants of one namespace whose services and members make the same name.

use super::rights::{create, grant_authorship, lend, withdraw};
use crate::{
    apiserver::TENANTS,
    rollout::{Rollout, declaration},
    runner::Scene,
    stage::{external_name, http_route},
};
use anyhow::{Result, ensure};
use cutover::api::{FleetRolloutStatus, Phase, Reason};
use serde_json::json;

/// `col` at `x-s1` and `col-x` at `s1`: both backends would be the Service `col-x-s1`.
const SERVICES: [(&str, &str); 2] = [("col", "x-s1"), ("col-x", "s1")];

/// The one that comes second is refused, with the name of the Service, and the first one's Service stays as it was made.
pub async fn stay_apart(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let url = json!({"address": scene.member("eu-3").prometheus.url()});
    let allowed = json!({"from": "Names", "names": [name]});
    let mut rollouts = Vec::new();
    let mut members = Vec::new();
    for ((service, member), tenant) in SERVICES.into_iter().zip(TENANTS) {
        members.push(lend(&scene, member, &url, &allowed).await?);
        grant_authorship(&scene, name, tenant).await?;
        let tenant = scene.hub.client_as(tenant).await?;
        external_name(&scene.hub, name, &format!("{service}-eu-1"), &format!("{service}.eu-1.lab")).await?;
        http_route(&scene.hub, name, service, service, &format!("{{name: {service}-eu-1, port: 80}}")).await?;
        let mut declared = declaration(service, &json!({"gatewayAPI": {"name": service}}));
        declared["spec"]["members"] = json!([{"name": "eu-1", "weight": 0, "initialWeight": 100},
                                             {"name": member, "weight": 100, "initialWeight": 0}]);
        // Nobody calls these services: what is measured is always good.
        let good = json!([{"name": "good", "query": "vector(0)", "perMember": {"max": 1}}]);
        declared["spec"]["analysis"]["metrics"] = good;
        create(&tenant, name, &declared).await?;
        rollouts.push(Rollout::of(&scene, name, service));
        if rollouts.len() == 1 {
            rollouts[0].phase(Phase::Succeeded).await?;
        }
    }
    let services = scene.hub.api("v1", "Service", name).await?;
    let first = services.get("col-x-s1").await?;
    ensure!(first.data["spec"]["externalName"] == "col.eu-3.lab", "{}", first.data["spec"]);
    let is_refused =
        |status: &FleetRolloutStatus| status.reason == Reason::Conflict && status.message.contains("Service col-x-s1");
    rollouts[1].until("the conflict", is_refused).await?;
    let now = services.get("col-x-s1").await?;
    ensure!(now.data["spec"] == first.data["spec"] && now.metadata.labels == first.metadata.labels, "{now:?}");
    ensure!(rollouts[0].status().await?.phase == Phase::Succeeded, "the first one was disturbed");
    for rollout in rollouts.iter().rev() {
        rollout.delete().await?;
        rollout.is_gone().await?;
    }
    for ((_, member), members) in SERVICES.into_iter().zip(&members) {
        withdraw(&scene, members, member).await?;
    }
    Ok(())
}
