//! A rollout of Flagger becomes one of cutover: what is said before of it is read only, and done as it says no request fails.

use crate::{
    apiserver::{ADMIN, VISITOR},
    audit::Request,
    history::History,
    parts::Parts,
    rollout::Rollout,
    runner::{Place, Scene, Test},
    shown::shown,
    stage::{AROUND, all_at, external_name, http_route, steady_load},
    typist::Typist,
};
use anyhow::{Context, Result, ensure};
use cutover::api::Phase;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use std::net::SocketAddr;

pub const TESTS: &[Test] = &[Test {
    name: "a_move_from_flagger_shifts_no_traffic",
    place: Place::Shared,
    run: |scene| Box::pin(by_http_route(scene)),
}];

const CANARY: (&str, &str) = ("flagger.app/v1beta1", "Canary");

/// Whose route Flagger wrote.
pub struct Plane {
    pub to: SocketAddr,
    /// The provider, as a Canary names it.
    pub provider: &'static str,
    /// What a Canary says of its Gateway.
    pub gateway: Value,
    /// API version, kind and plural of the route.
    pub route: (&'static str, &'static str, &'static str),
}

async fn by_http_route(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    let backends =
        format!("{{name: {name}-primary, port: 80, weight: 100}}, {{name: {name}-canary, port: 80, weight: 0}}");
    http_route(&scene.hub, name, name, name, &backends).await?;
    let plane = Plane {
        to: scene.contour.address,
        provider: "gatewayapi:v1",
        gateway: json!({"gatewayRefs": [{"name": "public", "namespace": "projectcontour"}]}),
        route: ("gateway.networking.k8s.io/v1", "HTTPRoute", "httproutes"),
    };
    moved(scene, plane).await
}

/// Everything is typed that `--live` says, but what it leaves to a person.
pub async fn moved(scene: Scene, plane: Plane) -> Result<()> {
    let name = &scene.namespace;
    left_by_flagger(&scene, &plane).await?;
    let load = steady_load(plane.to, name).await?;
    let (api_version, kind, plural) = plane.route;
    let routes = scene.hub.api(api_version, kind, name).await?;
    let history = History::start(routes.clone(), name).await?;
    let visitor = typist(&scene, VISITOR).await?;
    let said = visitor.types(&format!("cutover import flagger --live {name} -n {name}")).await?;
    only_read(&scene, plural)?;
    for expected in
        ["primary 100 % would become the primary", "stays as it is until a run changes it", "nothing was written"]
    {
        ensure!(said.contains(expected), "{said}");
    }

    let admin = typist(&scene, ADMIN).await?;
    let made = admin
        .types(&format!(
            "kubectl get canaries,metrictemplates.flagger.app,services -n {name} -o yaml | cutover import flagger -"
        ))
        .await?;
    flagger_leaves(&scene).await?;
    let to_type = said.lines().filter_map(|line| line.trim().strip_prefix("$ "));
    let (deletes, others): (Vec<&str>, Vec<&str>) = to_type.partition(|line| line.starts_with("kubectl delete"));
    ensure!(
        deletes == [format!("kubectl delete canary {name} -n {name} --cascade=orphan")] && others.len() == 2,
        "{said}"
    );
    for line in others {
        admin.types(&line.replace("MEMBER", "eu-1")).await?;
    }
    let rollout = declare(&scene, &made).await?;
    rollout.phase(Phase::Initialized).await?;
    load.goes_on_for(AROUND).await?;

    let services = scene.hub.api("v1", "Service", name).await?;
    let to_eu_3 = json!({
        "metadata": {"annotations": {"cutover.dev/member": "eu-3"}},
        "spec": {"externalName": format!("{name}.eu-3.lab")},
    });
    services.patch(name, &PatchParams::default(), &Patch::Merge(to_eu_3)).await?;
    rollout.phase(Phase::Succeeded).await?;
    all_at(&scene, &load, "eu-3").await?;

    rollout.delete().await?;
    rollout.is_gone().await?;
    load.goes_on_for(AROUND).await?;
    all_at(&scene, &load, "eu-3").await?;
    load.stop().await.assert_all_ok()?;
    let states = history.entries().into_iter().filter_map(|entry| Some(shown(&entry.object?, name)));
    let mut canary: Vec<u32> = states.map(|shown| shown.get("canary").copied().unwrap_or_default()).collect();
    canary.dedup();
    ensure!(canary == [0, 25, 50, 100, 0], "the canary had {canary:?}");
    for copy in ["primary", "canary"] {
        services
            .get(&format!("{name}-{copy}"))
            .await
            .with_context(|| format!("{copy} is what Flagger would go on with"))?;
    }
    Ok(())
}

async fn typist(scene: &Scene, user: &str) -> Result<Typist> {
    let folder = scene.folder.join("typists").join(format!("{}-{user}", scene.namespace));
    Typist::new(folder, scene.hub.kubeconfig_file(user)?, &Parts::ensure(false).await?, Vec::new())
}

/// What Flagger has made for a Canary of a Service that leads to eu-1, and a user who may look at it.
async fn left_by_flagger(scene: &Scene, plane: &Plane) -> Result<()> {
    let (hub, name) = (&scene.hub, &scene.namespace);
    for (kind, plural) in [("Canary", "canaries"), ("MetricTemplate", "metrictemplates")] {
        hub.apply("", &definition(kind, plural).to_string()).await?;
    }
    for service in [name.clone(), format!("{name}-primary"), format!("{name}-canary")] {
        external_name(hub, name, &service, &format!("{name}.eu-1.lab")).await?;
    }
    let counted = |which: &str| {
        format!("sum(increase(http_requests_total{{service=\"{{{{ target }}}}\"{which}}}[{{{{ interval }}}}]))")
    };
    let template = json!({
        "apiVersion": CANARY.0, "kind": "MetricTemplate", "metadata": {"name": "errors"},
        "spec": {
            "provider": {"type": "prometheus", "address": "http://prometheus.monitoring:9090"},
            "query": format!("{} / {} * 100", counted(",code=~\"5..\""), counted("")),
        },
    });
    let mut service = plane.gateway.clone();
    service["port"] = 80.into();
    let canary = json!({
        "apiVersion": CANARY.0, "kind": CANARY.1, "metadata": {"name": name},
        "spec": {
            "provider": plane.provider,
            "targetRef": {"apiVersion": "v1", "kind": "Service", "name": name},
            "service": service,
            "analysis": {
                "interval": "10s", "threshold": 3, "maxWeight": 50, "stepWeight": 25,
                "metrics": [{"name": "errors", "templateRef": {"name": "errors"}, "thresholdRange": {"max": 1}, "interval": "10s"}],
            },
        },
        "status": {"phase": "Succeeded", "canaryWeight": 0, "failedChecks": 0, "iterations": 0},
    });
    for object in [template, canary] {
        hub.apply(name, &object.to_string()).await?;
    }
    let rules = json!([
        {"apiGroups": ["flagger.app"], "resources": ["canaries", "metrictemplates"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["services"], "verbs": ["get"]},
        {"apiGroups": ["gateway.networking.k8s.io"], "resources": ["httproutes"], "verbs": ["get"]},
        {"apiGroups": ["networking.istio.io"], "resources": ["virtualservices"], "verbs": ["get"]},
        {"apiGroups": ["cutover.dev"], "resources": ["memberclusters"], "verbs": ["list"]},
    ]);
    let api_version = "rbac.authorization.k8s.io/v1";
    let role = json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": VISITOR}, "rules": rules});
    let binding = json!({
        "apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": VISITOR},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": VISITOR},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": VISITOR}],
    });
    for object in [role, binding] {
        hub.apply("", &object.to_string()).await?;
    }
    Ok(())
}

