//! Backends that a mesh must know before it sends anybody there.

use kube::core::DynamicObject;
use serde_json::{Map, Value, json};

use super::{cluster_ip, existing, name, port, subset};
use crate::api::{Backend, Reason, Route};
use crate::object::{Context, service_of};
use crate::rollout::input::Problem;

/// All that is read of a ServiceEntry or a DestinationRule that no rollout names.
pub(crate) fn read_of_mesh(object: &DynamicObject) -> Value {
    let read = ["hosts", "ports", "host", "subsets"];
    let spec = object.data.get("spec").and_then(Value::as_object);
    let kept = spec.into_iter().flatten().filter(|(key, _)| read.contains(&key.as_str()));
    json!({"spec": kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>()})
}

/// What the user named is there, and can carry weights.
pub(super) fn named(context: &Context<'_>, member: &str, service: Option<&DynamicObject>) -> Result<(), Problem> {
    match &context.service.backend {
        Backend::ExternalName(_) | Backend::ClusterIp(_) | Backend::EndpointSlice(_) => {
            cluster_ip::check(context, member, service)
        }
        Backend::ServiceEntry(_) => entry(context, member),
        Backend::Subset(backend) => subset::check(context, backend, member),
    }
}

/// For Istio a Service of type ExternalName is another name of its target, and leads nowhere if the mesh does not know that.
pub(super) fn alias(context: &Context<'_>, member: &str, service: Option<&DynamicObject>) -> Result<(), Problem> {
    let is_served = context.service.routes.iter().any(|route| matches!(route, Route::Istio(_)));
    let target = service.map_or("", |service| cluster_ip::text(&service.data, "/spec/externalName"));
    let is_alias = service.is_some_and(|service| cluster_ip::text(&service.data, "/spec/type") == "ExternalName");
    if !is_served || !is_alias {
        return Ok(());
    }
    let Some(why) = context.mesh.misses_host(target.trim_end_matches('.'), port(context, member)) else {
        return Ok(());
    };
    let message = format!(
        "Service {} for member {member}: {why}: make one, or say backend: {{serviceEntry: {{}}}}",
        name(context.service, member)
    );
    Err(Problem::new(Reason::BackendNotReady, message))
}

/// The host that the user named has a ServiceEntry. One of a Service of the hub cluster needs none.
fn entry(context: &Context<'_>, member: &str) -> Result<(), Problem> {
    let host = existing(context.service, member).unwrap_or_default();
    let is_service = host.contains('.') && service_of(host, context.namespace).is_some();
    let missing = context.mesh.misses_host(host, context.service.port).filter(|_| !is_service);
    let Some(why) = missing else { return Ok(()) };
    let message = format!(
        "backend of member {member}: {why}: make one, or correct spec.services[].backend.serviceEntry.existing"
    );
    Err(Problem::new(Reason::BackendNotReady, message))
}
