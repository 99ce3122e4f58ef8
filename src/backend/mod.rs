//! Backends: the hub objects that a route can weight, each of which leads to one member.
//!
//! Everything here is pure: objects in, objects out. A Service that the user names under `existing` is looked at and
//! never changed. What the hub makes is labelled and has no owner reference: a backend that a route still names must
//! outlive its rollout.

mod cluster_ip;
mod copy;
mod endpoint_slice;
mod external_name;
mod reach;
mod ready;
mod registered;
mod service_entry;
pub(crate) mod subset;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

pub(crate) use crate::object::host_name::refusal;
pub(crate) use cluster_ip::check_host;
pub(crate) use copy::{service_copy, serving, source};
use k8s_openapi::api::core::v1::Service;
use kube::core::{ApiResource, DynamicObject};
pub(crate) use reach::{hosts, reach, reach_of};
pub(crate) use ready::{slices, unready};
pub(crate) use registered::read_of_mesh;
use serde_json::Value;

use crate::api::{Backend, DeletionPolicy, MEMBER_LABEL, Reason, Route, ServiceSpec};
use crate::object::{Context, Owner, Target, Write, owner};
use crate::rollout::input::{BackendSeen, Problem};

/// One object that a backend consists of, as it must be.
struct DesiredObject {
    /// All but metadata, as a merge patch: what the hub does not name stays as it is.
    fields: Value,
    labels: BTreeMap<String, String>,
}

/// Name of the backend that leads to a member: the one under `existing`, else `<service>-<member>`.
#[must_use]
pub(crate) fn name(service: &ServiceSpec, member: &str) -> String {
    existing(service, member).map_or_else(|| format!("{}-{member}", service.name), str::to_owned)
}

/// The declared member to which a backend leads.
#[must_use]
pub(crate) fn member<'a>(context: &Context<'a>, backend: &str) -> Option<&'a str> {
    context.endpoints.keys().map(String::as_str).find(|member| name(context.service, member) == backend)
}

/// A backend leads to a member, or is named as if it did.
#[must_use]
pub(crate) fn is_of_service(context: &Context<'_>, backend: &str) -> bool {
    let rest = backend.strip_prefix(&context.service.name).and_then(|rest| rest.strip_prefix('-'));
    member(context, backend).is_some() || rest.is_some_and(|member| !member.is_empty())
}

/// The port under which routes reach a member's backend. An ExternalName Service translates no ports, and a ServiceEntry of
/// ours has none but the endpoint's, so there it is that one.
#[must_use]
pub(crate) fn port(context: &Context<'_>, member: &str) -> u16 {
    match (&context.service.backend, context.endpoints.get(member)) {
        (Backend::ExternalName(_) | Backend::ServiceEntry(_), Some(reach))
            if existing(context.service, member).is_none() =>
        {
            reach.port
        }
        (
            Backend::ExternalName(_)
            | Backend::ClusterIp(_)
            | Backend::EndpointSlice(_)
            | Backend::ServiceEntry(_)
            | Backend::Subset(_),
            _,
        ) => context.service.port,
    }
}

/// The backend that the user named for a member; the hub never changes it.
#[must_use]
pub(crate) fn existing<'s>(service: &'s ServiceSpec, member: &str) -> Option<&'s str> {
    service.backend.existing().get(member).map(String::as_str)
}

/// The objects to fetch for a member's backend. Their order is that of the objects which the other functions take.
#[must_use]
pub(crate) fn targets(context: &Context<'_>, member: &str) -> Vec<Target> {
    let backend = name(context.service, member);
    let target =
        |resource: ApiResource, name: String| Target { resource, namespace: context.namespace.to_owned(), name };
    let service = || target(ApiResource::erase::<Service>(&()), backend.clone());
    match (&context.service.backend, existing(context.service, member)) {
        (Backend::ExternalName(_) | Backend::ClusterIp(_), _) | (Backend::EndpointSlice(_), Some(_)) => vec![service()],
        (Backend::EndpointSlice(_), None) => {
            let slices = endpoint_slice::names(&backend).map(|name| target(slices(), name));
            std::iter::once(service()).chain(slices).collect()
        }
        (Backend::ServiceEntry(_), None) => {
            [service_entry::entries(), service_entry::rules()].map(|kind| target(kind, backend.clone())).into()
        }
        (Backend::Subset(_), None) => vec![target(service_entry::rules(), backend)],
        // Such a one is known by its host, or with others in one object.
        (Backend::ServiceEntry(_) | Backend::Subset(_), Some(_)) => Vec::new(),
    }
}

