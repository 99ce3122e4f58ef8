//! A member, looked at step by step.

use jiff::Timestamp;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use serde_json::json;

use super::{api_server, healthy, kubeconfig, member, spec};
use crate::{
    http::fixtures::{loopback, response},
    member::inspect::{Seen, Step},
};

fn right(resource: &str) -> ResourceAttributes {
    ResourceAttributes { resource: Some(resource.to_owned()), verb: Some("get".to_owned()), ..Default::default() }
}

fn shown(seen: &[Seen]) -> Vec<(&Step, bool)> {
    seen.iter().map(|seen| (&seen.step, seen.result.is_ok())).collect()
}

/// An API server that allows one right, and no other.
fn answers(head: &str) -> String {
    let reviews = head.starts_with("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews ");
    if reviews { response(201, r#"{"status": {"allowed": true}}"#) } else { healthy(head) }
}

#[tokio::test]
async fn every_step_is_seen_where_all_is_well() {
    let server = api_server(answers).await;
    let member = member(&spec(), Some(&kubeconfig(&server)), loopback());
    let seen = member.inspect(&[right("namespaces")], Timestamp::now()).await;
    let allowed = Step::Right(Box::new(right("namespaces")));
    let steps = [&Step::Kubeconfig, &Step::Dns, &Step::Tcp, &Step::Tls, &Step::Login, &allowed, &Step::Prometheus];
    assert_eq!(shown(&seen), steps.map(|step| (step, true)), "{seen:?}");
}

#[tokio::test]
async fn a_right_that_is_denied_and_credentials_that_are_not_known_are_different_steps() {
    let denies = api_server(|head| {
        if head.starts_with("POST ") { response(201, r#"{"status": {"allowed": false}}"#) } else { healthy(head) }
    });
    let server = denies.await;
    let seen = member(&spec(), Some(&kubeconfig(&server)), loopback()).inspect(&[right("x")], Timestamp::now()).await;
    assert_eq!(shown(&seen)[4..6], [(&Step::Login, true), (&Step::Right(Box::new(right("x"))), false)], "{seen:?}");
    let server =
        api_server(|head| if head.starts_with("POST ") { response(401, "s3cret") } else { healthy(head) }).await;
    let seen = member(&spec(), Some(&kubeconfig(&server)), loopback()).inspect(&[right("x")], Timestamp::now()).await;
    assert_eq!(shown(&seen)[4], (&Step::Login, false), "{seen:?}");
    assert!(!format!("{seen:?}").contains("s3cret"));
}

#[tokio::test]
async fn the_way_ends_at_the_first_step_that_fails() {
    let server = api_server(answers).await;
    let address = kubeconfig(&server).replace("127.0.0.1", "no-such-host.invalid");
    let seen = member(&spec(), Some(&address), loopback()).inspect(&[right("x")], Timestamp::now()).await;
    assert_eq!(shown(&seen), [(&Step::Kubeconfig, true), (&Step::Dns, false), (&Step::Prometheus, false)], "{seen:?}");
    let without = member(&spec(), None, loopback()).inspect(&[right("x")], Timestamp::now()).await;
    assert_eq!(shown(&without), [(&Step::Kubeconfig, false), (&Step::Prometheus, false)], "{without:?}");
    let mut other = spec();
    other["kubeconfigSecretRef"] = json!(null);
    let none = member(&other, None, loopback()).inspect(&[right("x")], Timestamp::now()).await;
    assert_eq!(shown(&none), [(&Step::Prometheus, false)], "{none:?}");
}
