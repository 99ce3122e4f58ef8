//! What the hub shows to members and their Prometheus, from Secrets.

use crate::{
    cluster::Cluster,
    fleet::SYSTEM,
    gateway::acceptor,
    lab::member_address,
    rollout::{members, promoted_steps},
    runner::{Place, Scene, Test},
    stage::Stage,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{Phase, Reason};
use http::{Request, Response, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::{
    ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use std::convert::Infallible;
use tokio::{net::TcpListener, task::AbortHandle};
use tokio_rustls::TlsAcceptor;

pub const TESTS: &[Test] = &[
    Test { name: "a_kubeconfig_is_rotated", place: Place::Alone, run: |scene| Box::pin(rotated(scene)) },
    Test { name: "a_prometheus_wants_credentials", place: Place::Alone, run: |scene| Box::pin(guarded(scene)) },
];

/// Port of a Prometheus behind TLS that wants credentials.
const GUARDED: u16 = 9443;

/// Waits until a member's condition has this status and reason; its message.
pub async fn condition(hub: &Cluster, member: &str, kind: &str, wanted: &str, reason: &str) -> Result<String> {
    let members = hub.api("cutover.dev/v1alpha1", "MemberCluster", SYSTEM).await?;
    eventually(reason, seconds(10), async || {
        let member = members.get(member).await?;
        let conditions = member.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|one| one["type"] == kind).cloned().unwrap_or(Value::Null);
        ensure!(found["status"] == wanted && found["reason"] == reason, "{found}");
        Ok(found["message"].as_str().unwrap_or_default().to_owned())
    })
    .await
}

/// Sets one value of a Secret of the hub.
pub async fn put(hub: &Cluster, name: &str, key: &str, text: &str) -> Result<()> {
    let secrets = hub.api("v1", "Secret", SYSTEM).await?;
    let patch = json!({"stringData": {key: text}});
    secrets.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// Bad credentials are noticed and good ones are used, without a restart. The Prometheus of eu-2 is behind its API server, so
/// nothing is known of a canary there meanwhile.
async fn rotated(scene: Scene) -> Result<()> {
    let stage = Stage::begin(&scene, json!({"strategy": {"steps": promoted_steps(&[30, 100])}})).await?;
    stage.rollout.edit(json!({"members": members([0, 100, 0], [100, 0, 0])})).await?;
    stage.rollout.applied(1).await?;
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    let version = stage.routes.get("public").await?.resource_version();
    let put = async |text: String| put(&scene.hub, "eu-2-kubeconfig", "value", &text).await;
    let credentials =
        async |wanted: &str, reason: &str| condition(&scene.hub, "eu-2", "CredentialsValid", wanted, reason).await;
    let good = scene.member("eu-2").cluster.kubeconfig(crate::apiserver::READER);
    credentials("True", "CredentialsGood").await?;
    put(good.replace("-token", "-forged")).await?;
    let refused = credentials("False", "CredentialsRefused").await;
    let held = stage.rollout.stands(Phase::Held, Reason::MetricsUnknown).await;
    put(good.replace("user: {token:", "user: {exec: {command: sh}, token:")).await?;
    let exec = credentials("False", "KubeconfigRefused").await;
    put(good).await?;
    credentials("True", "CredentialsGood").await?;
    ensure!(held?.message.contains("eu-2"), "it is not said whose metrics are unknown");
    stage.rollout.phase(Phase::WaitingPromotion).await?;
    ensure!(stage.routes.get("public").await?.resource_version() == version, "the route was written");
    stage.load.stop().await.assert_all_ok()?;
    let message = refused?;
    ensure!(!message.contains("forged"), "a message shows the token: {message}");
    let message = exec?;
    ensure!(message.contains("users[0].user.exec"), "{message}");
    Ok(())
}

/// eu-1's Prometheus is measured with a token and with a password, and says so when they are wrong.
async fn guarded(scene: Scene) -> Result<()> {
    let guard = guard(&scene).await?;
    let metadata = json!({"name": "guarded", "labels": {"cutover.dev/purpose": "prometheus"},
                          "annotations": {"cutover.dev/hosts": format!("eu-1.lab:{GUARDED}")}});
    let data = json!({"token": TOKEN, "user": USER});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
    scene.hub.apply(SYSTEM, &secret.to_string()).await?;
    let mut outcome = Ok(());
    for (name, field, key, good) in
        [("by-bearer", "bearerTokenSecretRef", "token", TOKEN), ("by-basic", "basicAuthSecretRef", "user", USER)]
    {
        scene.hub.apply(SYSTEM, &member(name, field, key).to_string()).await?;
        outcome = outcome.and(measured(&scene.hub, name, key, good).await);
        let members = scene.hub.api("cutover.dev/v1alpha1", "MemberCluster", SYSTEM).await?;
        members.delete(name, &DeleteParams::default()).await?;
        let gone = async || members.get_opt(name).await?.map_or(Ok(()), |_| anyhow::bail!("{name} is still there"));
        eventually("the end of a member that nobody uses", seconds(10), gone).await?;
    }
    guard.abort();
    outcome
}

async fn measured(hub: &Cluster, name: &str, key: &str, good: &str) -> Result<()> {
    condition(hub, name, "MetricsAvailable", "True", "MetricsAnswer").await.context("with the right credentials")?;
    put(hub, "guarded", key, "me:forged").await?;
    let message = condition(hub, name, "MetricsAvailable", "False", "MetricsUnreachable").await?;
    let expected = "Prometheus answered with status 401: it does not know the credentials; renew their Secret";
    ensure!(message == expected, "{message}");
    put(hub, "guarded", key, good).await?;
    condition(hub, name, "MetricsAvailable", "True", "MetricsAnswer").await.map(drop)
}

fn member(name: &str, field: &str, key: &str) -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "MemberCluster",
        "metadata": {"name": name},
        "spec": {
            "endpoints": [{"host": "{{ service }}.eu-1.lab", "port": 80}],
            "prometheus": {"url": {
                "address": format!("https://eu-1.lab:{GUARDED}/prom"),
                "caSecretRef": {"name": "lab-ca", "key": "ca.crt"},
                field: {"name": "guarded", "key": key},
            }},
            "allowedNamespaces": {"from": "All"},
        },
    })
}

