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
use serde_json::Value;

use crate::api::{Backend, DeletionPolicy, MEMBER_LABEL, Reason, ServiceSpec};
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

/// The port under which routes reach a member's backend. An ExternalName Service translates no ports, so there it is
/// the endpoint's own.
#[must_use]
pub(crate) fn port(context: &Context<'_>, member: &str) -> u16 {
    match (&context.service.backend, context.endpoints.get(member)) {
        (Backend::ExternalName(_), Some(reach)) if existing(context.service, member).is_none() => reach.port,
        (Backend::ExternalName(_) | Backend::ClusterIp(_) | Backend::EndpointSlice(_), _) => context.service.port,
    }
}

/// The Service that the user named for a member; the hub never changes it.
#[must_use]
pub(crate) fn existing<'s>(service: &'s ServiceSpec, member: &str) -> Option<&'s str> {
    service.backend.named().existing.get(member).map(String::as_str)
}

/// The objects to fetch for a member's backend. Their order is that of the objects which the other functions take.
#[must_use]
pub(crate) fn targets(context: &Context<'_>, member: &str) -> Vec<Target> {
    let backend = name(context.service, member);
    let target =
        |resource: ApiResource, name: String| Target { resource, namespace: context.namespace.to_owned(), name };
    let mut targets = vec![target(ApiResource::erase::<Service>(&()), backend.clone())];
    if is_made_of_slices(context, member) {
        targets.extend(endpoint_slice::names(&backend).map(|name| target(slices(), name)));
    }
    targets
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
        if existing(service, member).is_none() && !matches!(service.backend, Backend::ClusterIp(_)) {
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
/// the endpoint's host, used by EndpointSlice backends alone; an empty answer keeps the addresses that are there.
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
        return cluster_ip::check(context, member, current.first().and_then(Option::as_deref)).map(|()| Vec::new());
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
    match render(context, member, current, addresses) {
        Err(problem) if is_the_users(context, member) && current.first().is_none_or(Option::is_none) => {
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

fn is_made_of_slices(context: &Context<'_>, member: &str) -> bool {
    matches!(context.service.backend, Backend::EndpointSlice(_)) && existing(context.service, member).is_none()
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
    match context.service.backend {
        Backend::ExternalName(_) => Ok(vec![Some(external_name::service(reach))]),
        Backend::EndpointSlice(_) => endpoint_slice::objects(context.service, member, reach, current, addresses),
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
