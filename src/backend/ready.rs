//! Whether a Service with addresses has a ready one, by the `EndpointSlice`s that the cluster keeps for it.

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    ResourceExt,
    core::{ApiResource, DynamicObject},
};
use serde_json::Value;

use super::cluster_ip::text;
use crate::api::SPEC_HASH_LABEL;

/// On every slice: the Service whose addresses it holds.
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The kind of the slices.
#[must_use]
pub(crate) fn slices() -> ApiResource {
    ApiResource::erase::<EndpointSlice>(&())
}

/// Why nobody behind this Service would answer on `port`; `None` where somebody is ready to. `slices` may hold those of
/// other Services too.
#[must_use]
pub(crate) fn unready<'o>(
    name: &str,
    service: Option<&DynamicObject>,
    port: u16,
    slices: impl IntoIterator<Item = &'o DynamicObject>,
) -> Option<String> {
    let Some(service) = service else { return Some(format!("Service {name} does not exist")) };
    let Some(port_name) = port_name(&service.data, port) else {
        return Some(format!("Service {name} has no TCP port {port}"));
    };
    let mut own = slices.into_iter().filter(|slice| slice.labels().get(SERVICE_NAME).is_some_and(|of| of == name));
    let serves = |slice: &DynamicObject| {
        is_of_spec(slice, service) && has_port(&slice.data, port_name) && list(&slice.data, "endpoints").any(is_ready)
    };
    (!own.any(serves)).then(|| format!("no EndpointSlice of Service {name} has a ready address for port {port}"))
}

/// The addresses were chosen by the spec that the Service has now: what is left of the one before it says nothing.
fn is_of_spec(slice: &DynamicObject, service: &DynamicObject) -> bool {
    slice.labels().get(SPEC_HASH_LABEL) == service.labels().get(SPEC_HASH_LABEL)
}

/// The name of a Service's TCP port; that of its only port may be empty.
fn port_name(service: &Value, number: u16) -> Option<&str> {
    let is_it = |port: &&Value| {
        port.get("port").and_then(Value::as_u64) == Some(u64::from(number))
            && matches!(text(port, "/protocol"), "" | "TCP")
    };
    service.get("spec").and_then(|spec| list(spec, "ports").find(is_it)).map(|port| text(port, "/name"))
}

/// A port of a slice has the name of the Service's port, and the number to which that leads at these addresses.
fn has_port(slice: &Value, name: &str) -> bool {
    list(slice, "ports").any(|port| {
        text(port, "/name") == name
            && matches!(text(port, "/protocol"), "" | "TCP")
            && port.get("port").is_some_and(Value::is_u64)
    })
}

/// By the `EndpointSlice` API, a condition that is not known counts as true.
fn is_ready(endpoint: &Value) -> bool {
    let has_address = list(endpoint, "addresses").next().is_some();
    has_address && endpoint.pointer("/conditions/ready").and_then(Value::as_bool).unwrap_or(true)
}

fn list<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    /// A slice with one address under each of these conditions.
    fn slice(service: &str, port: &Value, ready: &[Value]) -> DynamicObject {
        let endpoint = |ready: &Value| json!({"addresses": ["10.0.0.7"], "conditions": {"ready": ready}});
        object(json!({
            "metadata": {"name": format!("{service}-x1"), "labels": {SERVICE_NAME: service}},
            "addressType": "IPv4",
            "ports": [port],
            "endpoints": ready.iter().map(endpoint).collect::<Vec<_>>(),
        }))
    }

    fn service() -> DynamicObject {
        object(json!({"metadata": {"name": "shop-canary"}, "spec": {"ports": [
            {"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"},
            {"name": "dns", "port": 53, "protocol": "UDP"}]}}))
    }

    fn why(slices: &[DynamicObject]) -> Option<String> {
        unready("shop-canary", Some(&service()), 80, slices)
    }

    #[test]
    fn one_ready_address_on_the_right_port_will_do() {
        let none = Some("no EndpointSlice of Service shop-canary has a ready address for port 80".to_owned());
        let http = json!({"name": "http", "port": 8080, "protocol": "TCP"});
        for (ready, serves) in [
            (&[json!(true)][..], true),
            (&[json!(false), json!(true)], true),
            (&[json!(null)], true),
            (&[json!(false)], false),
            (&[], false),
        ] {
            assert_eq!(why(&[slice("shop-canary", &http, ready)]), none.clone().filter(|_| !serves), "{ready:?}");
        }
        let other_port = json!({"name": "admin", "port": 8080, "protocol": "TCP"});
        let no_number = json!({"name": "http"});
        assert_eq!(why(&[]), none);
        assert_eq!(why(&[slice("shop-primary", &http, &[json!(true)])]), none);
        assert_eq!(why(&[slice("shop-canary", &other_port, &[json!(true)])]), none);
        assert_eq!(why(&[slice("shop-canary", &no_number, &[json!(true)])]), none);
        let of_two = [slice("shop-canary", &http, &[json!(false)]), slice("shop-canary", &http, &[json!(true)])];
        assert_eq!(why(&of_two), None);
    }

    #[test]
    fn the_addresses_of_an_earlier_spec_do_not_count() {
        let port = json!({"name": "http", "port": 8080, "protocol": "TCP"});
        let labelled = |mut object: DynamicObject, hash: Option<&str>| {
            let labels = object.metadata.labels.get_or_insert_default();
            labels.extend(hash.map(|hash| (SPEC_HASH_LABEL.to_owned(), hash.to_owned())));
            object
        };
        for (of_slice, of_service, serves) in [
            (Some("a"), Some("a"), true),
            (Some("a"), Some("b"), false),
            (None, Some("b"), false),
            (Some("a"), None, false),
        ] {
            let service = labelled(service(), of_service);
            let slices = [labelled(slice("shop-canary", &port, &[json!(true)]), of_slice)];
            let why = unready("shop-canary", Some(&service), 80, &slices);
            assert_eq!(why.is_none(), serves, "{of_slice:?} {of_service:?}");
        }
    }

    #[test]
    fn an_only_port_needs_no_name() {
        let service = object(json!({"metadata": {"name": "shop"}, "spec": {"ports": [{"port": 80}]}}));
        let slices = [slice("shop", &json!({"name": "", "port": 8080}), &[json!(true)])];
        assert_eq!(unready("shop", Some(&service), 80, &slices), None);
    }

    #[test]
    fn a_service_that_is_not_there_or_lacks_the_port_serves_nobody() {
        assert_eq!(unready("shop", None, 80, []), Some("Service shop does not exist".to_owned()));
        let why = unready("shop-canary", Some(&service()), 53, []);
        assert_eq!(why, Some("Service shop-canary has no TCP port 53".to_owned()));
    }
}
