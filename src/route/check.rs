//! What must be true of live objects before they are used, and of weights before they are written.

use kube::core::DynamicObject;

use super::RouteError;
use super::provider::{Objects, Provider};
use crate::api::{Distribution, Split};
use crate::object::Owner;
use crate::object::{Context, describe, field_manager};

pub(super) fn present(context: &Context<'_>, provider: &dyn Provider, objects: Objects<'_>) -> Result<(), RouteError> {
    let is_there = |index: usize| !provider.creates(context, index) && objects.get(index).is_some_and(Option::is_some);
    if creates_all(context, provider, objects) || (0..objects.len()).any(is_there) {
        return Ok(());
    }
    let (kind, namespace) = (provider.resource().kind, context.namespace);
    let names: Vec<String> = provider
        .names(context)
        .into_iter()
        .enumerate()
        .filter(|(index, _)| !provider.creates(context, *index))
        .map(|(_, name)| name)
        .collect();
    Err(RouteError::NotFound(format!("{kind} {} in namespace {namespace}", names.join(", "))))
}

/// Nothing that was adopted is being deleted, nor everything that was made. One object of several may be: the hub itself
/// deletes those that carry nothing any more.
pub(super) fn is_staying(
    context: &Context<'_>,
    provider: &dyn Provider,
    objects: Objects<'_>,
) -> Result<(), RouteError> {
    let is_leaving = |object: &DynamicObject| object.metadata.deletion_timestamp.is_some();
    let present = || objects.iter().enumerate().filter_map(|(index, object)| Some((index, object.as_ref()?)));
    let adopted = present().find(|(index, object)| !provider.creates(context, *index) && is_leaving(object));
    let made = present().next().filter(|_| present().all(|(_, object)| is_leaving(object)));
    match adopted.or(made) {
        Some((_, object)) => Err(RouteError::Terminating(describe(object))),
        None => Ok(()),
    }
}

pub(super) fn creates_all(context: &Context<'_>, provider: &dyn Provider, objects: Objects<'_>) -> bool {
    (0..objects.len()).all(|index| provider.creates(context, index))
}

pub(super) fn owner(context: &Context<'_>, object: &DynamicObject) -> Result<(), RouteError> {
    let owner = match Owner::of(object, context) {
        Owner::This | Owner::Released => return Ok(()),
        Owner::Other(uid) => format!("belongs to the rollout with uid {uid}"),
        Owner::Foreign => "exists and was not made by cutover".to_owned(),
    };
    Err(RouteError::Conflict { object: describe(object), owner })
}

pub(super) fn applier(provider: &dyn Provider, object: &DynamicObject) -> Result<(), RouteError> {
    for path in provider.fields() {
        if let Some(manager) = field_manager::applier(object, path) {
            return Err(RouteError::ManagedByOther { object: describe(object), field: path.join("."), manager });
        }
    }
    Ok(())
}

/// The kind can hold this at all.
pub(super) fn supported(provider: &dyn Provider, wanted: &Split) -> Result<(), RouteError> {
    match provider.capability().refusal(wanted) {
        Some((found, remedy)) => Err(RouteError::CannotCarry(format!("{found}: {remedy}"))),
        None => Ok(()),
    }
}

/// What is about to be written reads back as what was desired.
pub(super) fn reads_back(
    context: &Context<'_>,
    provider: &dyn Provider,
    after: Objects<'_>,
    desired: &Distribution,
) -> Result<(), RouteError> {
    let shown = provider.read(context, after)?;
    if shown.same_as(desired) {
        return Ok(());
    }
    let (kind, names) = (provider.resource().kind, provider.names(context).join(", "));
    Err(RouteError::CannotCarry(format!(
        "{kind} {names} would show {shown} instead of {desired}: declare every member, and let the weights sum to weightTotal"
    )))
}
