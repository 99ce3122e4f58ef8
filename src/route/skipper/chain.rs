//! The members of Ingresses that each have a `TrafficSegment`, in one order for good.
//!
//! Several objects cannot change at once, so the order of writes must leave no part of [0, 1) uncovered. The members
//! stand in one order for good, kept in each object's mark, and each boundary between two neighbours moves one way:
//! the one that grows over it is written before the one that shrinks. The pairs are a chain, so such an order always
//! exists, also from a state in which only some of the objects were written.

use kube::ResourceExt;
use kube::core::DynamicObject;

use super::matched::PREDICATE;
use super::segments::{self, Segment};
use crate::object::{Context, describe};
use crate::route::provider::Objects;
use crate::route::{RouteError, mark};

/// Places that a mark may name: the 64 members of a rollout, and those that left it.
const MAX_PLACES: usize = 1024;

/// Indices of the members in the order of their segments.
pub(super) fn order(context: &Context<'_>, objects: Objects<'_>) -> Vec<usize> {
    places(context, objects).into_iter().flatten().collect()
}

/// The order in which the members' Ingresses are brought from `before` to `after`.
pub(super) fn writes(context: &Context<'_>, before: Objects<'_>, after: Objects<'_>) -> Vec<usize> {
    let order = order(context, before);
    let (before, after) = (chain(&order, before), chain(&order, after));
    let mut writes = Vec::new();
    let mut held_back = Vec::new();
    for (place, index) in order.into_iter().enumerate() {
        held_back.push(index);
        let next_grows_over =
            before.get(place + 1).zip(after.get(place)).is_some_and(|(next, this)| this.end < next.start);
        if !next_grows_over {
            writes.extend(held_back.drain(..).rev());
        }
    }
    writes.extend(held_back.into_iter().rev());
    writes
}

/// The member in each place: as the marks say, and the others by where they stand now, in the places that are free. A
/// place never changes once it is in a mark, so that half a write tells the same order as the whole.
pub(super) fn places(context: &Context<'_>, objects: Objects<'_>) -> Vec<Option<usize>> {
    let mut places: Vec<Option<usize>> = vec![None; MAX_PLACES];
    let mut unplaced = Vec::new();
    for index in 0..context.endpoints.len() {
        let object = objects.get(index).and_then(Option::as_ref);
        match object.and_then(|object| place(context, object)).and_then(|place| places.get_mut(place)) {
            Some(free @ None) => *free = Some(index),
            Some(Some(_)) | None => unplaced.push((object.and_then(|object| segment(object).ok()), index)),
        }
    }
    let key = |segment: Option<Segment>| segment.map_or((1.0, 1.0), |segment| (segment.start, segment.end));
    unplaced.sort_by(|(one, _), (other, _)| {
        let (one, other) = (key(*one), key(*other));
        one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    let free = places.iter_mut().filter(|place| place.is_none());
    free.zip(unplaced).for_each(|(free, (_, index))| *free = Some(index));
    places
}

pub(super) fn place(context: &Context<'_>, object: &DynamicObject) -> Option<usize> {
    let entries = mark::entries(object).ok()?;
    let entry = entries.iter().find(|entry| entry.mark.rollout == context.uid)?;
    entry.rules.iter().find_map(|rule| rule.strip_prefix('#'))?.parse().ok()
}

/// Segments in order; one that is absent is empty where its predecessor ends.
fn chain(order: &[usize], objects: Objects<'_>) -> Vec<Segment> {
    let mut reached = 0.0;
    let segment = |index: &usize| {
        let segment = objects.get(*index).and_then(Option::as_ref).and_then(|object| segment(object).ok());
        let segment = segment.unwrap_or(Segment { start: reached, end: reached });
        reached = segment.end.max(reached);
        segment
    };
    order.iter().map(segment).collect()
}

/// Between two writes of one change segments overlap; what lies under two of them counts once, for the first.
pub(super) fn without_overlaps(mut placed: Vec<(String, Segment)>) -> Vec<(String, Segment)> {
    placed.sort_by(|(_, one), (_, other)| one.start.total_cmp(&other.start));
    let mut reached: f64 = 0.0;
    let cut = |(backend, segment): (String, Segment)| {
        let start = segment.start.max(reached);
        reached = reached.max(segment.end);
        (backend, Segment { start, end: reached.max(start) })
    };
    placed.into_iter().map(cut).collect()
}

pub(super) fn segment(object: &DynamicObject) -> Result<Segment, RouteError> {
    match object.annotations().get(PREDICATE) {
        Some(predicates) if segments::is_in(predicates) => Segment::find(predicates).ok_or_else(|| {
            RouteError::Unreadable(format!(
                "{}: annotation {PREDICATE} has no single segment of [0, 1]: correct it",
                describe(object)
            ))
        }),
        Some(_) | None => Ok(Segment::WHOLE),
    }
}
