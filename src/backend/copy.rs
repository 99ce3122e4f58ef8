//! Service mode: the Services of primary and canary, each made like the user's own at some time.

use std::collections::BTreeMap;

use kube::{ResourceExt, core::DynamicObject};
use serde_json::{Map, Value};

use super::{cluster_ip, is_ours, name, targets};
use crate::api::{Backend, Reason, SPEC_HASH_LABEL, ServiceCopy, ServiceSpec};
use crate::object::{Context, Write, field_manager, owner};
use crate::rollout::input::{Problem, SourceSeen};

/// What the API server gave a Service and what it keeps, as long as it has an address at all.
const GIVEN: [&str; 5] = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"];

/// The user's own Service, as it is carried; or why it cannot be.
#[must_use]
pub(crate) fn source(context: &Context<'_>, object: Option<&DynamicObject>) -> SourceSeen {
    let service = context.service;
    let title = format!("Service {}", service.name);
    let Some(object) = object else {
        let message =
            format!("{title} does not exist: it says what the canary shall be; make it, or correct spec.services");
        return SourceSeen::Unusable(Problem::new(Reason::ServiceNotFound, message));
    };
    let fits = check_type(&title, service, object)
        .and_then(|()| check_selector(&title, object))
        .and_then(|()| cluster_ip::check_target(context, &title, &object.data))
        .and_then(|()| cluster_ip::check_port(&title, &object.data, service.port));
    match fits {
        Err(problem) => SourceSeen::Unusable(problem),
        Ok(()) => SourceSeen::Found(service_copy(object)),
    }
}

/// What a route can do depends on what its backends are said to be.
fn check_type(title: &str, service: &ServiceSpec, object: &DynamicObject) -> Result<(), Problem> {
    if service_copy(object).external_name().is_none() || matches!(service.backend, Backend::ExternalName(_)) {
        return Ok(());
    }
    let message = format!("{title} is of type ExternalName: say backend: {{externalName: {{}}}}");
    Err(Problem::new(Reason::CannotCarryWeights, message))
}

/// Endpoints that somebody made by hand belong to one Service: a copy would have none.
fn check_selector(title: &str, object: &DynamicObject) -> Result<(), Problem> {
    let copy = service_copy(object);
    let selects = copy.spec.get("selector").and_then(Value::as_object).is_some_and(|selector| !selector.is_empty());
    if selects || copy.external_name().is_some() {
        return Ok(());
    }
    let message = format!(
        "{title} has no selector, and copies of it would have no endpoints: give it a selector, or make it of type ExternalName"
    );
    Err(Problem::new(Reason::CannotCarryWeights, message))
}

/// The live Service of the primary, to which a route sends traffic.
///
/// # Errors
/// When it leads where no Service may.
pub(crate) fn serving(context: &Context<'_>, object: &DynamicObject) -> Result<ServiceCopy, Problem> {
    let title = format!("Service {}", object.name_any());
    cluster_ip::check_target(context, &title, &object.data).map(|()| service_copy(object))
}

/// What is carried of a live Service.
pub(crate) fn service_copy(object: &DynamicObject) -> ServiceCopy {
    ServiceCopy::of(object.data.get("spec").unwrap_or(&Value::Null), object.labels(), object.annotations())
}

