//! `cutover doctor` on real API servers, data planes and Prometheus: all is good first, and then what was broken is named.

use crate::{
    apiserver::{ADMIN, HUB_USER},
    fleet::{SYSTEM, bound, source},
    rollout::declaration,
    runner::{Place, Scene, Test},
    stage::Stage,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::Phase;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::process::Command;

pub const TESTS: &[Test] = &[Test {
    name: "doctor_finds_nothing_and_then_what_is_broken",
    place: Place::Alone,
    run: |scene| Box::pin(finds(scene)),
}];

const ROLE: &str = "config/rbac/routes/gateway-api.yaml";
const KIND: &str = "metrictemplates.cutover.dev";
const DESCRIPTION: &str = "/spec/versions/0/schema/openAPIV3Schema/description";
const NO_MEMBER: &str = "eu-9";

/// A rollout at rest with traffic; then a role, a CRD, a member and a route that are wrong, all at once.
async fn finds(scene: Scene) -> Result<()> {
    scene.hub.apply(SYSTEM, &deployment()?).await?;
    let stage = Stage::begin(&scene, json!({})).await?;
    let found = async {
        finds_nothing(&scene).await.context("all is good")?;
        finds_what_is_broken(&scene).await
    }
    .await;
    repair(&scene).await?;
    found?;
    stage.rollout.phase(Phase::Initialized).await?;
    finds_nothing(&scene).await.context("all is repaired")
}

/// The report, and the exit status.
async fn doctor(scene: &Scene) -> Result<(i32, Value)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.env("KUBECONFIG", scene.hub.kubeconfig_file(ADMIN)?);
    command.args(["doctor", "-n", &scene.namespace, "-o", "json"]).kill_on_drop(true);
    let output = tokio::time::timeout(seconds(70), command.output()).await.context("no end")??;
    let report = serde_json::from_slice(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.code().context("it was killed")?, report.context(said)?))
}

/// The checks of a report with this outcome, as `subject: message`.
fn lines(report: &Value, outcome: &str) -> Vec<String> {
    let checks = report["checks"].as_array().into_iter().flatten().filter(|check| check["outcome"] == outcome);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    checks.map(|check| format!("{}: {}", text(&check["subject"]), text(&check["message"]))).collect()
}

/// Nothing is bad, and what only a real cluster can say is among what is good.
async fn finds_nothing(scene: &Scene) -> Result<()> {
    let name = &scene.namespace;
    eventually("nothing that is bad", seconds(30), async || {
        let (status, report) = doctor(scene).await?;
        ensure!(status == 0, "{status}: {:#?}", lines(&report, "bad"));
        let good = lines(&report, "good");
        for wanted in [
            "CRD fleetrollouts.cutover.dev: Established, with the schema of cutover",
            "the hub by ClusterRole cutover-hub: has all",
            "the hub by ClusterRole cutover-hub-gateway-api: has all",
            "ValidatingAdmissionPolicy cutover-authors: as in",
            "ValidatingAdmissionPolicyBinding cutover-requested-by: as in",
            "eu-2: from the hub: Reachable is True",
            "eu-2: from here: login: it knows the credentials",
            "eu-2: from here: right to get services/proxy http:prometheus:9090: allowed",
            "eu-1: from here: Prometheus: Prometheus answers",
            &format!("eu-1: from here: endpoint {name}.eu-1.lab:80: it answers"),
            &format!("{name}/{name} HTTPRoute/public ({name}): its controller accepted generation"),
            &format!("{name}/{name} HTTPRoute/public ({name}): Gateway projectcontour/public is Programmed"),
            &format!("{name}/{name} {name}: errors at eu-1: 0 % of "),
        ] {
            ensure!(good.iter().any(|line| line.starts_with(wanted)), "{wanted:?} is not in {good:#?}");
        }
        Ok(())
    })
    .await
}

