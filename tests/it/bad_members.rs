//! Mistakes in members and requests, and the words for them, written by hand.

use crate::bad_inputs::problems;

const MEMBER: &str = "\
apiVersion: cutover.dev/v1alpha1
kind: MemberCluster
metadata: {name: eu-3}
spec:
  kubeconfigSecretRef: {name: eu-3-kubeconfig, key: value}
  endpoints:
    - {host: eu-3.example.com, port: 443, tls: {serverName: eu-3.example.com}}
  prometheus:
    url: {address: https://prometheus.example.com, bearerTokenSecretRef: {name: token, key: token}}
  allowedNamespaces: {from: Names, names: [shop]}
";

/// The line of `MEMBER` that says who may use it.
const ALLOWED: &str = "  allowedNamespaces: {from: Names, names: [shop]}\n";

#[test]
fn members_that_cannot_be_reached_or_measured_are_refused() {
    assert_eq!(problems(MEMBER), Vec::<String>::new());
    for (from, to, expected) in [
        (
            "host: eu-3.example.com",
            "host: 10.0.0.1",
            "7: spec.endpoints[0].host: \"10.0.0.1\" is an address; give the DNS name of the member's gateway",
        ),
        (
            "host: eu-3.example.com",
            "host: localhost",
            "7: spec.endpoints[0].host: \"localhost\" leads into the hub cluster; give the DNS name of the member's gateway",
        ),
        (
            "host: eu-3.example.com",
            "host: shop.other.svc.cluster.local",
            "7: spec.endpoints[0].host: \"shop.other.svc.cluster.local\" leads into the hub cluster; give the DNS name of the member's gateway",
        ),
        (
            "host: eu-3.example.com",
            "host: 'https://eu-3.example.com'",
            "7: spec.endpoints[0].host: \"https://eu-3.example.com\" is not a DNS name; write lower-case letters, digits, \"-\" and dots, at least two labels, without a dot at the end",
        ),
        (
            "host: eu-3.example.com",
            "host: '{{ svc }}.example.com'",
            "7: spec.endpoints[0].host: variable \"svc\" is not known; known variables: {{ service }}, {{ namespace }}",
        ),
        (
            "  prometheus:\n",
            "    - {host: other.example.com, port: 80}\n  prometheus:\n",
            "8: spec.endpoints[1]: is the second one without a service, the default; spec.endpoints[0] is the first; keep one of them",
        ),
        (
            "name: eu-3-kubeconfig",
            "name: eu-3/kubeconfig",
            "5: spec.kubeconfigSecretRef.name: \"eu-3/kubeconfig\" is not allowed; write a name of lower-case letters, digits, \"-\" and \".\" of at most 253 characters",
        ),
        (
            "https://prometheus",
            "http://prometheus",
            "9: spec.prometheus.url.address: would send credentials in the clear; use https",
        ),
        (
            "https://prometheus",
            "https://me:secret@prometheus",
            "9: spec.prometheus.url.address: carries credentials; put them in a Secret and name it in basicAuthSecretRef",
        ),
        (
            "url: {address",
            "service: {namespace: a, name: b, port: 1}\n    url: {address",
            "8: spec.prometheus: service and url are both given; give exactly one of service, url",
        ),
        (
            "{name: eu-3}",
            "{name: EU.3}",
            "3: metadata.name: \"EU.3\" is not an allowed name; write lower-case letters, digits and \"-\", at most 61 characters",
        ),
        (
            "{name: eu-3}",
            "{name: eu-3, namespace: shop}",
            "3: metadata.namespace: a MemberCluster has no namespace; leave namespace out",
        ),
    ] {
        assert!(MEMBER.contains(from), "{from}");
        assert_eq!(problems(&MEMBER.replacen(from, to, 1)), [expected]);
    }
}

#[test]
fn who_may_use_a_member_is_said_in_full() {
    let choice = "the namespaces that may use this member: {from: All}, or {from: Names, names: [shop]}";
    for (allowed, expected) in [
        ("", format!("4: spec.allowedNamespaces: missing; give {choice}")),
        ("  allowedNamespaces: shop\n", format!("10: spec.allowedNamespaces: \"shop\" is not allowed; write {choice}")),
        ("  allowedNamespaces: {}\n", "10: spec.allowedNamespaces.from: missing; give one of All, Names".to_owned()),
        (
            "  allowedNamespaces: {names: [shop]}\n",
            "10: spec.allowedNamespaces.from: missing; give one of All, Names".to_owned(),
        ),
        (
            "  allowedNamespaces: {from: Names}\n",
            "10: spec.allowedNamespaces.names: is empty, so no rollout may use this member; name the namespaces, or \
             write from: All"
                .to_owned(),
        ),
        (
            "  allowedNamespaces: {from: All, names: [shop]}\n",
            "10: spec.allowedNamespaces.names: has no effect with from: All; write from: Names, or leave names out"
                .to_owned(),
        ),
    ] {
        assert!(MEMBER.contains(ALLOWED));
        assert_eq!(problems(&MEMBER.replace(ALLOWED, allowed)), [expected]);
    }
    assert_eq!(problems(&MEMBER.replace(ALLOWED, "  allowedNamespaces: {from: All}\n")), [""; 0]);
}

#[test]
fn a_namespace_label_is_one_that_prometheus_does_not_reserve() {
    let labelled = |label: &str| problems(&MEMBER.replace(ALLOWED, &format!("    namespaceLabel: {label}\n{ALLOWED}")));
    assert_eq!(labelled("namespace"), Vec::<String>::new());
    for label in ["__name__", "name-space"] {
        let expected = format!(
            "10: spec.prometheus.namespaceLabel: {label:?} is not allowed; write a text of at most 63 characters that \
             matches ^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$"
        );
        assert_eq!(labelled(label), [expected]);
    }
}

#[test]
fn a_measured_service_needs_the_members_kubeconfig() {
    let text = MEMBER.replace("  kubeconfigSecretRef: {name: eu-3-kubeconfig, key: value}\n", "");
    let text = text.replace(
        "url: {address: https://prometheus.example.com, bearerTokenSecretRef: {name: token, key: token}}",
        "service: {namespace: a, name: b, port: 1}",
    );
    assert_eq!(
        problems(&text),
        [
            "8: spec.prometheus.service: is reached through the member's API server, but there is no kubeconfigSecretRef; \
          give spec.kubeconfigSecretRef, or use spec.prometheus.url"
        ]
    );
}

#[test]
fn requests_name_a_step_with_promote_and_only_then() {
    let request = |verb: &str, step: &str| {
        problems(&format!(
            "apiVersion: cutover.dev/v1alpha1\nkind: RolloutRequest\nmetadata: {{generateName: shop-}}\n\
             spec:\n  rollout: {{name: shop, uid: u}}\n  verb: {verb}\n  run: 1\n  requestedBy: me\n{step}"
        ))
    };
    assert_eq!(request("Promote", "  step: 1\n"), Vec::<String>::new());
    assert_eq!(request("Promote", ""), ["4: spec.step: missing; give the number of the step that Promote approves"]);
    assert_eq!(request("Abort", "  step: 1\n"), ["9: spec.step: Abort does not refer to a step; leave step out"]);
    assert_eq!(
        request("Stop", ""),
        ["6: spec.verb: \"Stop\" is not allowed; write one of Abort, Rollback, Pause, Resume, Promote, Retry, Adopt"]
    );
}
