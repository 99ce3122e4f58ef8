//! The destinations of an entry: which backend each names, and how a member is named.

use serde_json::{Map, Value, json};

use crate::api::Backend;
use crate::api::member::HostHeader;
use crate::backend;
use crate::object::{Context, entry_host, entry_of, service_of};

/// The header that names the host, by both of its names.
const HOST: [&str; 2] = ["host", ":authority"];

/// The name of the backend, where it is of the kind that the service has; else the host as it stands there, so that it is no
/// member's.
pub(super) fn name(context: &Context<'_>, destination: &Value) -> String {
    let text = |key: &str| destination.pointer(&format!("/destination/{key}")).and_then(Value::as_str);
    let host = text("host").unwrap_or_default();
    match &context.service.backend {
        Backend::ExternalName(_) | Backend::ClusterIp(_) | Backend::EndpointSlice(_) => {
            service_of(host, context.namespace).unwrap_or(host).to_owned()
        }
        Backend::ServiceEntry(_) => match entry_of(host, context.namespace) {
            Some(entry) => entry.to_owned(),
            None if host.contains('.') => host.to_owned(),
            None => format!("Service/{host}"),
        },
        Backend::Subset(subset) => {
            let short = |host| service_of(host, context.namespace).unwrap_or(host);
            let is_its = short(host) == short(backend::subset::host(context.service, subset));
            text("subset").filter(|_| is_its).map_or_else(|| format!("Service/{host}"), str::to_owned)
        }
    }
}

/// A name without dots is one of the namespace of the VirtualService. A subset is one of the host before.
pub(super) fn set_name(context: &Context<'_>, destination: &mut Value, member: &str) {
    let name = backend::name(context.service, member);
    let (host, subset) = match &context.service.backend {
        Backend::ExternalName(_) | Backend::ClusterIp(_) | Backend::EndpointSlice(_) => (name, None),
        Backend::ServiceEntry(_) if backend::existing(context.service, member).is_some() => (name, None),
        Backend::ServiceEntry(_) => (entry_host(&name, context.namespace), None),
        Backend::Subset(subset) => (backend::subset::host(context.service, subset).to_owned(), Some(name)),
    };
    json_patch::merge(destination, &json!({"destination": {"host": host, "subset": subset}}));
}

/// With several destinations, one without weight gets nothing; a single one gets everything, whatever its weight.
pub(super) fn counts(weights: &[Option<u64>]) -> Vec<u64> {
    match weights {
        [weight] => vec![weight.filter(|weight| *weight > 0).unwrap_or(1)],
        weights => weights.iter().map(|weight| weight.unwrap_or(0)).collect(),
    }
}

pub(super) fn fields(context: &Context<'_>, member: &str, live: &Value) -> Value {
    let mut fields = json!({"destination": {"port": {"number": backend::port(context, member)}}});
    let Some(reach) = context.endpoints.get(member) else { return fields };
    if reach.host_header == HostHeader::Endpoint {
        let set = live.pointer("/headers/request/set").and_then(Value::as_object);
        let others = set.into_iter().flatten().map(|(key, _)| key).filter(|key| is_host(key));
        let mut set: Map<String, Value> = others.map(|key| (key.clone(), Value::Null)).collect();
        set.insert("Host".to_owned(), reach.host.as_str().into());
        fields["headers"] = json!({"request": {"set": set}});
    }
    fields
}

/// Another Host for everything that an entry gets, before which that of a member would not count.
pub(super) fn sets_host(entry: &Value) -> bool {
    let sets = |pointer: &str| {
        entry.pointer(pointer).and_then(Value::as_object).is_some_and(|set| set.keys().any(|key| is_host(key)))
    };
    entry.pointer("/rewrite/authority").is_some() || sets("/headers/request/set") || sets("/headers/request/add")
}

fn is_host(header: &str) -> bool {
    HOST.iter().any(|host| header.eq_ignore_ascii_case(host))
}
