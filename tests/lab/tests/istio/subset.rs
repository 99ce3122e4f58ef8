//! A mesh that spans the members: istiod reads their API servers, and knows of each endpoint in which cluster it is.

use super::{
    super::{
        hand_made::{HTTP, selectorless},
        promotion::promote,
    },
    promotion::{created, plane},
};
use crate::{
    apiserver::ADMIN,
    runner::{Place, Scene, Test},
};
use anyhow::Result;
use kube::api::DeleteParams;
use serde_json::json;

pub const TESTS: &[Test] =
    &[Test { name: "promotion_by_istio_subset", place: Place::Shared, run: |scene| Box::pin(spanned(scene)) }];

const MEMBERS: [&str; 2] = ["eu-1", "eu-3"];

/// One Service of the same name in both members, and none in the hub.
async fn spanned(scene: Scene) -> Result<()> {
    let name = &scene.namespace;
    for member in MEMBERS {
        let cluster = &scene.member(member).cluster;
        cluster.create_namespace(name).await?;
        selectorless(cluster, name, name, member, HTTP).await?;
        join(&scene, member).await?;
    }
    let service = json!({"backend": {"subset": {}}, "routes": [{"istio": {"create": created(name)}}]});
    let outcome = promote(&scene, plane(&scene, service, name).await?).await;
    for member in MEMBERS {
        leave(&scene, member).await?;
    }
    outcome
}

/// As `istioctl create-remote-secret` does.
async fn join(scene: &Scene, member: &str) -> Result<()> {
    let kubeconfig = scene.member(member).cluster.kubeconfig(ADMIN);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": secret_of(member), "labels": {"istio/multiCluster": "true"}},
        "stringData": {member: kubeconfig},
    });
    scene.hub.apply("istio-system", &secret.to_string()).await
}

async fn leave(scene: &Scene, member: &str) -> Result<()> {
    let secrets = scene.hub.api("v1", "Secret", "istio-system").await?;
    secrets.delete(&secret_of(member), &DeleteParams::default()).await?;
    Ok(())
}

fn secret_of(member: &str) -> String {
    format!("istio-remote-secret-{member}")
}
