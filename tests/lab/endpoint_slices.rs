//! The part of the endpoint slice controller that the lab's clusters lack: one slice for each Service with a selector, with the
//! labels of the Service, as that controller makes it.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Result;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinHandle, time::sleep};

use crate::{
    cluster::Cluster,
    lab::{MEMBERS, member_address},
};

const EVERY: Duration = Duration::from_millis(200);

/// Keeps the slices of one namespace until it is dropped.
pub struct EndpointSlices {
    manner: watch::Sender<Manner>,
    task: JoinHandle<()>,
}

/// What the controller finds, and whether it works.
#[derive(Clone, Default)]
struct Manner {
    unready: BTreeSet<String>,
    is_paused: bool,
}

impl EndpointSlices {
    pub async fn keep(cluster: &Cluster, namespace: &str) -> Result<Self> {
        let services = cluster.api("v1", "Service", namespace).await?;
        let slices = cluster.api("discovery.k8s.io/v1", "EndpointSlice", namespace).await?;
        let manner = watch::Sender::new(Manner::default());
        let of = manner.subscribe();
        let task = tokio::spawn(async move {
            let mut applied = BTreeSet::new();
            loop {
                let manner = of.borrow().clone();
                if !manner.is_paused {
                    // What fails is tried again in the next round.
                    drop(round(&services, &slices, &manner.unready, &mut applied).await);
                }
                sleep(EVERY).await;
            }
        });
        Ok(Self { manner, task })
    }

    /// From now on all slices stay as they are, as while the controller is late.
    pub fn pause(&self) {
        self.manner.send_modify(|manner| manner.is_paused = true);
    }

    /// It follows again.
    pub fn resume(&self) {
        self.manner.send_modify(|manner| manner.is_paused = false);
    }

    /// No address of this Service is ready from now on.
    pub fn fail(&self, service: &str) {
        self.manner.send_modify(|manner| {
            manner.unready.insert(service.to_owned());
        });
    }

    /// Its addresses are ready again.
    pub fn recover(&self, service: &str) {
        self.manner.send_modify(|manner| {
            manner.unready.remove(service);
        });
    }
}

impl Drop for EndpointSlices {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn round(
    services: &Api<DynamicObject>,
    slices: &Api<DynamicObject>,
    unready: &BTreeSet<String>,
    applied: &mut BTreeSet<String>,
) -> Result<()> {
    for service in services.list(&ListParams::default()).await? {
        let Some(slice) = slice(&service, !unready.contains(&service.name_any())) else { continue };
        if applied.contains(&slice.to_string()) {
            continue;
        }
        let name = slice["metadata"]["name"].as_str().unwrap_or_default();
        let manager = PatchParams::apply("endpoint-slice-controller").force();
        slices.patch(name, &manager, &Patch::Apply(&slice)).await?;
        let earlier = format!("\"name\":\"{name}\"");
        applied.retain(|text| !text.contains(&earlier));
        applied.insert(slice.to_string());
    }
    Ok(())
}

/// The slice of a Service; none for one without a selector.
fn slice(service: &DynamicObject, ready: bool) -> Option<Value> {
    service.data["spec"]["selector"].as_object().filter(|selector| !selector.is_empty())?;
    let mut labels = service.labels().clone();
    labels.insert("kubernetes.io/service-name".to_owned(), service.name_any());
    labels.insert("endpointslice.kubernetes.io/managed-by".to_owned(), "endpointslice-controller.k8s.io".to_owned());
    let port = |port: &Value| {
        let number = port["targetPort"].as_u64().unwrap_or(8080);
        json!({"name": port["name"].as_str().unwrap_or_default(), "port": number, "protocol": "TCP"})
    };
    let ports: Vec<Value> = service.data["spec"]["ports"].as_array()?.iter().map(port).collect();
    Some(json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": format!("{}-lab", service.name_any()), "labels": labels},
        "ports": ports,
        "endpoints": [{"addresses": [address(service)], "conditions": {"ready": ready}}],
    }))
}

/// Pods with `app: eu-1` stand for the gateway of eu-1; others answer nobody.
fn address(service: &DynamicObject) -> String {
    let app = service.data["spec"]["selector"]["app"].as_str().unwrap_or_default();
    if MEMBERS.contains(&app) { member_address(app).to_string() } else { "192.0.2.7".to_owned() }
}