/// The write that makes the Service of primary or canary what it should be; nothing where it is so already.
pub(super) fn render(
    context: &Context<'_>,
    member: &str,
    copy: &ServiceCopy,
    current: Option<&DynamicObject>,
) -> Result<Vec<Write>, Problem> {
    let Some(target) = targets(context, member).into_iter().next() else { return Ok(Vec::new()) };
    let new = || DynamicObject::new(&name(context.service, member), &target.resource).within(context.namespace);
    let mut after = current.cloned().unwrap_or_else(|| new().data(Value::Object(Map::new())));
    if current.is_none_or(|live| service_copy(live).spec != copy.spec) {
        if let Some(host) = copy.external_name() {
            let title = format!("Service {}", name(context.service, member));
            cluster_ip::check_host(context.allowed_hosts, context.namespace, &title, host)?;
        }
        let spec = spec(copy, current.and_then(|live| live.data.get("spec")));
        if let Some(data) = after.data.as_object_mut() {
            data.insert("spec".to_owned(), Value::Object(spec));
        }
    }
    if !is_ours(context, &target, member, current, &after)? {
        return Ok(Vec::new());
    }
    merge_declared("labels", &copy.labels, after.metadata.labels.get_or_insert_default(), current);
    let annotations = after.metadata.annotations.get_or_insert_default();
    merge_declared("annotations", &copy.annotations, annotations, current);
    if annotations.is_empty() {
        after.metadata.annotations = None;
    }
    owner::set(&mut after, context);
    after.metadata.labels.get_or_insert_default().insert(SPEC_HASH_LABEL.to_owned(), copy.spec_hash());
    Ok(Write::between(target, current, Some(after)).into_iter().collect())
}

/// Labels or annotations as they are declared. What the hub has set and nobody declares any more goes; what others have
/// put on the copy, a cloud's load balancer say, stays.
fn merge_declared(
    field: &str,
    declared: &BTreeMap<String, String>,
    merged: &mut BTreeMap<String, String>,
    live: Option<&DynamicObject>,
) {
    let is_own = |key: &str| live.is_some_and(|live| field_manager::is_own(live, &["metadata", field, key]));
    merged.retain(|key, _| declared.contains_key(key) || !is_own(key));
    merged.extend(declared.clone());
}

