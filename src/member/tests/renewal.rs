//! Members whose API servers give new tokens, refuse to, or give something else.

use secrecy::ExposeSecret;
use tokio::time::timeout;

use super::*;
use crate::{
    clock::Clock,
    http::HttpError,
    member::{
        NotRenewed, Registry, checks,
        fixtures::{account_token, token},
    },
    web::Metrics,
};

/// Since 2026-01-01 for ten minutes; at 400 seconds it is due.
const ISSUED: i64 = 1_767_225_600;
const PATH: &str = "POST /api/v1/namespaces/cutover/serviceaccounts/cutover-member/token ";

fn present() -> String {
    account_token(ISSUED, ISSUED + 600)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(ISSUED + seconds).unwrap()
}

/// A member with the present token, which its API server knows.
fn member_at(server: &Server) -> Member {
    member(&spec(), Some(&kubeconfig(server).replace("s3cret", &present())), loopback())
}

/// The answer to a `TokenRequest`.
fn answer(token: &str) -> String {
    response(201, &json!({"kind": "TokenRequest", "status": {"token": token}}).to_string())
}

/// What comes of a `TokenRequest` that is answered so.
async fn requested(answer: String) -> Result<String, NotRenewed> {
    let server = api_server(move |_| answer.clone()).await;
    let member = member_at(&server);
    let kubeconfig = member.renewal().unwrap().request().await;
    kubeconfig.map(|kubeconfig| kubeconfig.expose_secret().to_owned())
}

#[tokio::test]
async fn a_new_token_is_requested_with_the_present_one_and_takes_its_place() {
    let new = account_token(ISSUED + 400, ISSUED + 1000);
    let given = answer(&new);
    let server = api_server(move |_| given.clone()).await;
    let member = member_at(&server);
    let renewal = member.renewal().unwrap();
    assert_eq!((renewal.due(), renewal.secret.name.as_str()), (at(400), "s"));
    let written = renewal.request().await.unwrap();
    assert!(!format!("{written:?}").contains(&new));
    let written = crate::yaml::documents(written.expose_secret()).unwrap();
    let expected = kubeconfig(&server).replace("s3cret", &new);
    assert_eq!(written[0].value, serde_json::from_str::<Value>(&expected).unwrap());

    let heads = server.heads.lock().await.join("");
    assert!(heads.starts_with(PATH) && heads.contains(&format!("authorization: Bearer {}\r\n", present())), "{heads}");
    assert!(heads.contains("content-type: application/json\r\n"), "{heads}");
    let body: Value = serde_json::from_str(heads.rsplit("\r\n").next().unwrap()).unwrap();
    assert_eq!(
        (&body["kind"], &body["spec"]["expirationSeconds"]),
        (&json!("TokenRequest"), &json!(600)),
        "as long as the present one: {body}"
    );
}

