//! Tenants of one hub, each with credentials of his own.

use super::api::refusal;
use crate::{
    apiserver::TENANTS,
    fleet::SYSTEM,
    lab::member_address,
    rollout::{declaration, steps},
    runner::{Scene, Test},
    shares::assert_shares,
    stage::{Stage, all_at},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{FleetRolloutStatus, MemberCluster, Phase, Reason, Verb};
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{net::TcpListener, task::AbortHandle};

pub const TESTS: &[Test] = &[
    Test { name: "only_who_may_write_routes_declares_them", exclusive: false, run: |scene| Box::pin(authors(scene)) },
    Test { name: "a_member_is_taken_back_in_mid_run", exclusive: false, run: |scene| Box::pin(taken_back(scene)) },
];

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

/// eu-3 as the second tenant lends it.
const LENT: &str = "lent";

/// The second tenant lends eu-3 to the first, and takes it back while it has a tenth of the traffic: its Prometheus is not
/// queried any more, it gains nothing, and a rollback needs nobody's consent.
async fn taken_back(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let queries = Queries::pass_on(scene.member("eu-3").prometheus.url()).await?;
    let members = lender(&scene, &json!({"from": "Names", "names": [name]}), &queries).await?;
    let stage = Stage::begin(&scene, json!({"strategy": {"bake": "20s", "steps": steps(&[10, 50, 100])}})).await?;
    let to_lent = json!([{"name": "eu-1", "weight": 0, "initialWeight": 100},
                         {"name": LENT, "weight": 100, "initialWeight": 0}]);
    stage.rollout.edit(json!({ "members": to_lent })).await?;
    stage.rollout.applied(1).await?;
    let is_queried = async || {
        ensure!(queries.sent() > 0, "no query yet");
        Ok(())
    };
    eventually("a query", seconds(20), is_queried).await?;

    let elsewhere = json!({"spec": {"allowedNamespaces": {"from": "Names", "names": ["elsewhere"]}}});
    members.patch(LENT, &PatchParams::default(), &Patch::Merge(elsewhere)).await?;
    let is_held = |status: &FleetRolloutStatus| {
        status.phase == Phase::Held && status.message.contains("spec.allowedNamespaces.names")
    };
    stage.rollout.until("held for the consent", is_held).await?;
    let (before, sent) = (scene.observed(name), queries.sent());
    stage.load.goes_on_for(seconds(25)).await?;
    assert_shares(&before, &scene.observed(name), &[("eu-1", 90), ("eu-3", 10)])?;
    ensure!(queries.sent() == sent, "{} queries went to a member that does not allow them", queries.sent() - sent);

    stage.rollout.ask(Verb::Abort).await?;
    stage.rollout.stands(Phase::RolledBack, Reason::Aborted).await?;
    all_at(&scene, &stage.load, "eu-1").await?;
    stage.rollout.delete().await?;
    stage.rollout.is_gone().await?;
    members.delete(LENT, &DeleteParams::default()).await?;
    let all = Api::<MemberCluster>::all(scene.hub.client.clone());
    let is_gone = async || {
        ensure!(all.get_opt(LENT).await?.is_none(), "it is still there");
        Ok(())
    };
    eventually("the end of a member that nobody uses", seconds(10), is_gone).await?;
    stage.load.stop().await.assert_all_ok()
}

/// Registers eu-3 once more; the second tenant may change that, and nothing else.
async fn lender(scene: &Scene, allowed: &Value, queries: &Queries) -> Result<Api<MemberCluster>> {
    let spec = json!({
        "endpoints": [{"host": "{{ service }}.eu-3.lab", "port": 80}],
        "probe": {"path": "/healthz"},
        "prometheus": {"url": {"address": format!("http://eu-3.lab:{}", queries.port)}},
        "allowedNamespaces": allowed,
    });
    let cluster_wide = |group: &str, kind: &str| json!({"apiVersion": group, "kind": kind, "metadata": {"name": LENT}});
    let mut member = cluster_wide("cutover.dev/v1alpha1", "MemberCluster");
    member["spec"] = spec;
    let mut role = cluster_wide("rbac.authorization.k8s.io/v1", "ClusterRole");
    role["rules"] = json!([{"apiGroups": ["cutover.dev"], "resources": ["memberclusters"], "resourceNames": [LENT],
                            "verbs": ["get", "patch", "delete"]}]);
    let mut binding = cluster_wide("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": LENT});
    binding["subjects"] = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": TENANTS[1]}]);
    for object in [member, role, binding] {
        scene.hub.apply(SYSTEM, &object.to_string()).await?;
    }
    Ok(Api::all(scene.hub.client_as(TENANTS[1]).await?))
}

/// Passes queries on to a Prometheus, and counts those of rollouts: the health check asks for no series.
struct Queries {
    port: u16,
    count: Arc<AtomicUsize>,
    task: AbortHandle,
}

impl Queries {
    async fn pass_on(prometheus: String) -> Result<Self> {
        let listener = TcpListener::bind((member_address("eu-3"), 0)).await?;
        let (port, count) = (listener.local_addr()?.port(), Arc::<AtomicUsize>::default());
        let counted = count.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (prometheus, count) = (prometheus.clone(), counted.clone());
                tokio::spawn(async move {
                    let pass =
                        service_fn(async |request| Ok::<_, Infallible>(answer(&prometheus, &request, &count).await));
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), pass).await;
                });
            }
        });
        Ok(Self { port, count, task: task.abort_handle() })
    }

    fn sent(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

impl Drop for Queries {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(prometheus: &str, request: &Request<Incoming>, count: &AtomicUsize) -> Response<String> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    count.fetch_add(usize::from(path.contains("http_requests_total")), Ordering::Relaxed);
    let found = async { reqwest::get(format!("{prometheus}{path}")).await?.text().await };
    let answered = |body: Result<String, reqwest::Error>| match body {
        Ok(body) => Response::new(body),
        Err(error) => {
            let mut response = Response::new(error.to_string());
            *response.status_mut() = http::StatusCode::BAD_GATEWAY;
            response
        }
    };
    answered(found.await)
}
