//! What the real server fills into objects of the kinds that are known from the start.

use serde_json::{Value, json};

use super::json::{ensure, text};

pub(super) fn namespace(namespace: &mut Value) {
    let name = text(namespace, "/metadata/name").to_owned();
    namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
    ensure(namespace, "spec", &json!({"finalizers": ["kubernetes"]}));
    ensure(namespace, "status", &json!({"phase": "Active"}));
}

pub(super) fn secret(secret: &mut Value) {
    ensure(secret, "type", &json!("Opaque"));
    let plain = secret.as_object_mut().and_then(|fields| fields.remove("stringData"));
    for (key, value) in plain.as_ref().and_then(Value::as_object).into_iter().flatten() {
        let bytes = value.as_str().unwrap_or_default().as_bytes().to_vec();
        secret["data"][key] = json!(k8s_openapi::ByteString(bytes));
    }
}

pub(super) fn service(service: &mut Value) {
    ensure(service, "spec", &json!({}));
    ensure(service, "status", &json!({"loadBalancer": {}}));
    let spec = &mut service["spec"];
    ensure(spec, "type", &json!("ClusterIP"));
    ensure(spec, "sessionAffinity", &json!("None"));
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        ensure(port, "protocol", &json!("TCP"));
        let number = port["port"].clone();
        ensure(port, "targetPort", &number);
    }
    if text(spec, "/type") != "ExternalName" {
        ensure(spec, "internalTrafficPolicy", &json!("Cluster"));
    }
}

/// Gives a Service the address with this number, of a network of 64,000.
pub(super) fn address(service: &mut Value, number: u64) {
    let spec = &mut service["spec"];
    if text(spec, "/type") == "ExternalName" {
        return;
    }
    ensure(spec, "ipFamilies", &json!(["IPv4"]));
    ensure(spec, "ipFamilyPolicy", &json!("SingleStack"));
    if text(spec, "/clusterIP").is_empty() {
        let address = format!("10.96.{}.{}", number / 250 % 256, number % 250 + 1);
        spec["clusterIPs"] = json!([address]);
        spec["clusterIP"] = address.into();
    }
}

/// A Service keeps its address, whether an update repeats it or not.
pub(super) fn keep_address(service: &mut Value, old: &Value) {
    let same_type = text(service, "/spec/type") == text(old, "/spec/type");
    for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if let (true, Some(address)) = (same_type, old["spec"].get(key)) {
            ensure(&mut service["spec"], key, address);
        }
    }
}

pub(super) fn endpoint_slice(slice: &mut Value) {
    ensure(slice, "endpoints", &Value::Null);
    ensure(slice, "ports", &Value::Null);
    for endpoint in slice["endpoints"].as_array_mut().into_iter().flatten() {
        ensure(endpoint, "conditions", &json!({}));
    }
    for port in slice["ports"].as_array_mut().into_iter().flatten() {
        ensure(port, "name", &json!(""));
        ensure(port, "protocol", &json!("TCP"));
    }
}