#[tokio::test]
async fn whatever_else_an_api_server_answers_is_discarded_and_never_repeated() {
    let other = json!({"sub": "system:serviceaccount:cutover:s3cret", "iat": ISSUED, "exp": ISSUED + 1000});
    let new = account_token(ISSUED + 400, ISSUED + 1000);
    for (given, expected) in [
        (response(201, "<html>s3cret"), "it is no JSON object"),
        (response(201, r#"{"status": {"s3cret": 1}}"#), "it has no token"),
        (response(201, r#"{"status": {"token": 7}}"#), "it has no token"),
        (response(200, "[]"), "it has no token"),
        (answer("s3cret"), "its token is none of a service account"),
        (answer(""), "its token is none of a service account"),
        (answer(&token(&json!({"s3cret": 1}))), "its token is none of a service account"),
        (answer(&token(&other)), "its token is that of another service account, or ends no later than the present one"),
        (answer(&present()), "its token is that of another service account, or ends no later than the present one"),
        (answer(&format!("{new}\n")), "its token has a character that no JSON Web Token has"),
        (answer(&format!("{new}\r\nx-s3cret: 1")), "its token has a character that no JSON Web Token has"),
        (answer(&format!("{new}{}", "s3cret".repeat(2000))), "its token is longer than 8 KiB"),
    ] {
        let refused = requested(given.clone()).await.unwrap_err();
        assert_eq!(refused, NotRenewed::Discarded(expected), "{given}");
        let message = format!("the answer to the TokenRequest was discarded: {expected}; the hub tries again");
        assert_eq!(refused.to_string(), message);
    }
    let flood = response(201, &"s3cret".repeat(20_000));
    assert_eq!(requested(flood).await, Err(NotRenewed::Unanswered(HttpError::TooLarge(64 << 10))));
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let account = "ServiceAccount cutover/cutover-member";
    for (status, expected) in [
        (
            403,
            format!(
                "{account} may not create tokens for itself; to let it, apply config/rbac/member-token-renewal.yaml to the \
                 member, or run cutover member kubeconfig again"
            ),
        ),
        (401, format!("the API server answered 401 to the TokenRequest for {account}; the hub tries again")),
        (302, format!("the API server answered 302 to the TokenRequest for {account}; the hub tries again")),
        (500, format!("the API server answered 500 to the TokenRequest for {account}; the hub tries again")),
    ] {
        assert_eq!(requested(response(status, "s3cret")).await.unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn only_a_token_of_a_service_account_is_renewed() {
    let server = api_server(healthy).await;
    for other in ["s3cret", &token(&json!({"sub": "s3cret", "iat": ISSUED, "exp": ISSUED + 600}))] {
        let member = member(&spec(), Some(&kubeconfig(&server).replace("s3cret", other)), loopback());
        assert!(member.renewal().is_none());
    }
}

#[tokio::test]
async fn the_status_says_when_a_renewal_is_due_and_why_one_failed() {
    let server = api_server(|head| healthy(&head.replace(&present(), "s3cret"))).await;
    let member = member_at(&server);
    let credentials = async |seconds| finding(&check(&member, at(seconds)).await, "CredentialsValid");
    let due = "the credentials are good; the token ends on 2026-01-01; its renewal by the hub is due on 2026-01-01";
    let good = (ConditionStatus::True, Reason::CredentialsGood, due.to_owned());
    assert_eq!(credentials(399).await, good, "it ends within two days, but that is no cause for a warning yet");
    assert_eq!(credentials(400).await.1, Reason::CredentialsExpireSoon);
    member.renewal_failed(NotRenewed::NotStored { secret: "s".to_owned(), why: "because" });
    let (_, reason, message) = credentials(400).await;
    let expected = "the token of the kubeconfig ends on 2026-01-01; issue a new one; the hub did not renew the token: Secret s \
                    was not written: because";
    assert_eq!((reason, message.as_str()), (Reason::CredentialsExpireSoon, expected));
}

#[tokio::test]
async fn a_renewal_that_failed_is_published_at_once() {
    let server = api_server(|head| healthy(&head.replace(&present(), "s3cret"))).await;
    let (member, registry) = (Arc::new(member_at(&server)), Registry::default());
    let (checked, (_leads, leading)) = (Arc::clone(&member), tokio::sync::watch::channel(true));
    let clock = Clock::starting_at(at(0));
    tokio::spawn(async move { checks::run(&checked, &registry, (&clock, &Metrics::default()), leading).await });
    let mut health = member.health.subscribe();
    let soon = std::time::Duration::from_secs(5);
    timeout(soon, health.changed()).await.unwrap().unwrap();
    member.renewal_failed(NotRenewed::Discarded("because"));
    timeout(soon, health.changed()).await.unwrap().unwrap();
    let (_, _, message) = finding(&member.health().unwrap(), "CredentialsValid");
    assert!(message.ends_with("discarded: because; the hub tries again"), "{message}");
}
