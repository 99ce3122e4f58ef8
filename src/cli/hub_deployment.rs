//! The hub's Deployment. It is read as it is: its type would be half a megabyte of the binary.

use kube::{
    Api, ResourceExt,
    api::ListParams,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};

use super::{CliError, cluster::Cluster};

/// The labels of the hub's Deployment in deploy/hub.yaml.
pub(super) const HUB: &str = "app.kubernetes.io/name=cutover,app.kubernetes.io/component=hub";

pub(super) struct HubDeployment(DynamicObject);

impl HubDeployment {
    /// Those of a namespace: usually one.
    pub(super) async fn list(cluster: &Cluster, namespace: &str) -> Result<Vec<Self>, CliError> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment"));
        let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), namespace, &kind);
        let found = cluster.call(&[], api.list(&ListParams::default().labels(HUB))).await?;
        Ok(found.items.into_iter().map(Self).collect())
    }

    pub(super) fn name(&self) -> String {
        self.0.name_any()
    }

    /// The image of the hub.
    pub(super) fn image(&self) -> Option<&str> {
        self.0.data.pointer("/spec/template/spec/containers/0/image")?.as_str()
    }

    /// How many replicas are wanted.
    pub(super) fn wanted(&self) -> i64 {
        self.number("/spec/replicas").unwrap_or(1)
    }

    /// How many of them are available.
    pub(super) fn available(&self) -> i64 {
        self.number("/status/availableReplicas").unwrap_or(0)
    }

    fn number(&self, path: &str) -> Option<i64> {
        self.0.data.pointer(path)?.as_i64()
    }

    #[cfg(test)]
    pub(super) fn of(object: serde_json::Value) -> Self {
        Self(serde_json::from_value(object).unwrap())
    }
}