/// The name and the status are what matters of Flagger's own definition.
fn definition(kind: &str, plural: &str) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.flagger.app")},
        "spec": {
            "group": "flagger.app", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// The audit log has nothing but reads of this user, and all of them were allowed.
fn only_read(scene: &Scene, routes: &str) -> Result<()> {
    let requests = scene.hub.requests(VISITOR)?;
    let read: Vec<String> = requests.iter().map(|request| format!("{} {}", request.verb, request.resource())).collect();
    ensure!(requests.iter().all(|request| ["get", "list"].contains(&request.verb.as_str())), "{read:?}");
    let routes = format!("get {routes}");
    for expected in ["get canaries", "get metrictemplates", "get services", &routes, "list memberclusters"] {
        ensure!(read.iter().any(|one| one == expected), "{expected} is not in {read:?}");
    }
    ensure!(!requests.iter().any(Request::is_beyond_rights), "{requests:?}");
    Ok(())
}

/// As `kubectl delete --cascade=orphan` does together with the garbage collector, which the lab does not have.
async fn flagger_leaves(scene: &Scene) -> Result<()> {
    let canaries = scene.hub.api(CANARY.0, CANARY.1, &scene.namespace).await?;
    canaries.delete(&scene.namespace, &DeleteParams::default()).await?;
    Ok(())
}

/// What was imported, with times for a test.
async fn declare<'s>(scene: &'s Scene, made: &str) -> Result<Rollout<'s>> {
    let objects: Vec<Value> = serde_yaml::from_multiple(made)?;
    let [template, rollout] = objects.as_slice() else { anyhow::bail!("{made}") };
    scene.hub.create(&scene.namespace, &template.to_string()).await?;
    let mut rollout = rollout.clone();
    let short = json!({"strategy": {"bake": "3s"}, "analysis": {"interval": "1s", "settle": "1s", "lag": "1s"}});
    json_patch::merge(&mut rollout["spec"], &short);
    Rollout::declare(scene, &scene.namespace, &rollout).await
}
