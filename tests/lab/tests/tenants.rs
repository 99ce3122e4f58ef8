//! Tenants of one hub, each with credentials of his own.

use super::api::refusal;
use crate::{
    apiserver::TENANTS,
    rollout::declaration,
    runner::{Scene, Test},
};
use anyhow::{Context, Result, ensure};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[Test {
    name: "only_who_may_write_routes_declares_them",
    exclusive: false,
    run: |scene| Box::pin(authors(scene)),
}];

/// A role in the scene's namespace, bound to the first tenant.
async fn grant(scene: &Scene, name: &str, rules: Value) -> Result<()> {
    let rbac =
        |kind: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}});
    let (mut role, mut binding) = (rbac("Role"), rbac("RoleBinding"));
    role["rules"] = rules;
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
    binding["subjects"] = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": TENANTS[0]}]);
    scene.hub.create(&scene.namespace, &role.to_string()).await?;
    scene.hub.create(&scene.namespace, &binding.to_string()).await
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!([{"apiGroups": [group], "resources": [resource], "verbs": verbs}])
}

/// The admission policy asks the authorizer about the author of a rollout: first for Services, then for the routes.
async fn authors(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let path = format!("/apis/cutover.dev/v1alpha1/namespaces/{name}/fleetrollouts");
    let right = declaration(name, &json!({"gatewayAPI": {"name": "public"}}));
    let tenant = scene.hub.client_as(TENANTS[0]).await?;
    grant(&scene, "author", rule("cutover.dev", "fleetrollouts", &["get", "create", "update", "patch"])).await?;
    for (group, resource) in [("", "services"), ("gateway.networking.k8s.io", "httproutes")] {
        let said = refusal(&tenant, &path, &right).await?;
        let which = format!("{resource}{}{group} in namespace {name}", if group.is_empty() { "" } else { "." });
        ensure!(said.contains(&which) && said.contains("which you may not"), "{said}");
        grant(&scene, resource, rule(group, resource, &["create", "update"])).await?;
    }
    let rollouts = rollouts(&tenant, name);
    let mine: DynamicObject = serde_json::from_value(right.clone())?;
    rollouts.create(&PostParams::default(), &mine).await.context("who may write the routes may declare them")?;

    let (contour, label) = (
        json!({"spec": {"services": [{"name": name, "port": 80, "routes": [{"contour": {"name": "public"}}]}]}}),
        json!({"metadata": {"labels": {"team": "web"}}}),
    );
    let said =
        rollouts.patch(name, &PatchParams::default(), &Patch::Merge(contour)).await.err().context("it was taken")?;
    ensure!(said.to_string().contains("httpproxies.projectcontour.io"), "{said}");
    let role = scene.hub.api("rbac.authorization.k8s.io/v1", "RoleBinding", name).await?;
    role.delete("services", &DeleteParams::default()).await?;
    rollouts.patch(name, &PatchParams::default(), &Patch::Merge(label)).await.context("a label declares nothing")?;
    Ok(())
}

fn rollouts(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("cutover.dev", "v1alpha1", "FleetRollout");
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind))
}
