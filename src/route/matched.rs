//! Requests that go where they would not by weight: what was asked of an object, kept on it for each rollout. What the
//! data plane reads is the provider's; this says what to look for.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::core::DynamicObject;

use crate::api::status::PlannedStep;
use crate::api::{Distribution, MATCHED_ANNOTATION, Matched};

/// What a route shall show.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The weights.
    pub weights: &'a Distribution,
    /// The requests that go elsewhere.
    pub matched: Option<&'a Matched>,
}

impl<'a> From<&'a Distribution> for Wanted<'a> {
    fn from(weights: &'a Distribution) -> Self {
        Self { weights, matched: None }
    }
}

impl<'a> Wanted<'a> {
    /// What a route shall show at a step.
    #[must_use]
    pub fn of(step: &'a PlannedStep) -> Self {
        Self { weights: &step.weights, matched: step.matched.as_ref() }
    }

    /// Every member to which requests go, with its weight.
    pub(super) fn receiving(&self) -> Distribution {
        let tried = self.matched.iter().flat_map(|matched| members(matched));
        let mut receiving: Distribution = tried.map(|member| (member.to_owned(), 0)).collect();
        receiving.extend(super::weights::nonzero(self.weights));
        receiving
    }
}

/// The members that get requests that match.
pub(super) fn members(matched: &Matched) -> impl Iterator<Item = &str> {
    matched.weights.iter().filter(|(_, weight)| **weight > 0).map(|(member, _)| member.as_str())
}

/// What this rollout asked last.
pub(super) fn kept(object: &DynamicObject, uid: &str) -> Option<Matched> {
    all(object).remove(uid)
}

/// Keeps what this rollout asks now.
pub(super) fn keep(object: &mut DynamicObject, uid: &str, matched: Option<&Matched>) {
    let mut all = all(object);
    match matched {
        Some(matched) => all.insert(uid.to_owned(), matched.clone()),
        None => all.remove(uid),
    };
    if all.is_empty() {
        object.annotations_mut().remove(MATCHED_ANNOTATION);
    } else {
        let text = serde_json::to_string(&all).unwrap_or_default();
        object.annotations_mut().insert(MATCHED_ANNOTATION.to_owned(), text);
    }
}

/// What cannot be read was not written by cutover, and says nothing.
fn all(object: &DynamicObject) -> BTreeMap<String, Matched> {
    let text = object.annotations().get(MATCHED_ANNOTATION);
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
