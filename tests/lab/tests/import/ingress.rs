//! What Flagger leaves of a Canary with provider skipper: the user's own Ingress, and one of Flagger's beside it.

use super::{Left, Move, Reached, live};
use crate::{endpoint_slices::EndpointSlices, runner::Scene, stage::host, tests::service_mode::ingress};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

const APEX: &str = "public";
const FLAGGERS: &str = "public-canary";

/// Flagger's Ingress is in the way until a person removes it, and the user's own must no longer lead to what is not proven.
pub async fn by_ingress(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let _slices = EndpointSlices::keep(&scene.hub, name).await?;
    let apex = ingress(name, APEX, &host(name));
    for object in [&apex, &beside(&apex, name)] {
        scene.hub.create(name, &object.to_string()).await?;
    }
    let left = Left {
        to: scene.skipper.address,
        provider: "skipper",
        canary: json!({"ingressRef": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": APEX}}),
        route: ("networking.k8s.io/v1", "Ingress", "ingresses"),
        route_name: FLAGGERS.to_owned(),
        reached: Reached::Selector,
    };
    let begun = Move::begin(&scene, left).await?;
    let said = begun.visitor.types(&format!("{} || test $? = 3", live(name))).await?;
    ensure!(said.contains(FLAGGERS), "{said}");

    let to_primary = json!([{
        "op": "replace", "path": "/spec/rules/0/http/paths/0/backend/service/name", "value": format!("{name}-primary"),
    }]);
    let admin = &begun.admin;
    admin.types(&format!("kubectl patch ingress {APEX} -n {name} --type json -p '{to_primary}'")).await?;
    admin.types(&format!("kubectl delete ingress {FLAGGERS} -n {name}")).await?;
    begun.make().await
}

/// As Flagger writes it at rest: both backends for each path, and a predicate that switches it off.
fn beside(apex: &Value, name: &str) -> Value {
    let mut made = apex.clone();
    made["metadata"]["name"] = FLAGGERS.into();
    let weights = json!({format!("{name}-primary"): 100, format!("{name}-canary"): 0});
    json_patch::merge(
        &mut made["metadata"]["annotations"],
        &json!({"zalando.org/backend-weights": weights.to_string(), "zalando.org/skipper-predicate": "False()"}),
    );
    let path = &apex["spec"]["rules"][0]["http"]["paths"][0];
    let to = |copy: &str| {
        let mut path = path.clone();
        path["backend"]["service"]["name"] = format!("{name}-{copy}").into();
        path
    };
    made["spec"]["rules"][0]["http"]["paths"] = json!([to("primary"), to("canary")]);
    made
}