/// A Service keeps its address and its node ports, where its type has any.
fn spec(copy: &ServiceCopy, live: Option<&Value>) -> Map<String, Value> {
    let mut spec = copy.spec.clone();
    let has_address = |spec: &Value| spec.get("type").and_then(Value::as_str) != Some("ExternalName");
    let live = live.filter(|live| copy.external_name().is_none() && has_address(live));
    let Some(live) = live else { return spec };
    for key in GIVEN {
        if let Some(given) = live.get(key).filter(|_| !spec.contains_key(key)) {
            spec.insert(key.to_owned(), given.clone());
        }
    }
    let ports = live.get("ports").and_then(Value::as_array);
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let same =
            |other: &&Value| other.get("port") == port.get("port") && other.get("protocol") == port.get("protocol");
        let given = ports.into_iter().flatten().find(same).and_then(|other| other.get("nodePort")).cloned();
        if let (Some(given), Some(fields)) = (given, port.as_object_mut()) {
            fields.insert("nodePort".to_owned(), given);
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::api::{CANARY, ROLLOUT_LABEL};
    use crate::object::{AllowedHosts, Mesh};

    fn copy_of(spec: &Value) -> ServiceCopy {
        ServiceCopy::of(spec, &BTreeMap::new(), &BTreeMap::new())
    }

    /// What is written over this live Service `shop-canary`.
    fn rewritten(live: &Value, copy: ServiceCopy) -> Result<Option<DynamicObject>, Reason> {
        let service = json!({"name": "shop", "port": 80, "routes": [{"contour": {"name": "public"}}]});
        let (service, copies) = (serde_json::from_value(service).unwrap(), [(CANARY.to_owned(), copy)].into());
        let context = Context {
            namespace: "shop",
            rollout: "fleet",
            uid: "uid-1",
            hub: "hub-1",
            service: &service,
            total: 100,
            endpoints: &BTreeMap::new(),
            copies: &copies,
            allowed_hosts: &AllowedHosts::new(["eu-1", "eu-3"].map(|member| format!("{member}.example.com")), &[]),
            neighbours: &[],
            mesh: &Mesh::NotKnown,
        };
        let mut live: DynamicObject = serde_json::from_value(live.clone()).unwrap();
        (live.metadata.name, live.metadata.namespace) = (Some("shop-canary".to_owned()), Some("shop".to_owned()));
        let writes =
            super::super::render(&context, CANARY, &[Some(live.into())], &[]).map_err(|problem| problem.reason)?;
        Ok(writes.into_iter().find_map(|write| match write {
            Write::Create(object) | Write::Replace(object) => Some(object),
            Write::Delete { .. } => None,
        }))
    }

    /// What is written over a live Service with these labels and this spec.
    fn written(labels: &Value, live: &Value, copy: &Value) -> Result<Option<Value>, Reason> {
        let live = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"labels": labels}, "spec": live});
        Ok(rewritten(&live, copy_of(copy))?.map(|object| object.data["spec"].clone()))
    }

    #[test]
    fn a_service_that_somebody_else_made_is_never_changed() {
        let (here, there) = (
            json!({"type": "ExternalName", "externalName": "eu-1.example.com"}),
            json!({"type": "ExternalName", "externalName": "eu-3.example.com"}),
        );
        assert_eq!(written(&json!({"team": "web"}), &here, &here), Ok(None), "it serves as it is");
        assert_eq!(written(&json!({"team": "web"}), &here, &there), Err(Reason::Conflict));
        assert_eq!(written(&json!({ROLLOUT_LABEL: "uid-2"}), &here, &there), Err(Reason::Conflict));
    }

    #[test]
    fn a_copy_is_not_made_to_lead_where_no_service_may() {
        let (here, there) = (
            json!({"type": "ExternalName", "externalName": "eu-1.example.com"}),
            json!({"type": "ExternalName", "externalName": "eu-2.example.com"}),
        );
        let own = json!({ROLLOUT_LABEL: "uid-1"});
        assert_eq!(written(&own, &here, &there), Err(Reason::AddressNotAllowed));
        assert!(written(&own, &there, &there).is_ok(), "it was allowed when it was made, and stays");
        assert!(written(&own, &there, &here).is_ok());
    }

    #[test]
    fn a_copy_keeps_its_address_and_node_ports_and_loses_them_with_its_type() {
        let live = json!({"type": "NodePort", "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "selector": {"app": "a"},
                          "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP", "nodePort": 30080}]});
        let own = json!({ROLLOUT_LABEL: "uid-1"});
        let port = json!([{"port": 80, "targetPort": 8080, "protocol": "TCP"}]);
        let moved = json!({"type": "NodePort", "selector": {"app": "b"}, "ports": port});
        let spec = written(&own, &live, &moved).unwrap().unwrap();
        assert_eq!((&spec["clusterIP"], &spec["ports"][0]["nodePort"]), (&json!("10.0.0.7"), &json!(30080)));
        assert_eq!((&spec["selector"], &spec["ports"][0]["targetPort"]), (&json!({"app": "b"}), &json!(8080)));
        let elsewhere = json!({"type": "ExternalName", "externalName": "eu-3.example.com", "ports": port});
        let spec = written(&own, &live, &elsewhere).unwrap().unwrap();
        assert_eq!(spec, elsewhere);
    }

    #[test]
    fn what_the_owner_takes_off_goes_from_the_copy_and_what_others_put_there_stays() {
        let spec = json!({"type": "ClusterIP", "selector": {"app": "shop"}});
        let fields = |labels: Value, annotations: Value| json!({"f:metadata": {"f:labels": labels, "f:annotations": annotations}});
        let hub = fields(
            json!({".": {}, "f:team": {}, "f:tier": {}, format!("f:{ROLLOUT_LABEL}"): {}}),
            json!({".": {}, "f:lb/type": {}}),
        );
        let cloud = fields(json!({"f:zone": {}}), json!({"f:lb/status": {}}));
        let entry = |manager: &str, fields: Value| json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
        let live = json!({"apiVersion": "v1", "kind": "Service", "spec": spec, "metadata": {
            "labels": {"team": "web", "tier": "front", "zone": "b", ROLLOUT_LABEL: "uid-1",
                       "app.kubernetes.io/managed-by": "cutover", "app.kubernetes.io/instance": "fleet"},
            "annotations": {"lb/type": "nlb", "lb/status": "ready"},
            "managedFields": [entry("cutover", hub), entry("cloud-controller", cloud)],
        }});
        let declared = ServiceCopy { labels: BTreeMap::from([("tier".into(), "front".into())]), ..copy_of(&spec) };
        let written = rewritten(&live, declared.clone()).unwrap().unwrap();
        let keys = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>();
        let ours = [
            "app.kubernetes.io/instance",
            "app.kubernetes.io/managed-by",
            ROLLOUT_LABEL,
            SPEC_HASH_LABEL,
            "tier",
            "zone",
        ];
        assert_eq!(keys(written.labels()), ours);
        assert_eq!(keys(written.annotations()), ["lb/status"]);
        let again = serde_json::to_value(&written).unwrap();
        assert_eq!(rewritten(&again, declared).unwrap(), None);
    }

    #[test]
    fn a_node_port_stays_with_its_port_and_protocol() {
        let port = |number: u16, protocol: &str| json!({"port": number, "targetPort": number, "protocol": protocol});
        let on_nodes = |mut port: Value, node_port: u16| {
            port["nodePort"] = json!(node_port);
            port
        };
        let own = json!({ROLLOUT_LABEL: "uid-1"});
        let (tcp, udp, web) = (port(53, "TCP"), port(53, "UDP"), port(80, "TCP"));
        let ports = [on_nodes(tcp.clone(), 30053), on_nodes(udp.clone(), 30153), on_nodes(web, 30080)];
        let live = json!({"type": "NodePort", "ports": ports});
        let copy = json!({"type": "NodePort", "ports": [udp, port(81, "TCP"), tcp]});
        let spec = written(&own, &live, &copy).unwrap().unwrap();
        assert_eq!(spec["ports"], json!([ports[1], port(81, "TCP"), ports[0]]));
    }

    #[test]
    fn what_the_api_server_gave_stays_unless_it_is_declared_or_was_a_name() {
        let own = json!({ROLLOUT_LABEL: "uid-1"});
        let given = json!({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "ipFamilies": ["IPv4"],
                           "ipFamilyPolicy": "SingleStack", "healthCheckNodePort": 30099});
        let with = |given: &Value, more: &Value| {
            let mut spec = given.clone();
            spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            spec
        };
        let (old, new) = (json!({"type": "LoadBalancer"}), json!({"type": "LoadBalancer", "selector": {"app": "b"}}));
        assert_eq!(written(&own, &with(&given, &old), &new), Ok(Some(with(&given, &new))));
        let headless = json!({"type": "ClusterIP", "clusterIP": "None"});
        let spec = written(&own, &with(&given, &old), &headless).unwrap().unwrap();
        assert_eq!(spec["clusterIP"], "None");
        let name = json!({"type": "ExternalName", "externalName": "eu-1.example.com", "clusterIP": ""});
        assert_eq!(written(&own, &name, &new), Ok(Some(new)));
    }

    #[test]
    fn a_copy_that_is_as_declared_keeps_what_others_wrote_into_it() {
        let live = json!({"type": "LoadBalancer", "selector": {"app": "a"}, "loadBalancerIP": "203.0.113.7"});
        let declared = json!({"type": "LoadBalancer", "selector": {"app": "a"}});
        let own = json!({ROLLOUT_LABEL: "uid-1", SPEC_HASH_LABEL: copy_of(&declared).spec_hash(),
                         "app.kubernetes.io/managed-by": "cutover", "app.kubernetes.io/instance": "fleet"});
        assert_eq!(written(&own, &live, &declared), Ok(None));
    }
}
