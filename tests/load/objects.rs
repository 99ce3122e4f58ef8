//! Objects, as people make them.

use std::ops::Range;

use cutover::api::crd::definitions;
use http::Method;
use serde_json::{Value, json};

use super::world::World;

pub const ROLLOUTS: &str = "/apis/cutover.dev/v1alpha1/namespaces";
pub const ROUTES: &str = "/apis/gateway.networking.k8s.io/v1/namespaces";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PER_NAMESPACE: usize = 10;

/// Trusted by nobody; a kubeconfig must have one. It is always the same, because its length is memory.
const AUTHORITY: &str = include_str!("authority.pem");

/// How many there are of everything.
#[derive(Clone, Copy)]
pub struct Size {
    pub rollouts: usize,
    pub members: usize,
}

/// How fast runs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Three steps, in three and a half minutes.
    Ordinary,
    /// One step, in seconds.
    Quick,
}

impl Size {
    /// The members of one half, which have all traffic together.
    pub const fn half(self, second: bool) -> Range<usize> {
        if second { self.members / 2..self.members } else { 0..self.members / 2 }
    }

    /// Equal weights for one half, with 0 for the others.
    fn weights(self, second: bool) -> Vec<(String, usize)> {
        let half = self.half(second);
        let weight = |member| if half.contains(&member) { 100 / half.len() } else { 0 };
        (0..self.members).map(|member| (format!("m{member}"), weight(member))).collect()
    }

    /// Installs everything. What the rollouts are about comes last.
    pub fn install(self, world: &World) {
        let create = |path: &str, object: &Value| world.call(Method::POST, path, Some(object));
        let namespaces = (0..self.rollouts).step_by(PER_NAMESPACE).map(namespace);
        create("/api/v1/namespaces", &json!({"metadata": {"name": "cutover-system"}}));
        create(DEFINITIONS, &http_routes());
        definitions().expect("the definitions are JSON").iter().for_each(|definition| create(DEFINITIONS, definition));
        for name in namespaces {
            create("/api/v1/namespaces", &json!({"metadata": {"name": name}}));
            create(&format!("{ROLLOUTS}/{name}/alertproviders"), &alert_provider());
        }
        for member in 0..self.members {
            create("/api/v1/namespaces/cutover-system/secrets", &secret(member));
            create("/apis/cutover.dev/v1alpha1/memberclusters", &self::member(member));
        }
        for number in 0..self.rollouts {
            self.install_rollout(number, create);
        }
    }

    fn install_rollout(self, number: usize, create: impl Fn(&str, &Value)) {
        let (namespace, name) = (namespace(number), format!("shop-{number}"));
        let services = format!("/api/v1/namespaces/{namespace}/services");
        let weights: Vec<_> = self.weights(false).into_iter().filter(|(_, weight)| *weight > 0).collect();
        for (member, _) in &weights {
            create(&services, &backend(&name, member));
        }
        create(&format!("{ROUTES}/{namespace}/httproutes"), &route(&name, &weights));
        let rollout = json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "FleetRollout",
                             "metadata": {"name": name}, "spec": self.spec(&name, true, Pace::Quick)});
        create(&format!("{ROLLOUTS}/{namespace}/fleetrollouts"), &rollout);
    }

    /// What is declared when one half shall have all traffic.
    pub fn spec(self, service: &str, second: bool, pace: Pace) -> Value {
        let weight = |(name, weight): &(String, usize)| json!({"name": name, "weight": weight});
        let members: Vec<Value> = self.weights(second).iter().map(weight).collect();
        let (interval, settle, bake, steps) = match pace {
            Pace::Ordinary => ("30s", "5s", "60s", &["20%", "60%", "100%"][..]),
            Pace::Quick => ("2s", "1s", "2s", &["100%"][..]),
        };
        let steps: Vec<Value> = steps.iter().map(|progress| json!({"progress": progress})).collect();
        json!({
            "services": [{"name": service, "port": 80, "routes": [{"gatewayAPI": {"name": service}}]}],
            "members": members,
            "strategy": {"bake": bake, "progressDeadline": "30m", "steps": steps},
            "analysis": {
                "interval": interval, "settle": settle, "lag": "1s", "failures": {"limit": 2, "within": 10},
                "unknown": {"limit": 5, "action": "Hold"}, "metrics": [errors()],
            },
            "hooks": [{"name": "bus", "type": "Event", "url": "https://hooks.receivers.example.com/", "timeout": "5s"}],
            "alerts": [{"name": "team", "providerRef": {"name": "team"}}],
        })
    }
}

/// At most one failed request in a hundred.
fn errors() -> Value {
    let failed = r#"sum(increase(http_requests_total{service="{{ service }}",code=~"5.."}[{{ window }}]))"#;
    let all = r#"sum(increase(http_requests_total{service="{{ service }}"}[{{ window }}]))"#;
    json!({"name": "errors", "max": 1, "window": "10s", "minSamples": 50,
           "ratio": {"numerator": failed, "denominator": all}})
}

fn alert_provider() -> Value {
    json!({"apiVersion": "cutover.dev/v1alpha1", "kind": "AlertProvider", "metadata": {"name": "team"},
           "spec": {"webhook": {}, "url": "https://alerts.receivers.example.com/"}})
}

fn namespace(number: usize) -> String {
    format!("team-{}", number / PER_NAMESPACE)
}

fn backend(service: &str, member: &str) -> Value {
    json!({"metadata": {"name": format!("{service}-{member}")},
           "spec": {"type": "ExternalName", "externalName": format!("{member}.example.com"),
                    "ports": [{"name": "http", "port": 80}]}})
}

fn route(service: &str, weights: &[(String, usize)]) -> Value {
    let backend = |(member, weight): &(String, usize)| json!({"name": format!("{service}-{member}"), "port": 80, "weight": weight});
    let backends: Vec<Value> = weights.iter().map(backend).collect();
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": service},
           "spec": {"parentRefs": [{"name": "public"}], "rules": [{"backendRefs": backends}]}})
}

fn member(number: usize) -> Value {
    let name = format!("m{number}");
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

fn secret(number: usize) -> Value {
    let name = format!("m{number}");
    let authority = k8s_openapi::ByteString(AUTHORITY.as_bytes().to_vec());
    let cluster =
        json!({"server": format!("https://api.{name}.example.com:6443"), "certificate-authority-data": authority});
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": "token-of-a-member"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    });
    json!({"metadata": {"name": name, "labels": {"cutover.dev/purpose": "kubeconfig"}},
           "stringData": {"kubeconfig": config.to_string()}})
}

/// A definition of `HTTPRoute`, which may hold anything.
fn http_routes() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}});
    let approved = "https://github.com/kubernetes-sigs/gateway-api/pull/3328";
    json!({
        "metadata": {"name": "httproutes.gateway.networking.k8s.io",
                     "annotations": {"api-approved.kubernetes.io": approved}},
        "spec": {
            "group": "gateway.networking.k8s.io", "scope": "Namespaced",
            "names": {"kind": "HTTPRoute", "listKind": "HTTPRouteList", "plural": "httproutes", "singular": "httproute"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": schema}],
        },
    })
}
