//! Who may edit a MemberCluster does not get Secrets of the hub.

use super::{
    proxy::Proxy,
    rights::{lend, withdraw},
};
use crate::{
    fleet::SYSTEM,
    gateway::acceptor,
    runner::Scene,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use cutover::api::{MemberCluster, Reason};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

/// eu-3 as the second tenant registers it.
const THEIRS: &str = "thief";

/// Secrets of the hub that the second tenant names in its own MemberCluster, where its own server would get them: a
/// kubeconfig, credentials for another host, and one that is for nobody.
pub async fn stay_with_the_hub(scene: Scene) -> Result<()> {
    let tls = acceptor(&[("eu-3.lab", &scene.pki.serve(&["eu-3.lab"])?)])?;
    let proxy = Proxy::pass_on(scene.member("eu-3").prometheus.url(), Some(tls)).await?;
    for (name, metadata) in [
        (
            "thief-elsewhere",
            json!({"labels": {"cutover.dev/purpose": "prometheus"},
                                   "annotations": {"cutover.dev/hosts": "prometheus.example.com"}}),
        ),
        ("thief-unlabelled", json!({})),
    ] {
        let mut secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"value": "s3cret"}});
        secret["metadata"]["name"] = name.into();
        scene.hub.apply(SYSTEM, &secret.to_string()).await?;
    }
    let authority = json!({"name": "lab-ca", "key": "ca.crt"});
    let prometheus = json!({"address": proxy.address("https"), "caSecretRef": authority});
    let members = lend(&scene, THEIRS, &prometheus, &json!({"from": "Names", "names": ["nobody"]})).await?;
    healthy(&members).await?;
    for field in ["bearerTokenSecretRef", "basicAuthSecretRef"] {
        for (secret, reason, remedy) in [
            ("eu-1-kubeconfig", Reason::SecretNotAllowed, "has the label cutover.dev/purpose: kubeconfig"),
            ("thief-elsewhere", Reason::SecretNotAllowed, "may not be sent to eu-3.lab"),
            ("thief-unlabelled", Reason::SecretNotFound, "or lacks the label cutover.dev/purpose: prometheus"),
        ] {
            let url = json!({field: {"name": secret, "key": "value"}});
            edit(&members, &json!({"prometheus": {"url": url}})).await?;
            refused(&members, "MetricsAvailable", reason, remedy)
                .await
                .with_context(|| format!("{field}: {secret}"))?;
        }
        edit(&members, &json!({"prometheus": {"url": {field: null}}})).await?;
    }
    healthy(&members).await?;
    edit(&members, &json!({"kubeconfigSecretRef": {"name": "thief-elsewhere", "key": "value"}})).await?;
    let remedy = "has the label cutover.dev/purpose: prometheus, so it is not used as kubeconfig";
    refused(&members, "CredentialsValid", Reason::SecretNotAllowed, remedy).await?;
    ensure!(proxy.credentials() == 0, "{} requests brought credentials", proxy.credentials());
    withdraw(&scene, &members, THEIRS).await
}

async fn edit(members: &Api<MemberCluster>, spec: &Value) -> Result<()> {
    members.patch(THEIRS, &PatchParams::default(), &Patch::Merge(json!({ "spec": spec }))).await?;
    Ok(())
}

async fn healthy(members: &Api<MemberCluster>) -> Result<()> {
    eventually("its metrics", seconds(20), async || {
        let status = members.get(THEIRS).await?.status.unwrap_or_default();
        let found = status.conditions.iter().find(|one| one.type_ == "MetricsAvailable");
        ensure!(found.is_some_and(|one| one.reason == Reason::MetricsAnswer), "{found:?}");
        Ok(())
    })
    .await
}

/// The member says that the Secret is not used, and what to do.
async fn refused(members: &Api<MemberCluster>, condition: &str, reason: Reason, remedy: &str) -> Result<()> {
    eventually("the refusal", seconds(20), async || {
        let status = members.get(THEIRS).await?.status.unwrap_or_default();
        let found = status.conditions.iter().find(|one| one.type_ == condition);
        ensure!(found.is_some_and(|one| one.reason == reason && one.message.contains(remedy)), "{found:?}");
        Ok(())
    })
    .await
}
