//! What a route shall show beside its weights. What was asked of an object is kept on it for each rollout: what the data plane
//! reads is the provider's, and this says what to look for.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde::{Serialize, de::DeserializeOwned};

use crate::api::status::PlannedStep;
use crate::api::{AFFINITY_ANNOTATION, Affinity, Distribution, Matched, Steering, TRIAL_ANNOTATION};

/// What a route shall show.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The weights.
    pub weights: &'a Distribution,
    /// The requests that reach canaries beside them.
    pub steering: Option<&'a Steering>,
    /// Where users are kept; its weights are the weights.
    pub affinity: Option<&'a Affinity>,
}

impl<'a> From<&'a Distribution> for Wanted<'a> {
    fn from(weights: &'a Distribution) -> Self {
        Self { weights, steering: None, affinity: None }
    }
}

impl<'a> Wanted<'a> {
    /// What a route shall show at a step, wherever users are kept.
    #[must_use]
    pub(crate) fn of(step: &'a PlannedStep) -> Self {
        Self { steering: step.steering.as_ref(), ..Self::from(&step.weights) }
    }

    /// The requests that are chosen, where some are.
    pub(super) fn matched(&self) -> Option<&'a Matched> {
        self.steering.and_then(Steering::matched)
    }

    /// Every member to which requests go, with its weight.
    pub(super) fn receiving(&self) -> Distribution {
        let tried = self.steering.into_iter().flat_map(Steering::members);
        let mut receiving: Distribution = tried.map(|member| (member.to_owned(), 0)).collect();
        receiving.extend(super::weights::nonzero(self.weights));
        receiving
    }
}

/// What is stored on objects, in an annotation of its own.
pub(super) trait Stored: Clone + Serialize + DeserializeOwned {
    const ANNOTATION: &'static str;

    /// What this rollout stored last.
    fn stored(object: &DynamicObject, uid: &str) -> Option<Self> {
        all(object).remove(uid)
    }

    /// Stores what this rollout desires now.
    fn store(object: &mut DynamicObject, uid: &str, desired: Option<&Self>) {
        let mut all = all(object);
        match desired {
            Some(desired) => all.insert(uid.to_owned(), desired.clone()),
            None => all.remove(uid),
        };
        if all.is_empty() {
            object.annotations_mut().remove(Self::ANNOTATION);
        } else {
            let text = serde_json::to_string(&all).unwrap_or_default();
            object.annotations_mut().insert(Self::ANNOTATION.to_owned(), text);
        }
    }
}

impl Stored for Steering {
    const ANNOTATION: &'static str = TRIAL_ANNOTATION;
}

impl Stored for Affinity {
    const ANNOTATION: &'static str = AFFINITY_ANNOTATION;
}

/// What cannot be read was not written by cutover, and says nothing.
fn all<K: Stored>(object: &DynamicObject) -> BTreeMap<String, K> {
    let text = object.annotations().get(K::ANNOTATION);
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
