//! From live objects to what a rollout sees of its route.

use std::sync::Arc;

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::Value;

use super::check;
use super::desired::Stored;
use super::provider::{Objects, Provider};
use super::release::has_traces;
use super::{RouteError, accepted, mark, provider};
use crate::api::{Affinity, Route, Split, Steering};
use crate::object::{Context, entry_of, field_manager, service_of};
use crate::rollout::input::{Accepted, LiveRoute, Mark, RouteSeen};

/// What live objects show.
#[must_use]
pub(crate) fn read(context: &Context<'_>, route: &Route, objects: &[Option<Arc<DynamicObject>>]) -> RouteSeen {
    live(context, provider(route).as_ref(), objects).unwrap_or_else(|error| RouteSeen::Unusable(error.into()))
}

/// True if any of the objects still names this backend, in whatever place.
#[must_use]
pub(crate) fn names(objects: &[Option<Arc<DynamicObject>>], backend: &str) -> bool {
    fn within(value: &Value, namespace: &str, name: &str) -> bool {
        match value {
            Value::String(text) => {
                [Some(text.as_str()), service_of(text, namespace), entry_of(text, namespace)].contains(&Some(name))
            }
            Value::Array(items) => items.iter().any(|item| within(item, namespace, name)),
            Value::Object(fields) => fields.values().any(|field| within(field, namespace, name)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    let names = |object: &Arc<DynamicObject>| {
        let namespace = object.namespace().unwrap_or_default();
        object.data.get("spec").is_some_and(|spec| within(spec, &namespace, backend))
    };
    objects.iter().flatten().any(names)
}

fn live(context: &Context<'_>, provider: &dyn Provider, objects: Objects<'_>) -> Result<RouteSeen, RouteError> {
    let present: Vec<&DynamicObject> = objects.iter().filter_map(Option::as_deref).collect();
    if present.is_empty() && check::creates_all(context, provider, objects) {
        return Ok(RouteSeen::ToCreate);
    }
    check::present(context, provider, objects)?;
    check::is_staying(context, provider, objects)?;
    let marked = last_mark(context, provider, objects)?;
    let mark = marked.as_ref().map(|marked| marked.mark.clone());
    let written = || objects.iter().enumerate().filter(|(index, _)| !provider.only_reads(*index));
    let to_release = written().filter_map(|(_, object)| object.as_deref()).any(|object| has_traces(context, object));
    for (index, object) in written() {
        match object {
            Some(object) if provider.creates(context, index) => check::owner(context, object)?,
            Some(object) if mark.is_none() && !to_release => check::applier(provider, object)?,
            Some(_) | None => {}
        }
    }
    let (weights, uneven) = match provider.read(context, objects) {
        Err(RouteError::Uncovered(_)) if check::creates_all(context, provider, objects) => {
            return Ok(RouteSeen::ToCreate);
        }
        // What was written here was whole: it is an edit, and judged by what it comes nearest to.
        Err(RouteError::Uneven { nearly, .. }) if to_release => (nearly, true),
        weights => (weights?, false),
    };
    let accepted = present.iter().map(|object| provider.accepted(object)).fold(Accepted::Unsaid, accepted::combined);
    let steering = present.iter().find_map(|object| Steering::stored(object, context.uid));
    let steering = steering.filter(|steering| provider.applies_steering(context, objects, steering));
    let affinity = present.iter().find_map(|object| Affinity::stored(object, context.uid));
    let affinity = affinity.filter(|affinity| provider.applies_affinity(context, objects, affinity));
    let editor = field_manager::last(&present);
    let idle = provider.names_idle(context, objects);
    let split = Split { weights, steering, affinity };
    let marked_by = marked.and_then(|marked| marked.by);
    let live = LiveRoute { split, uneven, mark, marked_by, to_release, accepted, idle, editor, failed: None };
    Ok(RouteSeen::Live(Box::new(live)))
}

/// The mark of a route, and the field manager that wrote it where that was not cutover.
struct Marked {
    mark: Mark,
    by: Option<String>,
}

/// Of several objects the least recent mark counts: until the last one is written, the write is not done. Nor is it
/// while an object must move out of another's place.
fn last_mark(
    context: &Context<'_>,
    provider: &dyn Provider,
    objects: Objects<'_>,
) -> Result<Option<Marked>, RouteError> {
    let mut marks = Vec::new();
    for (index, object) in objects.iter().enumerate().filter(|(index, _)| !provider.only_reads(*index)) {
        let Some(object) = object else { continue };
        let rules = provider.claims(context, objects, index)?;
        let entries = mark::entries(object)?;
        let claimant = mark::claimant(&entries, context.uid, &rules);
        marks.push(claimant.map(|entry| Marked { mark: entry.mark.clone(), by: mark::writer(object) }));
    }
    let oldest = marks
        .into_iter()
        .min_by_key(|marked| marked.as_ref().map(|Marked { mark, .. }| (mark.rollout == context.uid, mark.sequence)))
        .flatten();
    let not_done =
        |Marked { mark, by }| Marked { mark: Mark { sequence: mark.sequence.saturating_sub(1), ..mark }, by };
    Ok(if provider.is_placed(context, objects) { oldest } else { oldest.map(not_done) })
}
