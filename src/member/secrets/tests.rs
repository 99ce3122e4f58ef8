//! Secrets that a member names, and the words for those that it may not have, written by hand.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::*;

const NAMESPACE: &str = "cutover-system";

fn secret(metadata: &Value) -> Secret {
    let data = [("k".to_owned(), ByteString(b"s3cret".to_vec()))].into();
    Secret { data: Some(data), metadata: serde_json::from_value(metadata.clone()).unwrap(), ..Secret::default() }
}

fn spec(prometheus: &Value) -> MemberClusterSpec {
    let reference = json!({"name": "s", "key": "k"});
    let endpoint = json!({"host": "eu-3.example.com", "port": 443,
                          "tls": {"serverName": "eu-3.example.com", "caSecretRef": reference}});
    let spec = json!({"kubeconfigSecretRef": reference, "endpoints": [endpoint], "prometheus": {"url": prometheus},
                      "allowedNamespaces": {"from": "All"}});
    serde_json::from_value(spec).unwrap()
}

fn bearer(address: &str, name: &str) -> MemberClusterSpec {
    spec(&json!({"address": address, "bearerTokenSecretRef": {"name": name, "key": "k"}}))
}

/// What a member has of Secret `s`, with this metadata, for this purpose.
fn got(spec: &MemberClusterSpec, metadata: Option<&Value>, name: &str, purpose: Purpose) -> Result<Vec<u8>, Problem> {
    let secret = metadata.map(secret);
    let secrets = Secrets::pick(spec, NAMESPACE, |found| secret.as_ref().filter(|_| found == "s"));
    let reference = SecretKeyRef { name: name.to_owned(), key: "k".to_owned() };
    secrets.get(&reference, purpose).map(<[u8]>::to_vec)
}

fn refused(reason: Reason, message: &str) -> Result<Vec<u8>, Problem> {
    Err(Problem::new(reason, message))
}

fn labelled(purpose: &str) -> Value {
    json!({"labels": {"cutover.dev/purpose": purpose}})
}

#[test]
fn a_secret_is_used_for_its_own_purpose_alone() {
    let spec = bearer("https://p.example.com", "s");
    for (label, purpose) in
        [("kubeconfig", Purpose::Kubeconfig), ("prometheus", Purpose::Prometheus), ("ca", Purpose::Ca)]
    {
        let mut metadata = labelled(label);
        metadata["annotations"] = json!({"cutover.dev/hosts": "p.example.com"});
        for used in Purpose::ALL {
            let found = got(&spec, Some(&metadata), "s", used);
            let reason = found.as_ref().err().map(|problem| problem.reason);
            assert_eq!(reason, (used != purpose).then_some(Reason::SecretNotAllowed), "{label} as {used}: {found:?}");
        }
    }
}

#[test]
fn a_kubeconfig_is_sent_to_no_prometheus() {
    let mut kubeconfig = labelled("kubeconfig");
    kubeconfig["annotations"] = json!({"cutover.dev/hosts": "p.evil.com"});
    for field in ["bearerTokenSecretRef", "basicAuthSecretRef"] {
        let spec = spec(&json!({"address": "https://p.evil.com", field: {"name": "s", "key": "k"}}));
        let expected = format!(
            "spec.prometheus.url.{field}: Secret s has the label cutover.dev/purpose: kubeconfig, so it is not used as \
             prometheus; name another Secret, or if this one is meant, run: kubectl label secret s -n cutover-system \
             --overwrite cutover.dev/purpose=prometheus"
        );
        let found = got(&spec, Some(&kubeconfig), "s", Purpose::Prometheus);
        assert_eq!(found, refused(Reason::SecretNotAllowed, &expected));
    }
}

#[test]
fn a_secret_without_a_purpose_looks_absent_and_the_message_says_both() {
    let expected = "spec.kubeconfigSecretRef: Secret s does not exist in namespace cutover-system, or lacks the label \
                    cutover.dev/purpose: kubeconfig; create it, or run: kubectl label secret s -n cutover-system \
                    cutover.dev/purpose=kubeconfig";
    let spec = bearer("https://p.example.com", "s");
    for metadata in [None, Some(json!({})), Some(json!({"labels": {"team": "web"}}))] {
        let found = got(&spec, metadata.as_ref(), "s", Purpose::Kubeconfig);
        assert_eq!(found, refused(Reason::SecretNotFound, expected));
    }
}

#[test]
fn credentials_are_sent_to_no_host_that_their_secret_does_not_list() {
    let to = |address: &str, annotation: Option<&str>| {
        let mut metadata = labelled("prometheus");
        metadata["annotations"] = annotation.map_or(json!({}), |hosts| json!({"cutover.dev/hosts": hosts}));
        got(&bearer(address, "s"), Some(&metadata), "s", Purpose::Prometheus)
    };
    assert_eq!(to("https://p.example.com:9090/x", Some("q.example.com,p.example.com:9090")), Ok(b"s3cret".to_vec()));
    let unlisted = "spec.prometheus.url.bearerTokenSecretRef: Secret s may not be sent to p.evil.com: it has no annotation \
                    cutover.dev/hosts; correct spec.prometheus.url.address, or if that host may have it, annotate it with \
                    cutover.dev/hosts: p.evil.com";
    assert_eq!(to("https://p.evil.com", None), refused(Reason::SecretNotAllowed, unlisted));
    let elsewhere = "spec.prometheus.url.bearerTokenSecretRef: Secret s may not be sent to p.example.com:8443: it has the \
                     annotation cutover.dev/hosts: p.example.com; correct spec.prometheus.url.address, or if that host may \
                     have it, add p.example.com:8443, after a comma";
    let found = to("https://p.example.com:8443", Some("p.example.com"));
    assert_eq!(found, refused(Reason::SecretNotAllowed, elsewhere));
}

#[test]
fn a_key_or_a_name_that_cannot_be_is_reported() {
    let mut spec = bearer("https://p.example.com", "s");
    spec.kubeconfig_secret_ref = Some(SecretKeyRef { name: "s".to_owned(), key: "value".to_owned() });
    let kubeconfig = secret(&labelled("kubeconfig"));
    let secrets = Secrets::pick(&spec, NAMESPACE, |_| Some(&kubeconfig));
    let message = "spec.kubeconfigSecretRef: Secret s has no key value; correct the key";
    let found = secrets.get(spec.kubeconfig_secret_ref.as_ref().unwrap(), Purpose::Kubeconfig);
    assert_eq!(found, Err(Problem::new(Reason::SecretNotFound, message)));

    let name = "s; rm -rf $HOME";
    let message =
        format!("spec.prometheus.url.bearerTokenSecretRef.name: {name:?} cannot be the name of a Secret; correct it");
    let found = got(&bearer("https://p.example.com", name), None, name, Purpose::Prometheus);
    assert_eq!(found, refused(Reason::SecretNotFound, &message), "it stands in no command");
}
