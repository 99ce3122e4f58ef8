//! Backends that the rollout made and that nothing in its declaration leads to any more. They are found by their labels.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::api::core::v1::Service;
use kube::{
    ResourceExt,
    core::{ApiResource, DynamicObject},
};

use super::{
    Hub,
    observed::{Found, Observed},
    placed::Placed,
    subject::Subject,
};
use crate::{
    api::{CANARY, MEMBER_LABEL, Mode, PRIMARY},
    backend,
    object::resource_of,
    rollout::input::RouteSeen,
    route,
};

/// What was found, by what may become of it.
#[derive(Default)]
pub(super) struct Leftovers {
    /// Of services that are declared, by service and member.
    pub(super) of_members: BTreeMap<(String, String), Found>,
    /// Of services that are not: their routes are not looked at, and may name them.
    pub(super) of_services: Vec<DynamicObject>,
}

/// Everything that a deletion would otherwise leave behind; while the rollout lives, those backends that no member of it
/// needs and no route names.
pub(super) fn find(hub: &Hub, subject: &Subject, mode: Mode, deleting: bool, observed: &Observed) -> Leftovers {
    let mut found = Leftovers::default();
    if !deleting && (subject.status.run.is_some() || !sees_every_route(observed)) {
        return found;
    }
    let looked_at: BTreeSet<String> =
        observed.backends.values().flatten().flatten().map(|object| object.name_any()).collect();
    for object in kinds(subject).flat_map(|kind| hub.objects.of_rollout(&kind, &subject.namespace, &subject.uid)) {
        if looked_at.contains(&object.name_any()) {
            continue;
        }
        let of_member =
            of_member(subject, &object).filter(|(placed, _)| resource_of(&object) == backend::kind(&placed.spec));
        let Some((placed, member)) = of_member else {
            found.of_services.push(object.as_ref().clone());
            continue;
        };
        let key = (placed.spec.name.clone(), member);
        let is_in_use = !deleting && (may_need(subject, mode, &key.1) || is_on_a_route(observed, &object));
        if !is_named(placed, &object) && !is_in_use {
            found.of_members.insert(key.clone(), objects_of(hub, subject, placed, &key.1, &object));
        }
    }
    found
}

/// The kinds of which backends may be left: Services, and what the declared ones are made of.
fn kinds(subject: &Subject) -> impl Iterator<Item = ApiResource> {
    let declared = subject.services.iter().map(|placed| backend::kind(&placed.spec));
    let kinds: BTreeMap<String, ApiResource> = std::iter::once(ApiResource::erase::<Service>(&()))
        .chain(declared)
        .map(|kind| (kind.kind.clone(), kind))
        .collect();
    kinds.into_values()
}

fn sees_every_route(observed: &Observed) -> bool {
    observed.seen.routes.values().all(|seen| matches!(seen, RouteSeen::Live(_) | RouteSeen::ToCreate))
}

/// The declared service and the member that a backend was made for.
fn of_member<'s>(subject: &'s Subject, object: &DynamicObject) -> Option<(&'s Placed, String)> {
    let member = object.labels().get(MEMBER_LABEL)?;
    let name = object.name_any();
    let service = name.strip_suffix(member.as_str())?.strip_suffix('-')?;
    Some((subject.services.iter().find(|placed| placed.spec.name == service)?, member.clone()))
}

/// The user named it for some member: then it is the user's.
fn is_named(placed: &Placed, object: &DynamicObject) -> bool {
    placed.spec.backend.existing().values().any(|name| *name == object.name_any())
}

/// A member that is declared, though perhaps not registered now, or that has weight by what is recorded.
fn may_need(subject: &Subject, mode: Mode, member: &str) -> bool {
    let status = &subject.status;
    let recorded = status.desired.iter().map(|desired| &desired.split.weights).chain(&status.primary);
    let slot = mode == Mode::Service && [PRIMARY, CANARY].contains(&member);
    slot || subject.members.contains_key(member) || recorded.into_iter().any(|weights| weights.weight(member) > 0)
}

fn is_on_a_route(observed: &Observed, object: &DynamicObject) -> bool {
    observed.routes.values().any(|route| route::names(route, &object.name_any()))
}

/// All objects of the backend, in the order of its targets.
fn objects_of(hub: &Hub, subject: &Subject, placed: &Placed, member: &str, service: &Arc<DynamicObject>) -> Found {
    let slices = backend::targets(&subject.context(placed), member).into_iter().skip(1);
    let known = slices.map(|target| hub.objects.known(&target));
    std::iter::once(Some(service.clone())).chain(known).collect()
}