/// The kinds of what a mesh knows beside Services, if backends of this service depend on it: those that Istio serves, but for
/// Services with addresses.
#[must_use]
pub(crate) fn mesh_kinds(service: &ServiceSpec) -> Option<[ApiResource; 2]> {
    let is_served = service.routes.iter().any(|route| matches!(route, Route::Istio(_)));
    let depends = match service.backend {
        Backend::ExternalName(_) | Backend::ServiceEntry(_) | Backend::Subset(_) => is_served,
        Backend::ClusterIp(_) | Backend::EndpointSlice(_) => false,
    };
    depends.then(|| [service_entry::entries(), service_entry::rules()])
}

/// The kind of the first object of a backend that the hub makes, by which those that are left are found.
#[must_use]
pub(crate) fn kind(service: &ServiceSpec) -> ApiResource {
    match service.backend {
        Backend::ExternalName(_) | Backend::ClusterIp(_) | Backend::EndpointSlice(_) => {
            ApiResource::erase::<Service>(&())
        }
        Backend::ServiceEntry(_) => service_entry::entries(),
        Backend::Subset(_) => service_entry::rules(),
    }
}

/// Members of which no route can tell one from the other: weights between them would have no effect.
#[must_use]
pub(crate) fn problems(context: &Context<'_>) -> Vec<Problem> {
    let service = context.service;
    // At rest the canary is what the primary is: the hub makes both.
    if !context.copies.is_empty() {
        return Vec::new();
    }
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for (member, reach) in context.endpoints {
        let backend = name(service, member);
        let mut identities = vec![format!("backend {backend}")];
        // Elsewhere the data plane does not use the endpoint.
        let by_endpoint = !matches!(service.backend, Backend::ClusterIp(_) | Backend::Subset(_));
        if existing(service, member).is_none() && by_endpoint {
            identities.push(format!(
                "endpoint {}:{} {}",
                reach.host,
                reach.port,
                reach.server_name.as_deref().unwrap_or_default()
            ));
        }
        for identity in identities {
            if let Some(other) = seen.insert(identity.clone(), member) {
                let message = format!(
                    "service {}: members {other} and {member} have the same {}: weights between them would have no effect; give each its own",
                    service.name,
                    identity.trim_end()
                );
                problems.push(Problem::new(Reason::CannotCarryWeights, message));
            }
        }
    }
    problems
}

/// The writes that make a member's backend what it should be; nothing where it is so already. `addresses` are those of
/// the endpoint's host, used by backends that hold addresses alone; an empty answer keeps the addresses that are there.
pub(crate) fn render(
    context: &Context<'_>,
    member: &str,
    current: &[Option<Arc<DynamicObject>>],
    addresses: &[IpAddr],
) -> Result<Vec<Write>, Problem> {
    if let Some(copy) = context.copies.get(member) {
        return copy::render(context, member, copy, current.first().and_then(Option::as_deref));
    }
    if is_the_users(context, member) {
        return registered::named(context, member, current.first().and_then(Option::as_deref)).map(|()| Vec::new());
    }
    let mut writes = Vec::new();
    let desired = desired(context, member, current, addresses)?;
    for (index, (target, desired)) in targets(context, member).into_iter().zip(desired).enumerate() {
        let before = current.get(index).and_then(Option::as_deref);
        let is_foreign = before.is_some_and(|before| Owner::of(before, context) != Owner::This);
        if desired.is_some() || !is_foreign {
            let after = desired.map(|desired| rendered(context, member, &target, before, desired)).transpose()?;
            writes.extend(Write::between(target, before, after));
        }
    }
    Ok(writes)
}

/// What is to be said of a member's backend.
#[must_use]
pub(crate) fn assess(
    context: &Context<'_>,
    member: &str,
    current: &[Option<Arc<DynamicObject>>],
    addresses: &[IpAddr],
) -> BackendSeen {
    let rendered = render(context, member, current, addresses);
    let registered = || registered::alias(context, member, current.first().and_then(Option::as_deref));
    match rendered.and_then(|writes| if writes.is_empty() { registered().map(|()| writes) } else { Ok(writes) }) {
        Err(problem) if is_the_users(context, member) && current.first().is_some_and(Option::is_none) => {
            BackendSeen::Missing(problem)
        }
        Err(problem) => BackendSeen::NotReady(problem),
        Ok(writes) if writes.is_empty() => BackendSeen::Ready,
        Ok(_) => BackendSeen::Outdated(None),
    }
}

