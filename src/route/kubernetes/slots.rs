//! Service mode: the Service leads where that of primary or canary leads, by the same external name or the same selector.
//!
//! Both lead to one place as long as nothing is proven, so the Service says itself which of the two it stands for, and by which
//! content: an edit of somebody else makes that void.

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::RouteError;
use crate::api::fingerprint::fingerprint;
use crate::api::{CANARY, Distribution, PRIMARY, SLOT_ANNOTATION, ServiceCopy};
use crate::backend::service_copy;
use crate::object::{Context, describe};
use crate::route::json::put;

/// All traffic is that of the primary or of the canary.
pub(super) fn read(context: &Context<'_>, service: &DynamicObject) -> Result<Distribution, RouteError> {
    let live = service_copy(service);
    let (shown, stated) = (leading(&live, &live), service.annotations().get(SLOT_ANNOTATION));
    let is_stated = |slot: &&str| stated.is_some_and(|stated| *stated == said(slot, &shown));
    let is_alike = |slot: &&str| context.copies.get(*slot).is_some_and(|copy| leading(copy, &live) == shown);
    let slots = || [PRIMARY, CANARY].into_iter();
    match slots().find(is_stated).or_else(|| slots().find(is_alike)) {
        Some(slot) => Ok(Distribution::from([(slot.to_owned(), context.total)])),
        None => Err(RouteError::Unreadable(format!(
            "{}: it leads neither where the primary does nor where the canary does: give it the {} of Service {}-{PRIMARY}",
            describe(service),
            if live.external_name().is_some() { "externalName" } else { "selector and the target ports" },
            context.service.name,
        ))),
    }
}

/// The Service leads where this copy does.
pub(super) fn set(service: &mut DynamicObject, slot: &str, copy: &ServiceCopy) -> Result<(), RouteError> {
    let live = service_copy(service);
    if live.external_name().is_some() != copy.external_name().is_some() {
        let (title, kind) = (describe(service), type_of(copy));
        let found = type_of(&live);
        let message = format!("{title}: it is of type {found}, and the {slot} of type {kind}: give both the same type");
        return Err(RouteError::CannotCarry(message));
    }
    if let Some(spec) = service.data.get_mut("spec") {
        match copy.external_name() {
            Some(host) => put(spec, "externalName", host),
            None => lead_to_pods(spec, copy),
        }
    }
    let now = service_copy(service);
    service.annotations_mut().insert(SLOT_ANNOTATION.to_owned(), said(slot, &leading(&now, &now)));
    Ok(())
}

/// A Service of the hub's for a copy of this type: clients inside the cluster call it.
pub(super) fn draft(copy: &ServiceCopy) -> Value {
    let ports = copy.spec.get("ports").cloned().unwrap_or_else(|| json!([]));
    match copy.external_name() {
        Some(host) => json!({"type": "ExternalName", "externalName": host, "ports": ports}),
        None => json!({"type": "ClusterIP", "selector": copy.spec.get("selector"), "ports": ports}),
    }
}

/// The selector, and the targets of the ports that both have; everything else stays.
fn lead_to_pods(spec: &mut Value, copy: &ServiceCopy) {
    put(spec, "selector", copy.spec.get("selector").cloned().unwrap_or_default());
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(target) = target(copy, port) {
            put(port, "targetPort", target.clone());
        }
    }
}

/// What leads the traffic of a Service with these ports: a name, or a selector and where its ports lead.
fn leading(copy: &ServiceCopy, live: &ServiceCopy) -> Value {
    if let Some(host) = copy.external_name() {
        return json!(host.trim_end_matches('.').to_ascii_lowercase());
    }
    let own = |port: &Value| json!([port.get("port"), target(copy, port).or_else(|| port.get("targetPort"))]);
    json!([copy.spec.get("selector"), ports(live).map(own).collect::<Vec<_>>()])
}

/// Where a copy leads the requests to this port.
fn target<'c>(copy: &'c ServiceCopy, port: &Value) -> Option<&'c Value> {
    let protocol = |port: &Value| port.get("protocol").and_then(Value::as_str).unwrap_or("TCP").to_owned();
    let is_same = |other: &&Value| other.get("port") == port.get("port") && protocol(other) == protocol(port);
    ports(copy).find(is_same)?.get("targetPort")
}

fn ports(copy: &ServiceCopy) -> impl Iterator<Item = &Value> {
    copy.spec.get("ports").and_then(Value::as_array).into_iter().flatten()
}

fn type_of(copy: &ServiceCopy) -> &str {
    copy.spec.get("type").and_then(Value::as_str).unwrap_or("ClusterIP")
}

