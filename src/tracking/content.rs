//! The fingerprint of a ConfigMap or Secret: all that stays of its contents. Pure.

use std::{collections::BTreeMap, fmt::Write};

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::references::Reference;
use crate::api::track::{COPY_OF_ANNOTATION, TRACK_ANNOTATION};

/// Secrets that belong to the cluster, and change by themselves.
const OF_THE_CLUSTER: [&str; 3] =
    ["kubernetes.io/service-account-token", "kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson"];

/// SHA-256 of its data, in hexadecimal digits; none where it is not to be tracked, as a copy that the hub made of another.
pub(super) fn fingerprint(object: &Value, reference: &Reference, salt: &str) -> Option<String> {
    let annotations = &object["metadata"]["annotations"];
    let opted_out = annotations[TRACK_ANNOTATION] == "false" || annotations[COPY_OF_ANNOTATION].is_string();
    let of_cluster = object["type"].as_str().is_some_and(|kind| OF_THE_CLUSTER.contains(&kind));
    (!opted_out && !of_cluster).then(|| content(object, reference, salt))
}

/// SHA-256 of its data. The salt and the name go into it, so that neither equal contents nor contents of another rollout can be
/// recognized.
pub(super) fn content(object: &Value, reference: &Reference, salt: &str) -> String {
    // An absent map is an empty one, and the order of keys says nothing.
    let part = |key: &str| object[key].as_object().into_iter().flatten().collect::<BTreeMap<_, _>>();
    let text = json!([salt, reference.to_string(), part("data"), part("binaryData")]).to_string();
    let bytes = digest(&SHA256, text.as_bytes());
    bytes.as_ref().iter().fold(String::new(), |mut text, byte| {
        // A String takes everything.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The hub made it as the copy of this one.
pub(super) fn is_copy_of(object: &Value, original: &Reference) -> bool {
    object["metadata"]["annotations"][COPY_OF_ANNOTATION] == original.name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracking::references::Kind;

    fn of(object: &Value) -> Option<String> {
        fingerprint(object, &Reference { kind: Kind::Secret, name: "shop".to_owned() }, "uid")
    }

    #[test]
    fn a_change_of_the_data_is_a_change_and_nothing_else_is() {
        let secret =
            json!({"type": "Opaque", "data": {"a": "MQ==", "b": "Mg=="}, "metadata": {"resourceVersion": "1"}});
        let same = json!({"data": {"b": "Mg==", "a": "MQ=="}, "binaryData": {}, "metadata": {"labels": {"x": "y"}}});
        assert_eq!(of(&secret), of(&same));
        for other in [
            json!({"data": {"a": "MQ=="}}),
            json!({"data": {"a": "MQ==", "b": "Mw=="}}),
            json!({"data": {"a": "MQ==", "b": "Mg=="}, "binaryData": {"c": "MQ=="}}),
        ] {
            assert_ne!(of(&secret), of(&other), "{other}");
        }
    }

    #[test]
    fn a_fingerprint_is_64_digits_that_show_nothing_of_the_contents() {
        let object = json!({"data": {"password": "hunter2"}});
        let text = of(&object).unwrap();
        assert!(text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
        let other = Reference { kind: Kind::Secret, name: "other".to_owned() };
        assert_ne!(fingerprint(&object, &other, "uid"), Some(text.clone()), "equal contents");
        assert_ne!(fingerprint(&object, &Reference { kind: Kind::Secret, name: "shop".to_owned() }, "x"), Some(text));
    }

    #[test]
    fn what_opts_out_and_what_belongs_to_the_cluster_is_left_out() {
        assert_eq!(of(&json!({"data": {"a": "1"}, "metadata": {"annotations": {TRACK_ANNOTATION: "false"}}})), None);
        assert!(of(&json!({"data": {"a": "1"}, "metadata": {"annotations": {TRACK_ANNOTATION: "true"}}})).is_some());
        assert_eq!(of(&json!({"data": {"a": "1"}, "metadata": {"annotations": {COPY_OF_ANNOTATION: "shop"}}})), None);
        for kind in OF_THE_CLUSTER {
            assert_eq!(of(&json!({"type": kind, "data": {"a": "1"}})), None, "{kind}");
        }
    }
}
