//! What an adopted route held before the first write, kept on the object itself, for `deletionPolicy: Revert`.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::Value;

use super::RouteError;
use crate::api::ORIGINAL_ANNOTATION;
use crate::object::{describe, field_manager};

/// An object's annotations together may hold 256 KiB; this leaves room for everybody else's.
const MAX_LENGTH: usize = 64 * 1024;

type Originals = BTreeMap<String, Value>;

/// The original rules that this rollout stored.
pub(super) fn stored(object: &DynamicObject, uid: &str) -> Result<Option<Value>, RouteError> {
    Ok(all(object)?.remove(uid))
}

/// Stores the original rules, once: what is found later was written by this rollout.
pub(super) fn store(object: &mut DynamicObject, uid: &str, original: Value) -> Result<(), RouteError> {
    let mut originals = all(object)?;
    if originals.contains_key(uid) {
        return Ok(());
    }
    originals.insert(uid.to_owned(), original);
    write(object, &originals)
}

/// Removes what this rollout stored.
pub(super) fn remove(object: &mut DynamicObject, uid: &str) -> Result<(), RouteError> {
    let mut originals = all(object)?;
    match originals.remove(uid) {
        Some(_) => write(object, &originals),
        None => Ok(()),
    }
}

fn all(object: &DynamicObject) -> Result<Originals, RouteError> {
    let Some(text) = object.annotations().get(ORIGINAL_ANNOTATION) else { return Ok(Originals::new()) };
    let originals = if text.len() > MAX_LENGTH { None } else { serde_json::from_str(text).ok() };
    match originals {
        Some(originals) => Ok(originals),
        // Then it is no original, and keeps nobody from writing or from giving the route back.
        None if field_manager::setter(object, &["metadata", "annotations", ORIGINAL_ANNOTATION]).is_some() => {
            Ok(Originals::new())
        }
        None => Err(RouteError::Unreadable(format!(
            "annotation {ORIGINAL_ANNOTATION} of {} is not one that cutover wrote: remove it",
            describe(object)
        ))),
    }
}

fn write(object: &mut DynamicObject, originals: &Originals) -> Result<(), RouteError> {
    if originals.is_empty() {
        object.annotations_mut().remove(ORIGINAL_ANNOTATION);
        return Ok(());
    }
    let text = serde_json::to_string(originals).unwrap_or_default();
    if text.len() > MAX_LENGTH {
        return Err(RouteError::CannotCarry(format!(
            "{} holds too much to be kept for `Revert` ({} bytes of at most {MAX_LENGTH}): move its rules to an object of their own",
            describe(object),
            text.len()
        )));
    }
    object.annotations_mut().insert(ORIGINAL_ANNOTATION.to_owned(), text);
    Ok(())
}
