//! From what is wanted to the writes that bring a route there.

use std::sync::Arc;

use kube::core::DynamicObject;

use super::check;
use super::desired::Stored;
use super::provider::{Objects, Provider};
use super::{RouteError, accepted, mark, original, provider, targets};
use crate::api::{Affinity, Route, Split, Steering};
use crate::object::{Context, Write, owner};
use crate::rollout::input::{Accepted, Mark};

/// The writes that bring the route to these weights and leave the mark, in an order that never uncovers traffic.
/// Nothing where it is so already.
pub(crate) fn render(
    context: &Context<'_>,
    route: &Route,
    objects: &[Option<Arc<DynamicObject>>],
    wanted: &Split,
    mark: &Mark,
) -> Result<Vec<Write>, RouteError> {
    let provider = provider(route);
    check::present(context, provider.as_ref(), objects)?;
    check::supported(provider.as_ref(), wanted)?;
    let mut after = provider.set(context, objects, wanted)?;
    let written = after.iter_mut().enumerate().filter(|(index, _)| !provider.only_reads(*index));
    for object in written.filter_map(|(_, object)| object.as_mut()).map(Arc::make_mut) {
        Steering::store(object, context.uid, wanted.steering.as_ref());
        Affinity::store(object, context.uid, wanted.affinity.as_ref());
    }
    sign(context, provider.as_ref(), objects, &mut after, mark)?;
    check::reads_back(context, provider.as_ref(), &after, &wanted.weights)?;
    Ok(writes(context, route, objects, after))
}

/// What must be done before members that have no weight yet get one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// Nothing: the data plane knows them all.
    Done,
    /// It has not accepted the route that names them yet.
    Pending,
    /// These writes name them, at weight 0.
    Missing(Vec<Write>),
}

/// A data plane may learn of a route's new backend later than of the route, and refuse requests until then. So a
/// backend is named at weight 0 first, and that must be accepted, where the kind can name one without weight.
pub(crate) fn entry(
    context: &Context<'_>,
    route: &Route,
    objects: &[Option<Arc<DynamicObject>>],
    wanted: &Split,
    mark: &Mark,
) -> Result<Entry, RouteError> {
    let provider = provider(route);
    if objects.iter().all(Option::is_none) {
        return Ok(Entry::Done);
    }
    let shown = match provider.read(context, objects) {
        Err(RouteError::Uneven { nearly, .. }) => nearly,
        shown => shown?,
    };
    let named_member = provider.named_member(context, objects);
    let has = |member: &str| shown.weight(member) > 0 && named_member != Some(member);
    let entering: Vec<String> = wanted.reached().members().filter(|member| !has(member)).map(str::to_owned).collect();
    let mut after = provider.add_at_zero(context, objects, &entering)?;
    if after != objects {
        // The weights are those of before, so the mark is as well.
        let mark = Mark { sequence: mark.sequence.saturating_sub(1), ..mark.clone() };
        sign(context, provider.as_ref(), objects, &mut after, &mark)?;
        return Ok(Entry::Missing(writes(context, route, objects, after)));
    }
    let accepted =
        objects.iter().flatten().map(|object| provider.accepted(object)).fold(Accepted::Unsaid, accepted::combined);
    Ok(if !entering.is_empty() && accepted == Accepted::Pending { Entry::Pending } else { Entry::Done })
}

/// Leaves the mark, and what belongs to a first write: the owner, or what an adopted route held.
fn sign(
    context: &Context<'_>,
    provider: &dyn Provider,
    objects: Objects<'_>,
    after: &mut [Option<Arc<DynamicObject>>],
    mark: &Mark,
) -> Result<(), RouteError> {
    for (index, object) in after.iter_mut().enumerate().filter(|(index, _)| !provider.only_reads(*index)) {
        let Some(object) = object.as_mut().map(Arc::make_mut) else { continue };
        let rules = provider.claims(context, objects, index)?;
        match objects.get(index).and_then(Option::as_deref) {
            Some(before) if provider.creates(context, index) => {
                check::owner(context, before)?;
                owner::set(object, context);
            }
            Some(before) if mark::entries(before)?.iter().any(|entry| entry.mark.rollout == context.uid) => {}
            Some(before) => original::store(object, context.uid, provider.original_rules(context, before)?)?,
            None => owner::set(object, context),
        }
        mark::set(object, mark, &rules)?;
    }
    Ok(())
}

pub(super) fn writes(
    context: &Context<'_>,
    route: &Route,
    before: Objects<'_>,
    mut after: Vec<Option<Arc<DynamicObject>>>,
) -> Vec<Write> {
    let targets = targets(context, route);
    let order = provider(route).order(context, before, &after);
    let write = |index: usize| {
        let after = after.get_mut(index)?.take().map(Arc::unwrap_or_clone);
        Write::between(targets.get(index)?.clone(), before.get(index)?.as_deref(), after)
    };
    order.into_iter().filter_map(write).collect()
}