fn said(slot: &str, leading: &Value) -> String {
    format!("{slot}/{}", fingerprint(leading))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::api::{ServiceSpec, Split};
    use crate::object::{AllowedHosts, Mesh};
    use crate::route;

    fn copy(spec: &Value) -> ServiceCopy {
        ServiceCopy::of(spec, &BTreeMap::new(), &BTreeMap::new())
    }

    fn name(host: &str) -> Value {
        json!({"type": "ExternalName", "externalName": host, "ports": [{"name": "http", "port": 80}]})
    }

    fn pods(version: &str, target: u16) -> Value {
        json!({"type": "ClusterIP", "selector": {"app": version}, "clusterIP": "10.0.0.7",
               "ports": [{"name": "http", "port": 80, "targetPort": target}]})
    }

    fn service() -> ServiceSpec {
        let route = json!({"kubernetes": {"name": "shop-live"}});
        serde_json::from_value(json!({"name": "shop", "port": 80, "backend": {"clusterIP": {}}, "routes": [route]}))
            .unwrap()
    }

    /// What one looks like who sees the live Service with these copies.
    fn with<T>(primary: &Value, canary: &Value, see: impl Fn(&Context<'_>) -> T) -> T {
        let copies = [(PRIMARY.to_owned(), copy(primary)), (CANARY.to_owned(), copy(canary))].into();
        let service = service();
        see(&Context {
            namespace: "shop",
            rollout: "fleet",
            uid: "uid-1",
            hub: "hub-1",
            service: &service,
            total: 100,
            endpoints: &BTreeMap::new(),
            copies: &copies,
            allowed_hosts: AllowedHosts::none(),
            neighbours: &[],
            mesh: &Mesh::NotKnown,
        })
    }

    fn live(spec: &Value) -> DynamicObject {
        let object = json!({"apiVersion": "v1", "kind": "Service", "spec": spec,
                            "metadata": {"name": "shop-live", "namespace": "shop", "uid": "s-1", "resourceVersion": "1"}});
        serde_json::from_value(object).unwrap()
    }

    fn shown(primary: &Value, canary: &Value, service: &DynamicObject) -> Result<String, RouteError> {
        with(primary, canary, |context| read(context, service).map(|weights| weights.nonzero().to_string()))
    }

    #[test]
    fn a_service_is_switched_from_primary_to_canary_and_back_and_says_which_it_is() {
        for (old, new) in [(name("eu-1.example.com"), name("eu-3.example.com")), (pods("v1", 8080), pods("v2", 9090))] {
            let mut service = live(&old);
            assert_eq!(shown(&old, &new, &service).unwrap(), "primary:100");
            set(&mut service, CANARY, &copy(&new)).unwrap();
            assert_eq!(shown(&old, &new, &service).unwrap(), "canary:100");
            assert_eq!(
                shown(&new, &new, &service).unwrap(),
                "canary:100",
                "until it is switched back, though both are the same"
            );
            set(&mut service, PRIMARY, &copy(&new)).unwrap();
            assert_eq!(shown(&new, &new, &service).unwrap(), "primary:100");
            assert_eq!(service.data["spec"].get("clusterIP"), old.get("clusterIP"), "its address stays");
        }
    }

    #[test]
    fn an_edit_is_seen_whatever_the_service_says_of_itself() {
        let (old, new) = (pods("v1", 8080), pods("v2", 8080));
        let mut service = live(&old);
        set(&mut service, PRIMARY, &copy(&old)).unwrap();
        service.data["spec"]["selector"] = json!({"app": "v2"});
        assert_eq!(shown(&old, &new, &service).unwrap(), "canary:100");
        service.data["spec"]["selector"] = json!({"app": "v3"});
        let refused = shown(&old, &new, &service).unwrap_err().to_string();
        let expected = "Service shop-live: it leads neither where the primary does nor where the canary does: give it the \
                        selector and the target ports of Service shop-primary";
        assert_eq!(refused, expected);
    }

    #[test]
    fn a_primary_that_is_changed_under_its_traffic_is_still_the_primary() {
        let (old, new) = (pods("v1", 8080), pods("v2", 8080));
        let mut service = live(&old);
        set(&mut service, PRIMARY, &copy(&old)).unwrap();
        assert_eq!(shown(&new, &new, &service).unwrap(), "primary:100", "skipAnalysis");
    }

    #[test]
    fn a_name_is_not_switched_to_pods() {
        let mut service = live(&name("eu-1.example.com"));
        let refused = set(&mut service, CANARY, &copy(&pods("v2", 8080))).unwrap_err().to_string();
        assert!(refused.contains("it is of type ExternalName, and the canary of type ClusterIP"), "{refused}");
    }

    #[test]
    fn the_hub_makes_the_service_that_clients_call() {
        let (old, new) = (pods("v1", 8080), pods("v2", 9090));
        let route = serde_json::from_value(json!({"kubernetes": {"create": {"name": "shop-live"}}})).unwrap();
        let made = with(&old, &new, |context| {
            let weights = Distribution::from([(PRIMARY.to_owned(), 100)]);
            let provider = route::provider(&route);
            assert_eq!(provider.names(context), ["shop-live"]);
            provider.set(context, &[None], &Split::from(weights)).unwrap().remove(0).unwrap()
        });
        assert_eq!((made.name_any(), &made.data["spec"]["selector"]["app"]), ("shop-live".to_owned(), &json!("v1")));
        assert_eq!(made.data["spec"].get("clusterIP"), None);
        assert_eq!(shown(&old, &new, &made).unwrap(), "primary:100");
    }
}
