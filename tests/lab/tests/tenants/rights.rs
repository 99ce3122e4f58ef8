//! What the tenants may do, and what they do with it.

use crate::{
    apiserver::TENANTS,
    fleet::SYSTEM,
    runner::Scene,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::MemberCluster;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::{
    Api, Client,
    api::{DynamicObject, PostParams},
    core::{ApiResource, GroupVersionKind, TypeMeta},
};
use serde_json::{Value, json};

/// A role in a namespace, bound to a tenant, once the API server goes by it.
pub async fn grant(scene: &Scene, namespace: &str, tenant: &str, name: &str, rules: Value) -> Result<()> {
    let rbac =
        |kind: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}});
    let (mut role, mut binding) = (rbac("Role"), rbac("RoleBinding"));
    role["rules"] = rules;
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
    binding["subjects"] = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": tenant}]);
    scene.hub.create(namespace, &role.to_string()).await?;
    scene.hub.create(namespace, &binding.to_string()).await?;
    eventually(&format!("the rights {name} of {tenant}"), seconds(20), async || {
        for rule in role["rules"].as_array().into_iter().flatten() {
            for verb in rule["verbs"].as_array().into_iter().flatten() {
                is_allowed(scene, namespace, tenant, verb, rule).await?;
            }
        }
        Ok(())
    })
    .await
}

/// The authorizer learns of a grant a moment later.
async fn is_allowed(scene: &Scene, namespace: &str, tenant: &str, verb: &Value, rule: &Value) -> Result<()> {
    let attributes = json!({
        "namespace": namespace, "verb": verb, "group": rule["apiGroups"][0], "resource": rule["resources"][0],
        "name": rule["resourceNames"][0],
    });
    let review = json!({"metadata": {}, "spec": {"user": tenant, "resourceAttributes": attributes}});
    let reviews = Api::<SubjectAccessReview>::all(scene.hub.client.clone());
    let answer = reviews.create(&PostParams::default(), &serde_json::from_value(review)?).await?;
    ensure!(answer.status.is_some_and(|status| status.allowed), "{verb} is not allowed yet: {rule}");
    Ok(())
}

pub fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!([{"apiGroups": [group], "resources": [resource], "verbs": verbs}])
}

/// Everything that the author of a rollout needs.
pub async fn grant_authorship(scene: &Scene, namespace: &str, tenant: &str) -> Result<()> {
    let kinds = [("cutover.dev", "fleetrollouts"), ("", "services"), ("gateway.networking.k8s.io", "httproutes")];
    let rules = kinds.map(|(group, resource)| rule(group, resource, &["get", "create", "update", "patch"])[0].clone());
    grant(scene, namespace, tenant, &format!("author-{tenant}"), json!(rules)).await
}

/// A tenant creates an object.
pub async fn create(client: &Client, namespace: &str, object: &Value) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(object.clone())?;
    let TypeMeta { api_version, kind } = object.types.clone().context("an object without a kind")?;
    let kind = GroupVersionKind::try_from(TypeMeta { api_version, kind })?;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind));
    api.create(&PostParams::default(), &object).await.with_context(|| kind.kind.clone())?;
    Ok(())
}

/// Registers eu-3 once more, with this Prometheus; the second tenant may change that, and nothing else.
pub async fn lend(scene: &Scene, name: &str, prometheus: &Value, allowed: &Value) -> Result<Api<MemberCluster>> {
    let spec = json!({
        "endpoints": [{"host": "{{ service }}.eu-3.lab", "port": 80}],
        "probe": {"path": "/healthz"},
        "prometheus": {"url": prometheus},
        "allowedNamespaces": allowed,
    });
    let cluster_wide = |group: &str, kind: &str| json!({"apiVersion": group, "kind": kind, "metadata": {"name": name}});
    let mut member = cluster_wide("cutover.dev/v1alpha1", "MemberCluster");
    member["spec"] = spec;
    let mut role = cluster_wide("rbac.authorization.k8s.io/v1", "ClusterRole");
    role["rules"] = json!([{"apiGroups": ["cutover.dev"], "resources": ["memberclusters"], "resourceNames": [name],
                            "verbs": ["get", "patch", "delete"]}]);
    let mut binding = cluster_wide("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
    binding["subjects"] = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": TENANTS[1]}]);
    for object in [member, role, binding] {
        scene.hub.apply(SYSTEM, &object.to_string()).await?;
    }
    Ok(Api::all(scene.hub.client_as(TENANTS[1]).await?))
}

/// Deletes it, and waits for that: nobody uses it any more.
pub async fn withdraw(scene: &Scene, members: &Api<MemberCluster>, name: &str) -> Result<()> {
    members.delete(name, &kube::api::DeleteParams::default()).await?;
    let all = Api::<MemberCluster>::all(scene.hub.client.clone());
    let is_gone = async || {
        anyhow::ensure!(all.get_opt(name).await?.is_none(), "it is still there");
        Ok(())
    };
    crate::wait::eventually("the end of a member that nobody uses", crate::wait::seconds(10), is_gone).await
}
