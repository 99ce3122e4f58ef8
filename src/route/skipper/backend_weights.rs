//! The annotation `zalando.org/backend-weights`, read as Skipper reads it.

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Map, Value};

use super::matched::WEIGHTS;
use crate::object::describe;
use crate::route::RouteError;
use crate::route::ingress::service_of;
use crate::route::weights::Raw;

/// Powers of ten by which weights with a fraction become whole ones of up to a million.
const SCALES: [f64; 7] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];

/// The weights by Service. Skipper takes any numbers and divides by their sum.
pub(super) fn annotated(object: &DynamicObject) -> Result<Map<String, Value>, RouteError> {
    let Some(text) = object.annotations().get(WEIGHTS) else { return Ok(Map::new()) };
    let refuse = || {
        RouteError::Unreadable(format!(
            "{}: annotation {WEIGHTS} is not a JSON object of weights of 0 or more: correct it",
            describe(object)
        ))
    };
    let map: Map<String, Value> = serde_json::from_str(text).map_err(|_| refuse())?;
    map.into_iter().map(|(name, weight)| Ok((name, number(&weight).ok_or_else(refuse)?))).collect()
}

/// A whole number without a fraction, whatever way it is written.
fn number(weight: &Value) -> Option<Value> {
    let float = weight.as_f64().filter(|float| float.is_finite() && *float >= 0.0)?;
    if weight.is_u64() || float.fract() > 0.0 {
        return Some(weight.clone());
    }
    Some(format!("{float}").parse().unwrap_or(u64::MAX).into())
}

/// Writes the weights; none where there are none.
pub(super) fn put_annotated(object: &mut DynamicObject, annotated: &Map<String, Value>) {
    if annotated.is_empty() {
        object.annotations_mut().remove(WEIGHTS);
    } else {
        object.annotations_mut().insert(WEIGHTS.to_owned(), Value::Object(annotated.clone()).to_string());
    }
}

/// As Skipper counts: a Service that the annotation does not name gets nothing beside one with a weight; where none has a
/// weight, all have equal shares.
pub(super) fn raw(group: &[Value], annotated: &Map<String, Value>) -> Vec<Raw> {
    let weight = |path: &Value| annotated.get(service_of(path)).and_then(Value::as_f64).unwrap_or_default();
    let mut weights: Vec<f64> = group.iter().map(weight).collect();
    if weights.iter().all(|weight| *weight <= 0.0) {
        weights.fill(1.0);
    }
    let digits = digits(&weights);
    let named = group.iter().map(|path| service_of(path).to_owned());
    named.zip(weights).map(|(name, weight)| (name, units(weight, digits))).collect()
}

/// How many digits after the point count, for all weights of a path.
fn digits(weights: &[f64]) -> usize {
    if weights.iter().all(|weight| weight.fract() <= 0.0) {
        return 0;
    }
    let most = weights.iter().copied().fold(0.0, f64::max);
    (0..SCALES.len()).rev().find(|digits| most * SCALES[*digits] <= 1e6).unwrap_or(0)
}

/// Whole units of the last digit that counts; what is too large stays so.
fn units(weight: f64, digits: usize) -> u64 {
    format!("{weight:.digits$}").replace('.', "").parse().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What three backends get by an annotation.
    fn read(weights: &Value) -> Vec<u64> {
        let path = |name: &str| json!({"backend": {"service": {"name": name}}});
        let mut object = DynamicObject::new("public", &crate::route::ingress::ingress());
        object.annotations_mut().insert(WEIGHTS.to_owned(), weights.to_string());
        let annotated = annotated(&object).unwrap();
        raw(&["a", "b", "c"].map(path), &annotated).into_iter().map(|(_, weight)| weight).collect()
    }

    #[test]
    fn weights_are_read_as_skipper_reads_them() {
        for (annotated, expected) in [
            (json!({"a": 80, "b": 20}), [80, 20, 0]),
            (json!({}), [1, 1, 1]),
            (json!({"a": 0, "other": 5}), [1, 1, 1]),
            (json!({"a": 0, "b": 0, "c": 0}), [1, 1, 1]),
            (json!({"a": 80.0, "b": 2e1}), [80, 20, 0]),
            (json!({"a": 0.8, "b": 0.2}), [800_000, 200_000, 0]),
            (json!({"a": 12.5, "b": 12, "c": 75.5}), [125_000, 120_000, 755_000]),
            (json!({"a": 1, "b": 0.5}), [1_000_000, 500_000, 0]),
        ] {
            assert_eq!(read(&annotated), expected, "{annotated}");
        }
        assert!(read(&json!({"a": 1e300, "b": 1}))[0] > 1_000_000, "which is refused");
    }
}
