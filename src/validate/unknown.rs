//! Fields that a block does not have: misspelt, of another tool, or of another block.

use serde_json::Value;

use super::{
    foreign,
    problem::Problem,
    suggestion::{did_you_mean, nearest},
};
use crate::{text::sanitise, yaml::below};

/// What is said of a key that holds its value.
pub(super) const GLUED: &str = "has no space after its colon";

/// What is said of a field that no tool is known to have.
const UNKNOWN: &str = "unknown field";

/// A field that is known in one other place belongs there.
pub(super) fn elsewhere(root: &Value, path: &str, problem: &mut Problem) {
    let is_open = problem.found == UNKNOWN && !problem.allowed.starts_with("did you mean");
    let Some((_, key)) = problem.path.rsplit_once('.').filter(|_| is_open) else { return };
    let mut places = Vec::new();
    homes(root, key, path, &mut places);
    if let [place] = places.as_slice() {
        problem.allowed = format!("it belongs to {place}");
    }
}

/// The blocks that have a field of this name.
fn homes(schema: &Value, key: &str, path: &str, places: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if name == key {
            places.push(path.to_owned());
        }
        homes(field, key, &below(path, name), places);
    }
    if schema["items"].is_object() {
        homes(&schema["items"], key, &format!("{path}[]"), places);
    }
}

/// An unknown field of a block whose fields have these names.
pub(super) fn field<'n>(names: impl Iterator<Item = &'n str> + Clone, key: &str, path: &str) -> Problem {
    let place = below(path, &key.chars().take(64).collect::<String>());
    if let Some((name, value)) = key.split_once(':').filter(|(name, _)| names.clone().any(|known| known == *name)) {
        return Problem::error(place, GLUED, format!("write {name}: {}", sanitise(value)));
    }
    // A field that differs in its capitals alone is ours.
    let is_ours = nearest(key, names.clone()).is_some_and(|near| near.eq_ignore_ascii_case(key));
    match foreign::answer(path, key).filter(|_| !is_ours) {
        Some((found, remedy)) => Problem::error(place, found, remedy),
        None => Problem::error(place, UNKNOWN, did_you_mean(key, names)),
    }
}
