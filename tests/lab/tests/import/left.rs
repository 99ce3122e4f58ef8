//! What Flagger has made for a Canary of a Service that leads to eu-1.

use super::CANARY;
use crate::{apiserver::VISITOR, load::Load, runner::Scene, stage::steady_load};
use anyhow::Result;
use serde_json::{Value, json};
use std::net::SocketAddr;

/// The Canary at rest, and whose route Flagger wrote.
pub struct Left {
    pub to: SocketAddr,
    /// The provider, as a Canary names it.
    pub provider: &'static str,
    /// What else a Canary says, merged into its `spec`.
    pub canary: Value,
    /// API version, kind and plural of the route.
    pub route: (&'static str, &'static str, &'static str),
    /// The object with the weights.
    pub route_name: String,
    pub reached: Reached,
}

/// How a Service leads to a member.
pub enum Reached {
    Name,
    /// Pods that stand for the member.
    Selector,
}

impl Reached {
    /// What the `spec` of a Service says.
    pub fn leads_to(&self, service: &str, member: &str) -> Value {
        match self {
            Self::Name => json!({"type": "ExternalName", "externalName": format!("{service}.{member}.lab")}),
            Self::Selector => json!({"selector": {"app": member}}),
        }
    }
}

impl Left {
    /// Makes what is left but for the route, a user who may look at it, and clients.
    pub async fn make(&self, scene: &Scene) -> Result<Load> {
        let (hub, name) = (&scene.hub, &scene.namespace);
        for (kind, plural) in [("Canary", "canaries"), ("MetricTemplate", "metrictemplates")] {
            hub.apply("", &definition(kind, plural).to_string()).await?;
        }
        for service in [name.clone(), format!("{name}-primary"), format!("{name}-canary")] {
            let mut spec = self.reached.leads_to(name, "eu-1");
            spec["ports"] = json!([{"name": "http", "port": 80}]);
            let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": service}, "spec": spec});
            hub.apply(name, &object.to_string()).await?;
        }
        for object in [template(), self.canary(name)] {
            hub.apply(name, &object.to_string()).await?;
        }
        for object in visitor() {
            hub.apply("", &object.to_string()).await?;
        }
        steady_load(self.to, name).await
    }

    fn canary(&self, name: &str) -> Value {
        let mut canary = json!({
            "apiVersion": CANARY.0, "kind": CANARY.1, "metadata": {"name": name},
            "spec": {
                "provider": self.provider,
                "targetRef": {"apiVersion": "v1", "kind": "Service", "name": name},
                "service": {"port": 80},
                "analysis": {
                    "interval": "10s", "threshold": 3, "maxWeight": 50, "stepWeight": 25,
                    "metrics": [{"name": "errors", "templateRef": {"name": "errors"}, "thresholdRange": {"max": 1}, "interval": "10s"}],
                },
            },
            "status": {"phase": "Succeeded", "canaryWeight": 0, "failedChecks": 0, "iterations": 0},
        });
        json_patch::merge(&mut canary["spec"], &self.canary);
        canary
    }
}

/// The share of failed requests, as the members count them.
fn template() -> Value {
    let counted = |which: &str| {
        format!("sum(increase(http_requests_total{{service=\"{{{{ target }}}}\"{which}}}[{{{{ interval }}}}]))")
    };
    json!({
        "apiVersion": CANARY.0, "kind": "MetricTemplate", "metadata": {"name": "errors"},
        "spec": {
            "provider": {"type": "prometheus", "address": "http://prometheus.monitoring:9090"},
            "query": format!("{} / {} * 100", counted(",code=~\"5..\""), counted("")),
        },
    })
}

/// Who may read what a look needs.
fn visitor() -> [Value; 2] {
    let rules = json!([
        {"apiGroups": ["flagger.app"], "resources": ["canaries", "metrictemplates"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["services"], "verbs": ["get"]},
        {"apiGroups": ["gateway.networking.k8s.io"], "resources": ["httproutes"], "verbs": ["get"]},
        {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["get"]},
        {"apiGroups": ["networking.istio.io"], "resources": ["virtualservices"], "verbs": ["get"]},
        {"apiGroups": ["cutover.dev"], "resources": ["memberclusters"], "verbs": ["list"]},
    ]);
    let api_version = "rbac.authorization.k8s.io/v1";
    let role = json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": VISITOR}, "rules": rules});
    let binding = json!({
        "apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": VISITOR},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": VISITOR},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": VISITOR}],
    });
    [role, binding]
}

/// The name and the status are what matters of Flagger's own definition.
fn definition(kind: &str, plural: &str) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.flagger.app")},
        "spec": {
            "group": "flagger.app", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}
