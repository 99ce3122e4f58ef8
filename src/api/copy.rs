//! What service mode carries of a Service: what its user declared, and nothing that the API server filled in.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::track::Site;

/// On a Service in service mode: the `MemberCluster` that it leads to, whose Prometheus is read and whose endpoint is probed.
pub const LEADS_TO_ANNOTATION: &str = "cutover.dev/member";

/// Fields of a Service's spec that are carried as they are. Addresses, node ports and IP families are the API server's.
const CARRIED: [&str; 12] = [
    "type",
    "selector",
    "externalName",
    "sessionAffinity",
    "sessionAffinityConfig",
    "publishNotReadyAddresses",
    "internalTrafficPolicy",
    "externalTrafficPolicy",
    "trafficDistribution",
    "loadBalancerClass",
    "loadBalancerSourceRanges",
    "allocateLoadBalancerNodePorts",
];
/// Of those, what only a load balancer has a use for, what a name has none for, and what needs ports on nodes. When a type
/// changes the API server drops them, but may show them for a moment.
const OF_LOAD_BALANCERS: [&str; 3] = ["loadBalancerClass", "loadBalancerSourceRanges", "allocateLoadBalancerNodePorts"];
const NOT_OF_NAMES: [&str; 2] = ["internalTrafficPolicy", "trafficDistribution"];
const OF_NODE_PORTS: [&str; 1] = ["externalTrafficPolicy"];
/// Fields of a port that are carried.
const PORT: [&str; 5] = ["name", "port", "protocol", "appProtocol", "targetPort"];
/// Annotations of tools that would take the copy for the original.
const NOT_CARRIED: [&str; 3] = ["kubectl.kubernetes.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"];

/// A Service as its user declared it, so that another one can be made like it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ServiceCopy {
    /// Type, ports, selector, external name and the like.
    #[schemars(schema_with = "anything")]
    pub spec: Map<String, Value>,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Its annotations; external load balancers read them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

