//! What is in the hub cluster before the rollout: kinds, namespaces, members, and a route to the old clusters.

use k8s_openapi::ByteString;
use kube::Client;
use serde_json::{Value, json};

use super::declared::{NAMESPACE, Plan, gateway, host};
use crate::{
    api::{Distribution, crd},
    cli::hub_liveness,
    sandbox::{
        member::{HEALTH, Member},
        proxy,
    },
};

/// An object, and the path to which it is posted.
pub(super) type Posted = (String, Value);

/// Creates one object.
pub(super) async fn create(cluster: &Client, (path, object): Posted) -> Result<Value, kube::Error> {
    let request = http::Request::post(&path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes())
        .map_err(kube::Error::HttpError)?;
    cluster.request(request).await
}

/// The definitions of kinds, which must be there before their objects.
pub(super) fn kinds() -> Result<Vec<Posted>, serde_json::Error> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let all = crd::definitions()?.into_iter().chain([proxy::definition()]);
    Ok(all.map(|definition| (path.to_owned(), definition)).collect())
}

/// Everything else.
pub(super) fn world(plan: &Plan, members: &[Member]) -> Vec<Posted> {
    let mut objects: Vec<Posted> = [hub_liveness::NAMESPACE, NAMESPACE].map(namespace).into();
    objects.extend(members.iter().enumerate().flat_map(|(index, one)| [secret(one), member_cluster(one, index)]));
    let first = plan.first();
    for service in &plan.services {
        objects.extend(members.iter().filter(|one| first.weight(one.name()) > 0).map(|one| backend(service, one)));
        objects.push(route(service, &first, members));
    }
    objects
}

fn namespace(name: &str) -> Posted {
    ("/api/v1/namespaces".to_owned(), json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
}

fn secret(member: &Member) -> Posted {
    let namespace = hub_liveness::NAMESPACE;
    let data = json!({"value": ByteString(member.kubeconfig().into_bytes())});
    let metadata = json!({"name": format!("{}-kubeconfig", member.name()), "namespace": namespace});
    (
        format!("/api/v1/namespaces/{namespace}/secrets"),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}),
    )
}

/// The first member's Prometheus is queried directly, the others' through their API servers.
fn member_cluster(member: &Member, index: usize) -> Posted {
    let (name, addresses) = (member.name(), member.addresses());
    let prometheus = if index == 0 {
        json!({"url": {"address": format!("http://{}", addresses.prometheus)}})
    } else {
        json!({"service": {"namespace": "monitoring", "name": "prometheus", "port": 9090}})
    };
    let spec = json!({
        "kubeconfigSecretRef": {"name": format!("{name}-kubeconfig"), "key": "value"},
        "endpoints": [{"host": gateway(name), "port": addresses.gateway.port()}],
        "probe": {"path": HEALTH},
        "prometheus": prometheus,
    });
    (
        "/apis/cutover.dev/v1alpha1/memberclusters".to_owned(),
        json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": name}, "spec": spec}),
    )
}

/// An ExternalName Service as the hub makes them, so that it is taken up as it is.
fn backend(service: &str, member: &Member) -> Posted {
    let port = member.addresses().gateway.port();
    let ports = json!([{"name": "http", "port": port, "targetPort": port, "protocol": "TCP"}]);
    let spec = json!({"type": "ExternalName", "externalName": gateway(member.name()), "ports": ports});
    let metadata = json!({"name": format!("{service}-{}", member.name()), "namespace": NAMESPACE});
    (
        format!("/api/v1/namespaces/{NAMESPACE}/services"),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}),
    )
}

fn route(service: &str, weights: &Distribution, members: &[Member]) -> Posted {
    let backend = |member: &Member| {
        let weight = weights.get(member.name()).filter(|weight| *weight > 0)?;
        let port = member.addresses().gateway.port();
        Some(json!({"name": format!("{service}-{}", member.name()), "port": port, "weight": weight}))
    };
    let backends: Vec<Value> = members.iter().filter_map(backend).collect();
    let spec = json!({
        "parentRefs": [{"name": "public"}],
        "hostnames": [host(service)],
        "rules": [{"backendRefs": backends}],
    });
    (
        format!("/apis/gateway.networking.k8s.io/v1/namespaces/{NAMESPACE}/httproutes"),
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": service, "namespace": NAMESPACE}, "spec": spec,
        }),
    )
}
