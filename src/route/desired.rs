//! What a route must show besides its weights. What is desired of an object is kept on it for each rollout: what the
//! data plane reads is the provider's, and this says what to look for.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde::{Serialize, de::DeserializeOwned};

use crate::api::{AFFINITY_ANNOTATION, Affinity, STEERING_ANNOTATION, Steering};

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
    const ANNOTATION: &'static str = STEERING_ANNOTATION;
}

impl Stored for Affinity {
    const ANNOTATION: &'static str = AFFINITY_ANNOTATION;
}

/// What cannot be read was not written by cutover, and says nothing.
fn all<K: Stored>(object: &DynamicObject) -> BTreeMap<String, K> {
    let text = object.annotations().get(K::ANNOTATION);
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
