//! The rollout and its routes, as anybody reads them, and the verbs that the demo uses.

use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

use super::declared::{NAMESPACE, ROLLOUT};
use crate::{
    api::{
        Distribution, FleetRollout, FleetRolloutStatus, RolloutRequest, RolloutRequestSpec, Verb, request::RolloutRef,
        status::Run,
    },
    sandbox::proxy,
};

pub(super) async fn status(cluster: &Client) -> Result<FleetRolloutStatus, kube::Error> {
    let rollout = Api::<FleetRollout>::namespaced(cluster.clone(), NAMESPACE).get_opt(ROLLOUT).await?;
    Ok(rollout.and_then(|rollout| rollout.status).unwrap_or_default())
}

/// Weights of the live route of a service; members that it does not name have none.
pub(super) async fn applied(cluster: &Client, service: &str) -> Result<Distribution, kube::Error> {
    let routes: Api<DynamicObject> = Api::namespaced_with(cluster.clone(), NAMESPACE, &proxy::resource());
    let route = routes.get(service).await?;
    let backends = route.data.pointer("/spec/rules/0/backendRefs").and_then(Value::as_array);
    let weighted = |backend: &Value| {
        let member = backend["name"].as_str()?.strip_prefix(service)?.strip_prefix('-')?;
        Some((member.to_owned(), u32::try_from(backend["weight"].as_u64().unwrap_or(1)).ok()?))
    };
    Ok(backends.into_iter().flatten().filter_map(weighted).collect())
}

/// Declares other members.
pub(super) async fn redeclare(cluster: &Client, members: Value) -> Result<(), kube::Error> {
    let rollouts = Api::<FleetRollout>::namespaced(cluster.clone(), NAMESPACE);
    let patch = Patch::Merge(json!({"spec": {"members": members}}));
    rollouts.patch(ROLLOUT, &PatchParams::default(), &patch).await.map(|_| ())
}

/// Requests what a person would with `cutover promote` or `cutover pause`. A promotion opens the wait of the present step, also
/// in advance.
pub(super) async fn request(cluster: &Client, run: &Run, verb: Verb) -> Result<(), kube::Error> {
    let rollout = Api::<FleetRollout>::namespaced(cluster.clone(), NAMESPACE).get(ROLLOUT).await?;
    let spec = RolloutRequestSpec {
        rollout: RolloutRef { name: ROLLOUT.to_owned(), uid: rollout.uid().unwrap_or_default() },
        verb,
        run: run.number,
        step: (verb == Verb::Promote).then(|| run.step()),
        sequence: None,
        reason: None,
        requested_by: "demo".to_owned(),
    };
    let mut request = RolloutRequest::new("", spec);
    request.metadata.name = None;
    request.metadata.generate_name = Some("demo-".to_owned());
    let requests = Api::<RolloutRequest>::namespaced(cluster.clone(), NAMESPACE);
    requests.create(&PostParams::default(), &request).await.map(|_| ())
}