/// Everything that is broken is named in one report, and nothing else.
async fn finds_what_is_broken(scene: &Scene) -> Result<()> {
    let name = &scene.namespace;
    unbind_role(scene).await?;
    describe_kind(scene, "of another version").await?;
    scene.hub.apply(SYSTEM, &member()).await?;
    let lost = declaration("lost", &json!({"gatewayAPI": {"name": "lost"}}));
    scene.hub.create(name, &lost.to_string()).await?;
    eventually("a line for each", seconds(30), async || {
        let (status, report) = doctor(scene).await?;
        let bad = lines(&report, "bad");
        let mut wanted = vec![
            "the hub by ClusterRole cutover-hub-gateway-api: the hub may not get, list, watch, create, update, delete \
             httproutes.gateway.networking.k8s.io"
                .to_owned(),
            format!(
                "CRD {KIND}: its schema is not that of cutover {}: it differs at description",
                env!("CARGO_PKG_VERSION")
            ),
            format!("{NO_MEMBER}: from here: endpoint no-such-host.lab:80: no-such-host.lab does not resolve"),
            format!("{name}/lost HTTPRoute/lost (lost): HTTPRoute lost in namespace {name} does not exist"),
        ];
        wanted.retain(|wanted| !bad.iter().any(|line| line.starts_with(wanted.as_str())));
        ensure!(status == 1 && wanted.is_empty(), "{status}: {wanted:#?} are not in {bad:#?}");
        let others = |line: &&String| ![NO_MEMBER, KIND, "gateway-api", "/lost"].iter().any(|word| line.contains(word));
        let others: Vec<&String> = bad.iter().filter(others).collect();
        ensure!(others.is_empty(), "{others:#?} are not broken");
        Ok(())
    })
    .await
}

async fn repair(scene: &Scene) -> Result<()> {
    scene.hub.apply(SYSTEM, &bound(ROLE, HUB_USER)?).await?;
    let file = std::fs::read_to_string(source("config/crd/metrictemplates.yaml"))?;
    let shipped: Value = serde_yaml::from_str(file.trim_start_matches("---\n"))?;
    describe_kind(scene, shipped.pointer(DESCRIPTION).and_then(Value::as_str).context("a description")?).await?;
    for (version, kind, namespace, name) in [
        ("cutover.dev/v1alpha1", "MemberCluster", "", NO_MEMBER),
        ("cutover.dev/v1alpha1", "FleetRollout", scene.namespace.as_str(), "lost"),
    ] {
        let api = scene.hub.api(version, kind, namespace).await?;
        if api.get_opt(name).await?.is_some() {
            api.delete(name, &DeleteParams::default()).await?;
        }
        eventually(&format!("the end of {kind} {name}"), seconds(60), async || {
            ensure!(api.get_opt(name).await?.is_none());
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// Takes the role for routes of Gateway API from the service account, but not from the user as whom the lab's hub runs.
async fn unbind_role(scene: &Scene) -> Result<()> {
    let bindings = scene.hub.api("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "").await?;
    let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": HUB_USER});
    let patch = Patch::Merge(json!({ "subjects": [user] }));
    bindings.patch("cutover-hub-gateway-api", &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Writes the description of a kind's schema, which is all that differs between two versions.
async fn describe_kind(scene: &Scene, text: &str) -> Result<()> {
    let kinds = scene.hub.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", "").await?;
    let patch = serde_json::from_value(json!([{"op": "replace", "path": DESCRIPTION, "value": text}]))?;
    kinds.patch(KIND, &PatchParams::default(), &Patch::Json::<()>(patch)).await?;
    Ok(())
}

/// A member whose name does not resolve.
fn member() -> String {
    json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": NO_MEMBER},
        "spec": {
            "endpoints": [{"host": "no-such-host.lab", "port": 80}], "allowedNamespaces": {"from": "All"},
            "prometheus": {"url": {"address": "http://no-such-host.lab:9090"}},
        },
    })
    .to_string()
}

/// The Deployment of deploy/hub.yaml, with the image of this version and the status that its controller would write: the lab
/// runs the hub as a process, and no controllers.
fn deployment() -> Result<String> {
    let mut deployment: Value = serde_yaml::from_str(&std::fs::read_to_string(source("deploy/hub.yaml"))?)?;
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] =
        json!(concat!("registry.example.com/cutover:", env!("CARGO_PKG_VERSION")));
    deployment["status"] = json!({"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2});
    Ok(deployment.to_string())
}
