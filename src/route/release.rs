//! The end: a route is given back.

use kube::core::DynamicObject;

use super::desired::Stored;
use super::provider::Provider;
use super::render::writes;
use super::{RouteError, mark, original, provider};
use crate::api::{Affinity, DeletionPolicy, Route, Steering};
use crate::object::Owner;
use crate::object::{Context, Write, owner};

/// Gives the route back. `Retain` leaves the weights; `Revert` puts adopted rules back and removes what the hub made.
/// An object whose rules another hub or rollout wrote last is left alone.
pub(crate) fn release(
    context: &Context<'_>,
    route: &Route,
    objects: &[Option<DynamicObject>],
    policy: DeletionPolicy,
) -> Result<Vec<Write>, RouteError> {
    let provider = provider(route);
    let mut after = objects.to_vec();
    for (index, slot) in after.iter_mut().enumerate() {
        let Some(before) = slot.take() else { continue };
        let rules = provider.claims(context, objects, index).unwrap_or_default();
        let entries = mark::entries(&before)?;
        let ours = mark::claimant(&entries, context.uid, &rules)
            .is_some_and(|entry| entry.mark.rollout == context.uid && entry.mark.hub == context.hub);
        *slot = if ours { released(context, provider.as_ref(), before, policy)? } else { Some(before) };
    }
    Ok(writes(context, route, objects, after))
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
    original::remove(&mut object, context.uid)?;
    Steering::store(&mut object, context.uid, None);
    Affinity::store(&mut object, context.uid, None);
    mark::remove(&mut object, context.uid)?;
    Ok(Some(object))
}
