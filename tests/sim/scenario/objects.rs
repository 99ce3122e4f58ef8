//! Objects and kinds, as people make them.

use std::{collections::BTreeMap, sync::LazyLock};

use cutover::api::crd::definitions;
use serde_json::{Value, json};

use super::super::world::World;

pub const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub const MEMBER_PATH: &str = "/apis/cutover.dev/v1alpha1/memberclusters";
pub const SECRETS: &str = "/api/v1/namespaces/cutover-system/secrets";

/// What nobody may ever read but in its Secret.
pub const SECRET: &str = "s3cret-of-a-member";

/// What it is changed to; it contains the old one, so that whoever looks for that finds both.
pub const NEW_TOKEN: &str = "another-s3cret-of-a-member";

/// The weights of all members that are declared, those that leave at 0.
pub fn members(gaining: &[(&str, u32)]) -> Value {
    let mut all: BTreeMap<&str, u32> = BTreeMap::from([("eu-1", 0), ("eu-2", 0), ("eu-3", 0)]);
    all.extend(gaining.iter().copied());
    all.into_iter().map(|(name, weight)| json!({"name": name, "weight": weight})).collect()
}

pub fn kinds(world: &World) {
    for definition in &*KINDS {
        world.create(CRDS, definition);
    }
}

pub fn member(name: &str) -> Value {
    json!({
        "apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": name},
        "spec": {
            "kubeconfigSecretRef": {"name": name, "key": "kubeconfig"},
            "endpoints": [{"host": format!("{name}.example.com"), "port": 80}],
            "prometheus": {"url": {"address": format!("https://prometheus.{name}.example.com")}},
            "allowedNamespaces": {"from": "All"},
        },
    })
}

/// Service mode: the user's own Service, pointed at a member.
pub fn own_service(member: &str) -> Value {
    let mut service = backend("shop", member);
    service["metadata"] = json!({"name": "shop", "namespace": "shop", "annotations": {"cutover.dev/member": member}, "labels": {"team": "web"}});
    service
}

/// A backend that was made by hand before there was a hub.
pub fn backend(service: &str, member: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service",
           "metadata": {"name": format!("{service}-{member}"), "namespace": "shop"},
           "spec": {"type": "ExternalName", "externalName": format!("{member}.example.com"),
                    "ports": [{"name": "http", "port": 80}]}})
}

pub fn secret(world: &World, name: &str) {
    world.create(SECRETS, &secret_of(name, SECRET));
}

pub fn secret_of(name: &str, token: &str) -> Value {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": format!("https://api.{name}.example.com:6443"),
                      "certificate-authority-data": *AUTHORITY}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    });
    let labels = json!({"cutover.dev/purpose": "kubeconfig"});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "cutover-system", "labels": labels},
           "stringData": {"kubeconfig": config.to_string()}})
}

/// Made once: schemas are built from types, which takes longer than a plan's first minute.
static KINDS: LazyLock<Vec<Value>> = LazyLock::new(|| definitions().expect("the definitions are JSON"));

/// Trusted by nobody; a kubeconfig must have one.
static AUTHORITY: LazyLock<String> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(vec!["api.example.com".to_owned()]).expect("a certificate");
    let bytes = k8s_openapi::ByteString(made.cert.pem().into_bytes());
    serde_json::to_value(bytes).expect("text").as_str().unwrap_or_default().to_owned()
});

/// The service that takes the alerts of the rollout.
pub fn alert_provider() -> Value {
    json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "AlertProvider", "metadata": {"name": "chat", "namespace": "shop"},
           "spec": {"webhook": {}, "url": "https://alerts.example.com/in"}})
}
