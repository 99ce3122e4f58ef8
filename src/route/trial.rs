//! Requests that reach canaries whatever the weights: what was asked of an object, kept on it for each rollout. What the
//! data plane reads is the provider's; this says what to look for.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::core::DynamicObject;

use crate::api::status::PlannedStep;
use crate::api::{Distribution, Matched, TRIAL_ANNOTATION, Trial};

/// What a route shall show.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The weights.
    pub weights: &'a Distribution,
    /// The requests that reach canaries beside them.
    pub trial: Option<&'a Trial>,
}

impl<'a> From<&'a Distribution> for Wanted<'a> {
    fn from(weights: &'a Distribution) -> Self {
        Self { weights, trial: None }
    }
}

impl<'a> Wanted<'a> {
    /// What a route shall show at a step.
    #[must_use]
    pub fn of(step: &'a PlannedStep) -> Self {
        Self { weights: &step.weights, trial: step.trial.as_ref() }
    }

    /// The requests that are chosen, where some are.
    pub(super) fn matched(&self) -> Option<&'a Matched> {
        self.trial.and_then(Trial::matched)
    }

    /// Every member to which requests go, with its weight.
    pub(super) fn receiving(&self) -> Distribution {
        let tried = self.trial.into_iter().flat_map(Trial::members);
        let mut receiving: Distribution = tried.map(|member| (member.to_owned(), 0)).collect();
        receiving.extend(super::weights::nonzero(self.weights));
        receiving
    }
}

/// What this rollout asked last.
pub(super) fn kept(object: &DynamicObject, uid: &str) -> Option<Trial> {
    all(object).remove(uid)
}

/// Keeps what this rollout asks now.
pub(super) fn keep(object: &mut DynamicObject, uid: &str, trial: Option<&Trial>) {
    let mut all = all(object);
    match trial {
        Some(trial) => all.insert(uid.to_owned(), trial.clone()),
        None => all.remove(uid),
    };
    if all.is_empty() {
        object.annotations_mut().remove(TRIAL_ANNOTATION);
    } else {
        let text = serde_json::to_string(&all).unwrap_or_default();
        object.annotations_mut().insert(TRIAL_ANNOTATION.to_owned(), text);
    }
}

/// What cannot be read was not written by cutover, and says nothing.
fn all(object: &DynamicObject) -> BTreeMap<String, Trial> {
    let text = object.annotations().get(TRIAL_ANNOTATION);
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
