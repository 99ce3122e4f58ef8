//! Tokens of one member on virtual time: when they are requested, and where they go.

use std::sync::Arc;

use k8s_openapi::ByteString;
use rcgen::generate_simple_self_signed;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep_until};

use super::keep_tokens;
use crate::{
    api::Reason,
    hub::{
        fixtures::{
            api_server::Answer,
            objects,
            world::{World, until},
        },
        lease::Claim,
    },
    member::fixtures::{account_token, kubeconfig},
};

/// When the world begins: 2026-01-01.
const BEGIN: i64 = 1_767_225_600;
const REQUEST: &str = "POST /api/v1/namespaces/cutover/serviceaccounts/cutover-member/token";
const WRITE: &str = "PATCH secrets/eu-1 rv=3";

/// A member with a token that lives for ten minutes, and its hub.
struct Stage {
    world: World,
    began: Instant,
}

impl Stage {
    async fn begin() -> Self {
        let certificate = generate_simple_self_signed(["api.eu-3".to_owned()]).unwrap().cert.pem();
        let token = account_token(BEGIN, BEGIN + 600);
        let text = kubeconfig("https://api.eu-1.example.com", &certificate, &token).to_string();
        let mut member = objects::member("eu-1");
        member["spec"]["kubeconfigSecretRef"] = json!({"name": "eu-1", "key": "value"});
        let world = World::of([member, secret("3", &text)]).await;
        let hub = Arc::clone(&world.hub);
        tokio::spawn(async move { keep_tokens(&hub).await });
        world.members.answer_to("GET /version", 200, &json!({"gitVersion": "v1.34.1"}));
        let cluster = json!({"kind": "Namespace", "metadata": {"uid": "0b-1"}});
        world.members.answer_to("GET /api/v1/namespaces/kube-system", 200, &cluster);
        let token = account_token(BEGIN + 400, BEGIN + 1000);
        world.members.answer_to(REQUEST, 201, &json!({"status": {"token": token}}));
        Self { world, began: Instant::now() }
    }

    /// Lets time pass until so many seconds after the begin, and says what was called since the last look: at the member, and at
    /// the hub's own API server.
    async fn until(&self, seconds: u64) -> (usize, Vec<String>) {
        sleep_until(self.began + Duration::from_secs(seconds)).await;
        (self.world.members.calls("POST").len(), self.world.api.calls())
    }

    /// The value of a key of the Secret, as it is stored.
    fn stored(&self, key: &str) -> String {
        let secret = self.world.api.stored("Secret").remove(0);
        let value: ByteString = serde_json::from_value(secret["data"][key].clone()).unwrap();
        String::from_utf8(value.0).unwrap()
    }

    /// Reason and message of `CredentialsValid`, as the last check found it.
    fn credentials(&self) -> (Reason, String) {
        let findings = self.world.hub.registry.member("eu-1").unwrap().health().unwrap().findings;
        let found = findings.into_iter().find(|found| found.condition == "CredentialsValid").unwrap();
        (found.reason, found.message)
    }
}

fn secret(version: &str, kubeconfig: &str) -> Value {
    let data = json!({"value": ByteString(kubeconfig.into()), "other": ByteString("theirs".into())});
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "eu-1", "namespace": "cutover-system", "resourceVersion": version,
                     "labels": {"cutover.dev/purpose": "kubeconfig"}},
        "data": data,
    })
}

fn nothing() -> (usize, Vec<String>) {
    (0, Vec::new())
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_once_when_it_is_due_and_the_new_one_is_used() {
    let stage = Stage::begin().await;
    assert_eq!(stage.until(399).await, nothing());
    assert_eq!(stage.until(401).await, (1, vec![WRITE.to_owned()]));
    let new = account_token(BEGIN + 400, BEGIN + 1000);
    assert!(stage.stored("value").contains(&new));
    assert_eq!(stage.stored("other"), "theirs");
    let member = || stage.world.hub.registry.member("eu-1").unwrap();
    until("the new token is used", || member().renewal().unwrap().kubeconfig.contains(&new)).await;
    assert_eq!(stage.until(799).await, nothing(), "the new one is due at 800 s");
    let (requests, _) = stage.until(801).await;
    assert_eq!(requests, 1);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_allow_it_is_left_as_it_is_and_says_what_to_do() {
    let stage = Stage::begin().await;
    stage.world.members.answer_to(REQUEST, 403, &Value::Null);
    stage.world.checks.send_replace(true);
    let before = stage.stored("value");
    for (seconds, requests) in [(399, 0), (401, 1), (459, 0), (461, 1), (579, 0), (581, 1), (819, 0), (821, 1)] {
        assert_eq!(stage.until(seconds).await, (requests, Vec::new()), "{seconds}");
    }
    let (reason, message) = stage.credentials();
    assert_eq!(reason, Reason::CredentialsExpireSoon);
    let remedy = "ServiceAccount cutover/cutover-member may not create tokens for itself; to let it, apply \
                  config/rbac/member-token-renewal.yaml to the member, or run cutover member kubeconfig again";
    assert!(message.ends_with(remedy), "{message}");
    assert_eq!(stage.until(3600).await.0, 4, "at 1300 s, and then every ten minutes");
    assert_eq!(stage.stored("value"), before);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_said_and_what_somebody_else_wrote_is_not_overwritten() {
    let refused = "the API server of the hub cluster refused it; apply config/rbac/hub-token-renewal.yaml there (an immutable \
                   Secret, and an admission policy, refuse it too)";
    let failed = "the API server of the hub cluster failed or did not answer in time; the hub tries again";
    for (answer, why) in [
        (Answer::Code(403), refused),
        (Answer::Code(409), "it changed meanwhile; the hub tries again"),
        (Answer::Code(503), failed),
        (Answer::Never, failed),
    ] {
        let stage = Stage::begin().await;
        stage.world.checks.send_replace(true);
        stage.world.api.script("PATCH secrets/eu-1", answer);
        assert_eq!(stage.until(410).await, (1, vec![WRITE.to_owned()]), "{answer:?}");
        let (_, message) = stage.credentials();
        let expected = format!("the hub did not renew the token: Secret eu-1 was not written: {why}");
        assert!(message.ends_with(&expected), "{message}");
        assert_eq!(stage.until(470).await, (1, vec![WRITE.to_owned()]), "{answer:?}");
        assert_eq!(stage.credentials().0, Reason::CredentialsGood);
    }
    let stage = Stage::begin().await;
    stage.world.api.store(&secret("4", "theirs"));
    assert_eq!(stage.until(401).await, (1, vec![WRITE.to_owned()]));
    assert_eq!(stage.stored("value"), "theirs");
}

#[tokio::test(start_paused = true)]
async fn who_does_not_lead_requests_nothing_and_renews_when_it_does() {
    let stage = Stage::begin().await;
    stage.world.claim.send_replace(Claim::None);
    assert_eq!(stage.until(450).await, nothing());
    stage.world.claim.send_replace(Claim::Alone);
    assert_eq!(stage.until(451).await, (1, vec![WRITE.to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_member_that_gives_tokens_which_are_due_at_once_is_left_alone_for_a_minute() {
    let stage = Stage::begin().await;
    let old = account_token(BEGIN, BEGIN + 601);
    stage.world.members.answer_to(REQUEST, 201, &json!({"status": {"token": old}}));
    assert_eq!(stage.until(459).await.0, 1);
    assert_eq!(stage.until(461).await.0, 1);
}
