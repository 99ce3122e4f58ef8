//! What is in the hub cluster before the rollout: kinds, namespaces, members, and a route to the old clusters.

use k8s_openapi::ByteString;
use kube::{
    Api, Client,
    api::PostParams,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Value, json};

use super::declared::{EXAMPLE, NAMESPACE, Plan, gateway, host};
use crate::{
    api::{Distribution, PURPOSE_LABEL, Purpose, crd},
    cli::hub_liveness,
    sandbox::{
        member::{HEALTH, Member},
        proxy,
    },
};

/// Creates one object.
pub(super) async fn create(cluster: &Client, object: Value) -> Result<(), kube::Error> {
    let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
    let types = object.types.clone().unwrap_or_default();
    let (group, version) = types.api_version.split_once('/').unwrap_or(("", &types.api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &types.kind));
    let objects: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(cluster.clone(), namespace, &resource),
        None => Api::all_with(cluster.clone(), &resource),
    };
    objects.create(&PostParams::default(), &object).await.map(|_| ())
}

/// The definitions of kinds, which must be there before their objects.
pub(super) fn kinds() -> Result<Vec<Value>, serde_json::Error> {
    Ok(crd::definitions()?.into_iter().chain([proxy::definition()]).collect())
}

/// Everything else.
pub(super) fn world(plan: &Plan, members: &[Member]) -> Vec<Value> {
    let mut objects: Vec<Value> = [hub_liveness::NAMESPACE, NAMESPACE].map(namespace).into();
    objects.extend(members.iter().enumerate().flat_map(|(index, one)| [secret(one), member_cluster(one, index)]));
    let first = plan.first();
    for service in &plan.services {
        objects.extend(members.iter().filter(|one| first.weight(one.name()) > 0).map(|one| backend(service, one)));
        objects.push(route(service, service, &first, members));
    }
    let [old, _] = EXAMPLE.members;
    objects.extend(members.iter().filter(|one| one.name() == old).map(|one| backend(EXAMPLE.service, one)));
    objects.push(route(EXAMPLE.route, EXAMPLE.service, &plan.all_to(old), members));
    objects
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn secret(member: &Member) -> Value {
    let namespace = hub_liveness::NAMESPACE;
    let data = json!({"kubeconfig": ByteString(member.kubeconfig().into_bytes())});
    let labels = json!({PURPOSE_LABEL: Purpose::Kubeconfig.as_str()});
    let metadata = json!({"name": member.name(), "namespace": namespace, "labels": labels});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
}

/// The second member's Prometheus is queried directly, the others' through their API servers.
fn member_cluster(member: &Member, index: usize) -> Value {
    let (name, addresses) = (member.name(), member.addresses());
    let prometheus = if index == 1 {
        json!({"url": {"address": format!("http://{}", addresses.prometheus)}})
    } else {
        json!({"service": {"namespace": "monitoring", "name": "prometheus", "port": 9090}})
    };
    let spec = json!({
        "kubeconfigSecretRef": {"name": name, "key": "kubeconfig"},
        "endpoints": [{"host": gateway(name), "port": addresses.gateway.port()}],
        "probe": {"path": HEALTH},
        "prometheus": prometheus,
        "allowedNamespaces": {"from": "Names", "names": [NAMESPACE]},
    });
    json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "MemberCluster", "metadata": {"name": name}, "spec": spec})
}

/// An ExternalName Service as the hub makes them, so that it is taken up as it is.
fn backend(service: &str, member: &Member) -> Value {
    let port = member.addresses().gateway.port();
    let ports = json!([{"name": "http", "port": port, "targetPort": port, "protocol": "TCP"}]);
    let spec = json!({"type": "ExternalName", "externalName": gateway(member.name()), "ports": ports});
    let metadata = json!({"name": format!("{service}-{}", member.name()), "namespace": NAMESPACE});
    json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
}

fn route(name: &str, service: &str, weights: &Distribution, members: &[Member]) -> Value {
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
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec,
    })
}
