//! Services that are there already. They are looked at and never changed.

use kube::core::DynamicObject;
use serde_json::Value;

use super::name;
use crate::api::{Backend, Reason};
use crate::object::host_name::{Refusal, refusal};
use crate::object::{AllowedHosts, Context, spelled};
use crate::rollout::input::Problem;

/// The Service is there, has the port of the routes, and is of a type that can carry weights.
pub(super) fn check(context: &Context<'_>, member: &str, service: Option<&DynamicObject>) -> Result<(), Problem> {
    let backend = format!("Service {}", name(context.service, member));
    let Some(service) = service else {
        let message = format!(
            "{backend} for member {member} does not exist: make it, or correct spec.services[].backend.<kind>.existing"
        );
        return Err(Problem::new(Reason::BackendNotReady, message));
    };
    if matches!(context.service.backend, Backend::ClusterIp(_)) && text(&service.data, "/spec/type") == "ExternalName" {
        let message = format!(
            "{backend} is of type ExternalName, for which some data planes ignore weights: say backend: {{externalName: {{}}}}"
        );
        return Err(Problem::new(Reason::CannotCarryWeights, message));
    }
    check_target(context, &backend, &service.data)?;
    check_port(&backend, &service.data, context.service.port)
}

/// What users write may lead only where members are.
pub(super) fn check_target(context: &Context<'_>, backend: &str, service: &Value) -> Result<(), Problem> {
    match text(service, "/spec/type") {
        "ExternalName" => {
            check_host(context.allowed_hosts, context.namespace, backend, text(service, "/spec/externalName"))
        }
        _ => Ok(()),
    }
}

/// The host of a Service of type ExternalName that a user wrote.
///
/// # Errors
/// When it is not allowed in this namespace.
pub(crate) fn check_host(allowed: &AllowedHosts, namespace: &str, backend: &str, target: &str) -> Result<(), Problem> {
    let host = spelled(target);
    if allowed.allow(&host) {
        return Ok(());
    }
    let (found, remedy) = match refusal(&host) {
        Some(refusal @ (Refusal::Address | Refusal::HubCluster)) => (refusal.found().to_owned(), refusal.remedy()),
        Some(Refusal::NotAName) | None => (
            format!("is no endpoint of a MemberCluster that allows namespace {namespace}"),
            "correct it, add it to spec.endpoints of the MemberCluster, or start the hub with --allow-external-names",
        ),
    };
    let message = format!("{backend}: spec.externalName: {target:?} {found}; {remedy}");
    Err(Problem::new(Reason::AddressNotAllowed, message))
}

pub(super) fn check_port(backend: &str, service: &Value, expected: u16) -> Result<(), Problem> {
    let ports = service.pointer("/spec/ports").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_tcp = |port: &Value| matches!(text(port, "/protocol"), "" | "TCP");
    let number = |port: &Value| port.get("port").and_then(Value::as_u64);
    if ports.iter().any(|port| number(port) == Some(u64::from(expected)) && is_tcp(port)) {
        return Ok(());
    }
    let has: Vec<String> = ports
        .iter()
        .take(8)
        .map(|port| {
            let protocol = Some(text(port, "/protocol")).filter(|named| !named.is_empty()).unwrap_or("TCP");
            format!("{}/{protocol}", number(port).unwrap_or_default())
        })
        .collect();
    let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
    Err(Problem::new(
        Reason::BackendNotReady,
        format!("{backend} has no TCP port {expected} (it has {has}): add it, or correct spec.services[].port"),
    ))
}

pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
