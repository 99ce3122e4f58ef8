//! Skipper's `TrafficSegment(a, b)`: a part of [0, 1) for each member, cut exactly from whole weights.

use std::cmp::Ordering;

use crate::route::RouteError;
use crate::route::weights::Raw;

/// A half-open part of [0, 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::route) struct Segment {
    pub start: f64,
    pub end: f64,
}

const NAME: &str = "TrafficSegment(";

/// A boundary farther than this from a unit of the total was not cut from it. Doubles hold units of 1/10000 far closer.
const TOLERANCE: f64 = 1e-6;

impl Segment {
    /// All traffic.
    pub(crate) const WHOLE: Self = Self { start: 0.0, end: 1.0 };

    /// Adjacent segments of these weights, in this order. A neighbour's end and start are the same number.
    pub(crate) fn cut(weights: &[u32], total: u32) -> Vec<Self> {
        let share = |units: u32| f64::from(units) / f64::from(total.max(1));
        let mut units = 0;
        let cut = |weight: &u32| {
            let start = share(units);
            units += weight;
            Self { start, end: share(units) }
        };
        weights.iter().map(cut).collect()
    }

    /// The segment in a text of predicates, if there is exactly one and it is one.
    pub(crate) fn find(predicates: &str) -> Option<Self> {
        let (start, end) = span(predicates)?;
        let (from, to) = predicates[start + NAME.len()..end - 1].split_once(',')?;
        let segment = Self { start: from.trim().parse().ok()?, end: to.trim().parse().ok()? };
        (0.0 <= segment.start && segment.start <= segment.end && segment.end <= 1.0).then_some(segment)
    }

    /// The text of predicates with this segment in it; the others stay.
    pub(crate) fn put(self, predicates: &str) -> String {
        match span(predicates) {
            Some((start, end)) => format!("{}{self}{}", &predicates[..start], &predicates[end..]),
            None if predicates.trim().is_empty() => self.to_string(),
            None => format!("{predicates} && {self}"),
        }
    }

    /// Start and end in units of the total; `None` where a boundary lies between two units.
    pub(crate) fn units(self, total: u32) -> Option<(u32, u32)> {
        Some((unit(self.start, total)?, unit(self.end, total)?))
    }
}

impl std::fmt::Display for Segment {
    /// `{:?}` of a double is its shortest text that parses back to the same number.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{NAME}{:?}, {:?})", self.start, self.end)
    }
}

/// True if a text of predicates has any segment, readable or not.
pub(super) fn is_in(predicates: &str) -> bool {
    predicates.contains(NAME)
}

fn span(predicates: &str) -> Option<(usize, usize)> {
    let start = predicates.find(NAME)?;
    let end = start + predicates[start..].find(')')? + 1;
    (!is_in(&predicates[end..])).then_some((start, end))
}

fn unit(share: f64, total: u32) -> Option<u32> {
    let exact = share * f64::from(total);
    (0..=total).nth(nearest(exact)?).filter(|unit| (f64::from(*unit) - exact).abs() < TOLERANCE * f64::from(total))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // shares are checked to lie within [0, 1]
fn nearest(exact: f64) -> Option<usize> {
    (exact.is_finite() && exact >= 0.0).then(|| exact.round() as usize)
}

/// What each backend gets where segments cover [0, 1) once, in units of the total.
pub(super) fn weights(title: &str, mut placed: Vec<(String, Segment)>, total: u32) -> Result<Vec<Raw>, RouteError> {
    placed.sort_by(|(_, one), (_, other)| one.start.total_cmp(&other.start).then(one.end.total_cmp(&other.end)));
    let mut reached = 0;
    let mut weights = Vec::new();
    for (backend, segment) in placed {
        let Some((start, end)) = segment.units(total) else {
            return Err(RouteError::Unreadable(format!(
                "{title}: {segment} does not fit into weightTotal: {total}: say weightTotal: 1000 or 10000"
            )));
        };
        match start.cmp(&reached) {
            Ordering::Equal => {}
            Ordering::Greater => return Err(uncovered(title, reached, start, total)),
            Ordering::Less => {
                return Err(RouteError::Unreadable(format!(
                    "{title}: {segment} overlaps another one: make them adjacent"
                )));
            }
        }
        reached = end;
        weights.push((backend, u64::from(end - start)));
    }
    if reached < total { Err(uncovered(title, reached, total, total)) } else { Ok(weights) }
}

/// The error for a part of [0, 1) that no segment covers.
pub(super) fn uncovered(title: &str, start: u32, end: u32, total: u32) -> RouteError {
    RouteError::Uncovered(format!(
        "{title}: no TrafficSegment of a declared member covers {start} to {end} of {total}: declare the member that has it (say weight: 0 if it shall leave), or close the gap"
    ))
}