const TOKEN: &str = "a-token";
const USER: &str = "me:a password";
/// What a client sends who has one of them: `me:a password` in base64.
const ACCEPTED: [&str; 2] = ["Bearer a-token", "Basic bWU6YSBwYXNzd29yZA=="];

/// Passes requests below /prom on to eu-1's Prometheus, over TLS, for those who may.
async fn guard(scene: &Scene) -> Result<AbortHandle> {
    let tls = acceptor(&[("eu-1.lab", &scene.pki.serve(&["eu-1.lab"])?)])?;
    let listener = TcpListener::bind((member_address("eu-1"), GUARDED)).await?;
    Ok(tokio::spawn(serve(listener, tls, scene.member("eu-1").prometheus.url())).abort_handle())
}

async fn serve(listener: TcpListener, tls: TlsAcceptor, prometheus: String) {
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, prometheus) = (tls.clone(), prometheus.clone());
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            let pass = service_fn(async |request| Ok::<_, Infallible>(pass_on(&prometheus, &request).await));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), pass).await;
        });
    }
}

async fn pass_on(prometheus: &str, request: &Request<Incoming>) -> Response<String> {
    let answer = |status: u16, body: String| {
        let mut response = Response::new(body);
        *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
        response
    };
    let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if !shown.is_some_and(|shown| ACCEPTED.contains(&shown)) {
        return answer(401, "who are you?".to_owned());
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let Some(path) = path.strip_prefix("/prom") else { return answer(404, String::new()) };
    match reqwest::get(format!("{prometheus}{path}")).await {
        Ok(found) => answer(found.status().as_u16(), found.text().await.unwrap_or_default()),
        Err(error) => answer(502, error.to_string()),
    }
}
