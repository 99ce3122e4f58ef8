//! Tenants of one hub, each with credentials of his own.

mod floods;
mod labels;
mod lent;
mod names;
mod proxy;
mod rights;
mod secrets;

use super::api::refusal;
use crate::{
    apiserver::TENANTS,
    rollout::declaration,
    runner::{Place, Scene, Test},
};
use anyhow::{Context, Result, ensure};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use rights::{grant, rule};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[
    Test {
        name: "only_who_may_write_routes_declares_them",
        place: Place::Shared,
        run: |scene| Box::pin(authors(scene)),
    },
    Test {
        name: "a_member_is_taken_back_in_mid_run",
        place: Place::Shared,
        run: |scene| Box::pin(lent::taken_back(scene)),
    },
    Test {
        name: "who_edits_a_member_gets_no_secret",
        place: Place::Shared,
        run: |scene| Box::pin(secrets::stay_with_the_hub(scene)),
    },
    Test {
        name: "slow_and_huge_answers_harm_no_other",
        place: Place::Shared,
        run: |scene| Box::pin(floods::beside_a_hostile_one(scene)),
    },
    Test {
        name: "two_backends_of_one_name_stay_apart",
        place: Place::Shared,
        run: |scene| Box::pin(names::stay_apart(scene)),
    },
    Test {
        name: "metrics_of_others_are_hidden",
        place: Place::Shared,
        run: |scene| Box::pin(labels::hide_the_metrics_of_others(scene)),
    },
];

/// The admission policy asks the authorizer about the author of a rollout: first for Services, then for the routes.
async fn authors(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let path = format!("/apis/cutover.dev/v1alpha1/namespaces/{name}/fleetrollouts");
    let right = declaration(name, &json!({"gatewayAPI": {"name": "public"}}));
    let tenant = scene.hub.client_as(TENANTS[0]).await?;
    grant(
        &scene,
        name,
        TENANTS[0],
        "author",
        rule("cutover.dev", "fleetrollouts", &["get", "create", "update", "patch"]),
    )
    .await?;
    for (group, resource) in [("", "services"), ("gateway.networking.k8s.io", "httproutes")] {
        let said = refusal(&tenant, &path, &right).await?;
        let which = format!("{resource}{}{group} in namespace {name}", if group.is_empty() { "" } else { "." });
        ensure!(said.contains(&which) && said.contains("which you may not"), "{said}");
        grant(&scene, name, TENANTS[0], resource, rule(group, resource, &["create", "update"])).await?;
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
    for (declared, needed, given) in in_service_mode(name) {
        let said = refusal(&tenant, &path, &declared).await?;
        ensure!(said.contains(needed) && said.contains("which you may not"), "{needed}: {said}");
        for (resource, verbs) in given {
            grant(&scene, name, TENANTS[0], &format!("{resource}-{}", verbs[0]), rule("", resource, verbs)).await?;
        }
    }
    let role = scene.hub.api("rbac.authorization.k8s.io/v1", "RoleBinding", name).await?;
    role.delete("services", &DeleteParams::default()).await?;
    rollouts.patch(name, &PatchParams::default(), &Patch::Merge(label)).await.context("a label declares nothing")?;
    Ok(())
}

/// A declaration, what its author may not do yet, and what he may do from then on.
type Refused = (Value, &'static str, &'static [(&'static str, &'static [&'static str])]);

/// Rollouts without members.
fn in_service_mode(name: &str) -> [Refused; 5] {
    let declared = |service: Value| {
        let mut declared = declaration(name, &Value::Null);
        json_patch::merge(&mut declared["spec"], &json!({"members": null, "strategy": null, "skipAnalysis": true}));
        declared["metadata"]["name"] = "other".into();
        declared["spec"]["services"] = json!([service]);
        declared
    };
    // The default form depends on the backend.
    let skipper = |backend: &str| {
        let routes = json!([{"skipper": {"name": "public"}}]);
        declared(json!({"name": name, "port": 80, "backend": {backend: {}}, "routes": routes}))
    };
    let track = json!({"workloads": [{"kind": "Deployment", "name": "shop"}], "primaryCopies": true});
    let routes = json!([{"gatewayAPI": {"name": "public"}}]);
    let tracking = declared(json!({"name": name, "port": 80, "routes": routes, "track": track}));
    [
        (skipper("clusterIP"), "write ingresses.networking.k8s.io in namespace", &[]),
        (skipper("externalName"), "write routegroups.zalando.org in namespace", &[]),
        (
            tracking.clone(),
            "read configmaps and secrets in namespace",
            &[("configmaps", &["get"]), ("secrets", &["get"])],
        ),
        (tracking.clone(), "create and update configmaps in namespace", &[("configmaps", &["create", "update"])]),
        (tracking, "create and update secrets in namespace", &[]),
    ]
}

fn rollouts(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("cutover.dev", "v1alpha1", "FleetRollout");
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk(&kind))
}