/// Gives a member's backend back. `Retain` leaves it without the rollout's uid; `Revert` removes what the hub made,
/// unless a route still names it. What the user named is left alone, even where the hub made it once.
#[must_use]
pub(crate) fn release(
    context: &Context<'_>,
    member: &str,
    current: &[Option<Arc<DynamicObject>>],
    policy: DeletionPolicy,
    still_named: bool,
) -> Vec<Write> {
    let remove = policy == DeletionPolicy::Revert && !still_named;
    let is_named = existing(context.service, member).is_some();
    let given_back = |(target, before): (Target, &Option<Arc<DynamicObject>>)| {
        let before = before.as_deref().filter(|object| !is_named && Owner::of(object, context) == Owner::This)?;
        let mut after = before.clone();
        owner::release(&mut after);
        Write::between(target, Some(before), (!remove).then_some(after))
    };
    targets(context, member).into_iter().zip(current).filter_map(given_back).collect()
}

/// The Service is one that its user made, in member mode.
fn is_the_users(context: &Context<'_>, member: &str) -> bool {
    let is_clusters_own = matches!(context.service.backend, Backend::ClusterIp(_));
    context.copies.is_empty() && (is_clusters_own || existing(context.service, member).is_some())
}

fn desired(
    context: &Context<'_>,
    member: &str,
    current: &[Option<Arc<DynamicObject>>],
    addresses: &[IpAddr],
) -> Result<Vec<Option<DesiredObject>>, Problem> {
    let Some(reach) = context.endpoints.get(member) else {
        return Err(Problem::new(
            Reason::MemberNotFound,
            format!("service {}: member {member} has no endpoint", context.service.name),
        ));
    };
    match &context.service.backend {
        Backend::ExternalName(_) => Ok(vec![Some(external_name::service(reach))]),
        Backend::EndpointSlice(_) => endpoint_slice::objects(context.service, member, reach, current, addresses),
        Backend::ServiceEntry(entry) => service_entry::objects(context, entry, member, reach, current, addresses),
        Backend::Subset(subset) => Ok(vec![Some(subset::rule(context, subset, member))]),
        Backend::ClusterIp(_) => Ok(Vec::new()),
    }
}

fn rendered(
    context: &Context<'_>,
    member: &str,
    target: &Target,
    before: Option<&DynamicObject>,
    desired: DesiredObject,
) -> Result<DynamicObject, Problem> {
    let Target { resource, namespace, name } = target;
    let new = || DynamicObject::new(name, resource).within(namespace).data(Value::Object(serde_json::Map::new()));
    let mut object = before.cloned().unwrap_or_else(new);
    json_patch::merge(&mut object.data, &desired.fields);
    if !is_ours(context, target, member, before, &object)? {
        return Ok(object);
    }
    owner::set(&mut object, context);
    let labels = object.metadata.labels.get_or_insert_default();
    labels.extend(desired.labels);
    labels.insert(MEMBER_LABEL.to_owned(), member.to_owned());
    Ok(object)
}

/// Whether the object may be changed. What somebody else made may serve as it is, and is never changed.
fn is_ours(
    context: &Context<'_>,
    target: &Target,
    member: &str,
    before: Option<&DynamicObject>,
    after: &DynamicObject,
) -> Result<bool, Problem> {
    let other = before.and_then(|before| before.metadata.labels.as_ref()?.get(MEMBER_LABEL)).filter(|of| *of != member);
    match before.map_or(Owner::This, |before| Owner::of(before, context)) {
        // Another service, then: the same name is put together of both.
        Owner::This | Owner::Released if let Some(other) = other => {
            Err(conflict(target, &format!("was made for member {other}"), member))
        }
        Owner::This | Owner::Released => Ok(true),
        Owner::Foreign if before.is_some_and(|before| before.data == after.data) => Ok(false),
        Owner::Foreign => Err(conflict(target, "was not made by cutover and leads elsewhere", member)),
        Owner::Other(uid) => Err(conflict(target, &format!("belongs to the rollout with uid {uid}"), member)),
    }
}

fn conflict(target: &Target, why: &str, member: &str) -> Problem {
    let Target { resource, name, .. } = target;
    let kind = &resource.kind;
    Problem::new(
        Reason::Conflict,
        format!(
            "{kind} {name} {why}: remove it, or name the Service to use under spec.services[].backend.<kind>.existing as {member}: <name>"
        ),
    )
}
