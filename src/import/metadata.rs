//! What becomes of an object's metadata.

use std::collections::BTreeMap;

use kube::api::ObjectMeta;
use serde_json::Value;

use super::{
    foreign::Foreign,
    remarks::{Remarks, shown},
};

/// What `kubectl apply` leaves on an object.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Name, namespace and labels go on; what an API server adds does not.
pub(super) fn of_rollout(of: &Foreign) -> ObjectMeta {
    let (name, namespace) = (Some(of.name().to_owned()), of.namespace().map(str::to_owned));
    ObjectMeta { name, namespace, labels: labels(of), ..ObjectMeta::default() }
}

fn labels(of: &Foreign) -> Option<BTreeMap<String, String>> {
    let labels = of.document.value["metadata"]["labels"].as_object()?;
    let pair = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    Some(labels.iter().filter_map(pair).collect())
}

/// Annotations are for the tool and for what applied the object: they are named.
pub(super) fn annotations(of: &Foreign, remarks: &mut Remarks) {
    let annotations = of.document.value["metadata"]["annotations"].as_object();
    let keys = annotations.into_iter().flatten().map(|(key, _)| key).filter(|key| *key != APPLIED);
    let keys: Vec<String> = keys.map(|key| shown(key)).collect();
    if !keys.is_empty() {
        let (kind, keys) = (shown(of.kind()), keys.join(", "));
        remarks.lose(
            "metadata.annotations",
            format!("{keys} belong to the {kind}; copy those that the rollout should have"),
        );
    }
}
