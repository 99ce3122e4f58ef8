//! cutover in the lab: its kinds, its roles, the members and the admission policy, applied as the files in config/ say.

use crate::{
    apiserver::{HUB_USER, OPERATOR, READER},
    cluster::Cluster,
    lab::{MEMBERS, Member},
    pki::Pki,
};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The hub's own namespace.
pub const SYSTEM: &str = "cutover-system";
/// The services, each in a namespace of its name, for which eu-3 is reached by TLS.
pub const BY_TLS: [&str; 5] = [
    "promotion-by-http-proxy",
    "promotion-by-route-group",
    "adoption-by-istio-and-revert",
    "promotion-by-istio-service-entry",
    "promotion-by-istio-hostnames",
];

/// Installs everything that the hub process needs.
pub async fn install(hub: &Cluster, members: &BTreeMap<&'static str, Member>, pki: &Pki) -> Result<()> {
    install_kinds(hub).await?;
    hub.apply(SYSTEM, &bound("config/rbac/people.yaml", OPERATOR)?).await?;
    hub.apply(SYSTEM, &operator()).await?;
    hub.apply(SYSTEM, &secret("lab-ca", "ca", "ca.crt", &pki.ca)).await?;
    for (name, member) in members {
        member.cluster.apply(SYSTEM, &bound("config/rbac/member.yaml", READER)?).await?;
        let value = member.cluster.kubeconfig(READER);
        hub.apply(SYSTEM, &secret(&kubeconfig(name), "kubeconfig", "value", &value)).await?;
        hub.apply(SYSTEM, &member_cluster(name, member).to_string()).await?;
    }
    Ok(())
}

/// cutover's kinds, the hub's rights, and who may ask.
pub async fn install_kinds(hub: &Cluster) -> Result<()> {
    hub.create_namespace(SYSTEM).await?;
    hub.install_crds(&source("config/crd")).await?;
    for file in hub_roles()? {
        hub.apply(SYSTEM, &bound(&file, HUB_USER)?).await?;
    }
    for policy in ["authors", "requested-by", "declared-by"] {
        hub.apply(SYSTEM, &fs::read_to_string(source(&format!("config/admission/{policy}.yaml")))?).await?;
    }
    Ok(())
}

/// The files with the hub's roles: what it always needs, what it needs for members' tokens, and one for each kind of route.
pub fn hub_roles() -> Result<Vec<String>> {
    let mut files = ["config/rbac/hub.yaml", "config/rbac/hub-token-renewal.yaml"].map(str::to_owned).to_vec();
    for entry in fs::read_dir(source("config/rbac/routes"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "kustomization.yaml" {
            files.push(format!("config/rbac/routes/{name}"));
        }
    }
    Ok(files)
}

/// A file of the repository.
pub fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A file of roles as it is, but bound to a user with a token as well as to a `ServiceAccount`.
pub fn bound(path: &str, user: &str) -> Result<String> {
    let text = fs::read_to_string(source(path)).with_context(|| path.to_owned())?;
    let mut objects: Vec<Value> = serde_yaml::from_multiple(&text)?;
    for object in &mut objects {
        if let Some(subjects) = object.get_mut("subjects").and_then(Value::as_array_mut) {
            subjects.push(json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}));
        }
    }
    Ok(objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n"))
}

/// The person who uses the verbs may do what the role for that allows.
fn operator() -> String {
    format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {{name: lab-operator}},
           roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cutover-operator}},
           subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {OPERATOR}}}]}}"
    )
}

fn kubeconfig(member: &str) -> String {
    format!("{member}-kubeconfig")
}

fn secret(name: &str, purpose: &str, key: &str, value: &str) -> String {
    let metadata = json!({"name": name, "labels": {"cutover.dev/purpose": purpose}});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {key: value}}).to_string()
}

/// Prometheus by URL; that of eu-2 through its API server.
fn member_cluster(name: &str, member: &Member) -> Value {
    let prometheus = if name == MEMBERS[1] {
        json!({"service": {"namespace": "monitoring", "name": "prometheus", "port": 9090}})
    } else {
        json!({"url": {"address": member.prometheus.url()}})
    };
    let mut endpoints = vec![json!({"host": format!("{{{{ service }}}}.{name}.lab"), "port": 80})];
    if name == MEMBERS[2] {
        let tls = json!({"serverName": "eu-3.lab", "caSecretRef": {"name": "lab-ca", "key": "ca.crt"}});
        endpoints.extend(BY_TLS.map(|service| {
            json!({"service": {"namespace": service, "name": service}, "host": "eu-3.lab", "port": 443, "tls": tls})
        }));
    }
    json!({
        "apiVersion": "cutover.dev/v1alpha1",
        "kind": "MemberCluster",
        "metadata": {"name": name},
        "spec": {
            "kubeconfigSecretRef": {"name": kubeconfig(name), "key": "value"},
            "endpoints": endpoints,
            "probe": {"path": "/healthz"},
            "prometheus": prometheus,
            "allowedNamespaces": {"from": "All"},
        },
    })
}

/// A role of config/rbac for this namespace instead of the one in the file.
pub fn role(file: &str, user: &str, namespace: &str) -> Result<String> {
    Ok(bound(file, user)?.replace(r#""namespace":"shop""#, &format!(r#""namespace":"{namespace}""#)))
}
