//! The mark that every write leaves on a route, which is also the claim on its rules.
//!
//! The annotation [`WRITE_ANNOTATION`] holds one entry per rollout, separated by spaces:
//! `<hub>/<rollout uid>/<run>/<sequence>/<rule>,<rule>`.

use kube::ResourceExt;
use kube::core::DynamicObject;

use super::RouteError;
use crate::api::WRITE_ANNOTATION;
use crate::object::{describe, field_manager};
use crate::rollout::input::Mark;

/// More than this is not the hub's work; an object's annotations together may hold 256 KiB.
const MAX_LENGTH: usize = 16 * 1024;
const MAX_ENTRIES: usize = 64;

/// One rollout's mark and the rules it claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Who wrote last.
    pub mark: Mark,
    /// The rules whose backends it writes.
    pub rules: Vec<String>,
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let &[hub, rollout, run, sequence, rules] = parts.as_slice() else { return None };
        if hub.is_empty() || rollout.is_empty() || rules.is_empty() {
            return None;
        }
        Some(Self {
            mark: Mark {
                hub: hub.to_owned(),
                rollout: rollout.to_owned(),
                run: run.parse().ok()?,
                sequence: sequence.parse().ok()?,
            },
            rules: rules.split(',').map(str::to_owned).collect(),
        })
    }

    fn names_any(&self, rules: &[String]) -> bool {
        self.rules.iter().any(|rule| rules.contains(rule))
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Mark { hub, rollout, run, sequence } = &self.mark;
        write!(f, "{hub}/{rollout}/{run}/{sequence}/{}", self.rules.join(","))
    }
}

/// All entries on an object. One that cannot be read refuses the whole, for to drop it would drop a claim; but whatever
/// somebody else wrote there claims nothing, and would otherwise keep a rollback from the route.
pub(super) fn entries(object: &DynamicObject) -> Result<Vec<Entry>, RouteError> {
    let Some(text) = object.annotations().get(WRITE_ANNOTATION) else { return Ok(Vec::new()) };
    let parsed = || text.split_ascii_whitespace().take(MAX_ENTRIES + 1).map(Entry::parse);
    let is_short = text.len() <= MAX_LENGTH;
    let entries: Option<Vec<Entry>> = if is_short { parsed().collect() } else { None };
    match entries.filter(|entries| entries.len() <= MAX_ENTRIES) {
        Some(entries) => Ok(entries),
        None if writer(object).is_some() => Ok(parsed().filter(|_| is_short).flatten().take(MAX_ENTRIES).collect()),
        None => Err(RouteError::Unreadable(format!(
            "annotation {WRITE_ANNOTATION} of {} is not one that cutover wrote: remove it",
            describe(object)
        ))),
    }
}

/// Field manager that wrote the marks of an object, if that was not cutover.
#[must_use]
pub(super) fn writer(object: &DynamicObject) -> Option<String> {
    field_manager::setter(object, &["metadata", "annotations", WRITE_ANNOTATION])
}

/// Who wrote these rules last: another rollout's claim on any of them, before our own.
#[must_use]
pub(super) fn claimant<'e>(entries: &'e [Entry], uid: &str, rules: &[String]) -> Option<&'e Entry> {
    claim_conflict(entries, uid, rules).or_else(|| entries.iter().find(|entry| entry.mark.rollout == uid))
}

/// The entry of another rollout that names one of these rules.
#[must_use]
pub(super) fn claim_conflict<'e>(entries: &'e [Entry], uid: &str, rules: &[String]) -> Option<&'e Entry> {
    entries.iter().find(|entry| entry.mark.rollout != uid && entry.names_any(rules))
}

/// Leaves this mark. Whoever asks for the write has judged older claims on the same rules, so they go.
pub(super) fn set(object: &mut DynamicObject, mark: &Mark, rules: &[String]) -> Result<(), RouteError> {
    let mut kept = entries(object)?;
    kept.retain(|entry| entry.mark.rollout != mark.rollout && !entry.names_any(rules));
    kept.push(Entry { mark: mark.clone(), rules: rules.to_vec() });
    write(object, &kept);
    Ok(())
}

/// Takes a rollout's mark off.
pub(super) fn remove(object: &mut DynamicObject, uid: &str) -> Result<(), RouteError> {
    let mut kept = entries(object)?;
    kept.retain(|entry| entry.mark.rollout != uid);
    write(object, &kept);
    Ok(())
}

fn write(object: &mut DynamicObject, entries: &[Entry]) {
    if entries.is_empty() {
        object.annotations_mut().remove(WRITE_ANNOTATION);
    } else {
        let text: Vec<String> = entries.iter().map(Entry::to_string).collect();
        object.annotations_mut().insert(WRITE_ANNOTATION.to_owned(), text.join(" "));
    }
}
