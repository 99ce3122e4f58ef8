//! What one tenant measures is not readable by another.

use super::rights::{lend, withdraw};
use crate::{
    lab::member_address,
    load::get,
    rollout::{errors, promoted_steps},
    runner::Scene,
    stage::Stage,
};
use anyhow::{Result, ensure};
use cutover::api::{FleetRolloutStatus, Phase, Reason, Verb, status::Verdict};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use std::net::SocketAddr;

/// eu-3 as the second tenant lends it.
const LENT: &str = "lent-by-label";

/// A rollout measures the requests of another tenant's service until the member names a label that holds the namespace; then
/// its own metrics are as before, and of the other's it sees nothing. In the lab the label `service` is the namespace's name.
pub async fn hide_the_metrics_of_others(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let url = json!({"address": scene.member("eu-3").prometheus.url()});
    let members = lend(&scene, LENT, &url, &json!({"from": "Names", "names": [name]})).await?;
    let others = json!({"name": "theirs", "perMember": {"max": 1e12}, "window": "20s",
                        "query": "sum(increase(http_requests_total{service=\"OTHER\"}[{{ window }}]))".replace("OTHER", &format!("{name}-b"))});
    let more = json!({"analysis": {"metrics": [errors(), others]},
                      "strategy": {"bake": "2s", "steps": promoted_steps(&[10, 100])}});
    let stage = Stage::begin(&scene, more).await?;
    let gateway = SocketAddr::from((member_address("eu-3"), 80));
    for _ in 0..50 {
        get(gateway, &format!("{name}-b.eu-3.lab"), "/").await?;
    }
    let to_lent = json!([{"name": "eu-1", "weight": 0, "initialWeight": 100},
                         {"name": LENT, "weight": 100, "initialWeight": 0}]);
    stage.rollout.edit(json!({ "members": to_lent })).await?;
    let sees = |status: &FleetRolloutStatus| {
        judged(status, "theirs", Verdict::Pass) && judged(status, "errors", Verdict::Pass)
    };
    stage.rollout.until("the other's requests, as long as nothing hides them", sees).await?;

    let label = json!({"spec": {"prometheus": {"namespaceLabel": "service"}}});
    members.patch(LENT, &PatchParams::default(), &Patch::Merge(label)).await?;
    let hides = |status: &FleetRolloutStatus| {
        judged(status, "theirs", Verdict::Unknown) && judged(status, "errors", Verdict::Pass)
    };
    let status = stage.rollout.until("nothing of the other's, and its own", hides).await?;
    let value = status
        .run
        .and_then(|run| run.check)
        .and_then(|check| check.metrics.iter().find(|one| one.metric == "theirs").and_then(|one| one.value));
    ensure!(value.is_none(), "it shows {value:?}");

    stage.rollout.ask(Verb::Abort).await?;
    stage.rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    stage.rollout.delete().await?;
    stage.rollout.is_gone().await?;
    withdraw(&scene, &members, LENT).await?;
    stage.load.stop().await.assert_all_ok()
}

/// The last check gave this verdict on the metric.
fn judged(status: &FleetRolloutStatus, metric: &str, verdict: Verdict) -> bool {
    let check = status.run.as_ref().and_then(|run| run.check.as_ref());
    check.is_some_and(|check| check.metrics.iter().any(|one| one.metric == metric && one.verdict == verdict))
}