impl ServiceCopy {
    /// What is carried of a live Service.
    pub fn of(spec: &Value, labels: &BTreeMap<String, String>, annotations: &BTreeMap<String, String>) -> Self {
        let carried = |key: &str| !key.starts_with("cutover.dev/") || key == LEADS_TO_ANNOTATION;
        let is_tool = |key: &str| NOT_CARRIED.iter().any(|prefix| key.starts_with(prefix));
        let kept = |from: &BTreeMap<String, String>| {
            let pairs = from.iter().filter(|(key, _)| carried(key) && !is_tool(key));
            pairs.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        Self { spec: carried_spec(spec), labels: kept(labels), annotations: kept(annotations) }
    }

    /// What leads traffic: its spec, and the member that it names. A change of anything else is copied without a run.
    #[must_use]
    pub fn leading(&self) -> Self {
        let annotations = self.annotations.iter().filter(|(key, _)| *key == LEADS_TO_ANNOTATION);
        let annotations = annotations.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { spec: self.spec.clone(), labels: BTreeMap::new(), annotations }
    }

    /// The member that it leads to, where its user says so.
    pub fn leads_to(&self) -> Option<&str> {
        self.annotations.get(LEADS_TO_ANNOTATION).map(String::as_str)
    }

    /// Where the workloads behind it run: in its own cluster where it selects pods, else in the member that it leads to.
    pub fn site(&self) -> Option<Site> {
        let selects = self.spec.get("selector").and_then(Value::as_object).is_some_and(|selector| !selector.is_empty());
        if selects { Some(Site::Hub) } else { self.leads_to().map(|member| Site::Member(member.to_owned())) }
    }

    /// Both lead to the same place, whatever else they say.
    #[must_use]
    pub fn leads_as(&self, other: &Self) -> bool {
        self.spec == other.spec && self.leads_to() == other.leads_to()
    }

    /// Names its spec: equal specs have equal names.
    #[must_use]
    pub fn spec_hash(&self) -> String {
        super::fingerprint::fingerprint(&self.spec)
    }

    /// The DNS name that it stands for, if it is of type ExternalName.
    pub fn external_name(&self) -> Option<&str> {
        let is_external = self.spec.get("type").and_then(Value::as_str) == Some("ExternalName");
        self.spec.get("externalName").and_then(Value::as_str).filter(|_| is_external)
    }
}

fn carried_spec(spec: &Value) -> Map<String, Value> {
    let given = |key: &str| spec.get(key).filter(|value| !value.is_null()).cloned();
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or("ClusterIP");
    let in_use = CARRIED.iter().filter(|key| has_a_use(kind, key));
    let mut carried: Map<String, Value> = in_use.filter_map(|key| Some(((*key).to_owned(), given(key)?))).collect();
    carried.entry("type").or_insert_with(|| "ClusterIP".into());
    if given("clusterIP").is_some_and(|address| address == "None") {
        carried.insert("clusterIP".to_owned(), "None".into());
    }
    if let Some(Value::Array(ports)) = given("ports") {
        carried.insert("ports".to_owned(), ports.iter().map(carried_port).collect());
    }
    carried
}

fn has_a_use(kind: &str, key: &str) -> bool {
    match kind {
        "LoadBalancer" => true,
        _ if OF_LOAD_BALANCERS.contains(&key) => false,
        "NodePort" => true,
        _ if OF_NODE_PORTS.contains(&key) => false,
        "ExternalName" => !NOT_OF_NAMES.contains(&key),
        _ => true,
    }
}

/// Left out by its user, a port's target is the port itself, and its protocol is TCP: the API server says so.
fn carried_port(port: &Value) -> Value {
    let mut carried: Map<String, Value> =
        PORT.iter().filter_map(|key| Some(((*key).to_owned(), port.get(*key)?.clone()))).collect();
    carried.entry("protocol").or_insert_with(|| "TCP".into());
    if let Some(number) = carried.get("port").cloned() {
        carried.entry("targetPort").or_insert(number);
    }
    Value::Object(carried)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn copy(spec: &Value, annotations: &[(&str, &str)]) -> ServiceCopy {
        let labels = BTreeMap::from([("app".to_owned(), "shop".to_owned())]);
        let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        ServiceCopy::of(spec, &labels, &annotations.collect())
    }

    #[test]
    fn what_the_api_server_fills_in_is_no_change() {
        let declared = json!({"selector": {"app": "shop"}, "ports": [{"name": "http", "port": 80}]});
        let live = json!({
            "selector": {"app": "shop"}, "type": "ClusterIP", "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"],
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30080}]
        });
        assert_eq!(copy(&declared, &[]), copy(&live, &[]));
    }

    #[test]
    fn what_a_type_has_no_use_for_is_not_carried() {
        let policies = |kind: &str| {
            let spec = json!({"type": kind, "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster",
                              "allocateLoadBalancerNodePorts": true});
            copy(&spec, &[]).spec.keys().filter(|key| *key != "type").cloned().collect::<Vec<_>>()
        };
        let all = ["allocateLoadBalancerNodePorts", "externalTrafficPolicy", "internalTrafficPolicy"];
        assert_eq!(policies("LoadBalancer"), all);
        assert_eq!(policies("NodePort"), all[1..]);
        assert_eq!(policies("ClusterIP"), all[2..]);
        assert_eq!(policies("ExternalName"), [""; 0]);
    }

    #[test]
    fn each_thing_that_is_carried_is_a_change_and_nothing_else_is() {
        let declared =
            json!({"selector": {"app": "shop"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}]});
        let changed = |pointer: &str, value: Value| {
            let mut spec = declared.clone();
            match pointer.rsplit_once('/') {
                Some((parent, key)) => spec.pointer_mut(parent).unwrap()[key] = value,
                None => spec[pointer] = value,
            }
            copy(&spec, &[]) != copy(&declared, &[])
        };
        assert!(changed("/selector/app", json!("other")) && changed("type", json!("NodePort")));
        assert!(changed("/ports/0/port", json!(81)) && changed("/ports/0/targetPort", json!(8080)));
        assert!(changed("/ports/0/name", json!("https")) && changed("/ports/0/appProtocol", json!("h2c")));
        assert!(changed("sessionAffinity", json!("ClientIP")) && changed("clusterIP", json!("None")));
        assert!(!changed("clusterIP", json!("10.0.0.9")) && !changed("/ports/0/nodePort", json!(30081)));
        assert!(copy(&declared, &[("team", "web")]) != copy(&declared, &[]));
    }

    #[test]
    fn every_field_that_is_carried_is_a_change_and_stays_as_it_is() {
        let declared = json!({"type": "LoadBalancer", "ports": [{"port": 80}]});
        for key in CARRIED.into_iter().filter(|key| *key != "type") {
            let mut changed = declared.clone();
            changed[key] = json!({"any": ["value", 7]});
            let carried = copy(&changed, &[]);
            assert!(carried != copy(&declared, &[]), "{key}");
            assert_eq!(carried.spec.get(key), changed.get(key), "{key}");
        }
        for key in PORT {
            let mut changed = declared.clone();
            changed["ports"][0][key] = json!("other");
            assert!(copy(&changed, &[]) != copy(&declared, &[]), "{key}");
        }
    }

    #[test]
    fn selectors_of_any_labels_are_carried_as_they_are() {
        let selector = json!({"example.com/role": "web", "tier": "", "app.kubernetes.io/part-of": "shop"});
        assert_eq!(copy(&json!({"selector": selector}), &[]).spec["selector"], selector);
    }

    #[test]
    fn ports_of_every_shape_are_carried_once() {
        let ports = |ports: &Value| copy(&json!({ "ports": ports }), &[]).spec["ports"].clone();
        let whole = |target: Value| json!([{"port": 80, "protocol": "TCP", "targetPort": target}]);
        assert_eq!(ports(&json!([{"port": 80}])), whole(json!(80)));
        assert_eq!(ports(&json!([{"port": 80, "targetPort": 8080}])), whole(json!(8080)));
        assert_eq!(ports(&json!([{"port": 80, "targetPort": "web"}])), whole(json!("web")));
        let two = json!([{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 80},
                         {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53}]);
        assert_eq!(ports(&two), two);
    }

    #[test]
    fn headless_external_names_and_what_load_balancers_read_are_carried() {
        let headless = copy(&json!({"clusterIP": "None"}), &[]);
        assert_eq!(headless.spec.get("clusterIP"), Some(&json!("None")));
        let external = copy(
            &json!({"type": "ExternalName", "externalName": "eu-3.example.com"}),
            &[
                ("cutover.dev/member", "eu-3"),
                ("service.beta.kubernetes.io/aws-load-balancer-type", "nlb"),
                ("kubectl.kubernetes.io/last-applied-configuration", "{}"),
                ("cutover.dev/write", "x"),
            ],
        );
        assert_eq!((external.leads_to(), external.external_name()), (Some("eu-3"), Some("eu-3.example.com")));
        let kept: Vec<&str> = external.annotations.keys().map(String::as_str).collect();
        assert_eq!(kept, ["cutover.dev/member", "service.beta.kubernetes.io/aws-load-balancer-type"]);
        assert_eq!(external.labels.len(), 1);
    }
}
