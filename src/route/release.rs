//! The end: a route is given back.

use std::sync::Arc;

use kube::ResourceExt;
use kube::core::DynamicObject;

use super::desired::Stored;
use super::provider::Provider;
use super::render::writes;
use super::{RouteError, mark, original, provider};
use crate::api::{Affinity, DeletionPolicy, Route, SLOT_ANNOTATION, Steering};
use crate::object::Owner;
use crate::object::{Context, Write, owner};

/// Gives the route back. `Retain` leaves the weights; `Revert` puts adopted rules back and removes what the hub made.
/// Rules that another rollout wrote last stay as they are, and what another hub writes under this uid is left alone.
pub(crate) fn release(
    context: &Context<'_>,
    route: &Route,
    objects: &[Option<Arc<DynamicObject>>],
    policy: DeletionPolicy,
) -> Result<Vec<Write>, RouteError> {
    let provider = provider(route);
    let mut after = objects.to_vec();
    for (index, slot) in after.iter_mut().enumerate().filter(|(index, _)| !provider.only_reads(*index)) {
        let Some(before) = slot.take() else { continue };
        if !has_traces(context, &before) {
            *slot = Some(before);
            continue;
        }
        let rules = provider.claims(context, objects, index).unwrap_or_default();
        let is_claimed = mark::claim_conflict(&mark::entries(&before)?, context.uid, &rules).is_some();
        let object = before.as_ref().clone();
        let after = if is_claimed && Owner::of(&before, context) != Owner::This {
            Some(without_traces(context, object)?)
        } else {
            released(context, provider.as_ref(), object, policy)?
        };
        *slot = after.map(Arc::new);
    }
    Ok(writes(context, route, objects, after))
}

/// The object carries what only this rollout leaves, and no other hub writes it under the same uid. Whoever takes the
/// mark off leaves the rest.
#[must_use]
pub(super) fn has_traces(context: &Context<'_>, object: &DynamicObject) -> bool {
    let entries = mark::entries(object).unwrap_or_default();
    match entries.iter().find(|entry| entry.mark.rollout == context.uid) {
        Some(entry) => entry.mark.hub == context.hub,
        None => {
            Owner::of(object, context) == Owner::This
                || original::stored(object, context.uid).is_ok_and(|original| original.is_some())
                || Steering::stored(object, context.uid).is_some()
                || Affinity::stored(object, context.uid).is_some()
        }
    }
}

fn released(
    context: &Context<'_>,
    provider: &dyn Provider,
    mut object: DynamicObject,
    policy: DeletionPolicy,
) -> Result<Option<DynamicObject>, RouteError> {
    match policy {
        DeletionPolicy::Revert if Owner::of(&object, context) == Owner::This => return Ok(None),
        DeletionPolicy::Revert => {
            if let Some(original) = original::stored(&object, context.uid)? {
                provider.restore(context, &mut object, &original);
            }
        }
        DeletionPolicy::Retain => owner::release(&mut object),
    }
    without_traces(context, object).map(Some)
}

fn without_traces(context: &Context<'_>, mut object: DynamicObject) -> Result<DynamicObject, RouteError> {
    original::remove(&mut object, context.uid)?;
    Steering::store(&mut object, context.uid, None);
    Affinity::store(&mut object, context.uid, None);
    object.annotations_mut().remove(SLOT_ANNOTATION);
    mark::remove(&mut object, context.uid)?;
    Ok(object)
}
