//! Tokens of members on real API servers: renewed in time where the member allows it.

use crate::{
    apiserver::{HUB_USER, READER, token},
    audit::Request,
    fleet::{SYSTEM, source},
    lab::Member,
    runner::{Place, Scene, Test},
    tests::credentials::{condition, put},
    wait::{eventually, seconds},
};
use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use k8s_openapi::{
    ByteString,
    api::{
        authentication::v1::{TokenRequest, TokenRequestSpec},
        core::v1::{Secret, ServiceAccount},
    },
};
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

pub const TESTS: &[Test] = &[Test {
    name: "a_token_is_renewed_where_the_member_allows_it",
    place: Place::Alone,
    run: |scene| Box::pin(renewed_where_allowed(scene)),
}];

const ACCOUNT: &str = "system:serviceaccount:cutover:cutover-member";
/// Lets the hub renew its token; without it, it may not.
const ROLE: &str = "config/rbac/member-token-renewal.yaml";
const ALLOWED: &str = "eu-2";
const NOT_ALLOWED: &str = "eu-3";
/// An API server makes no token that lives for less; two thirds of this are 400 seconds.
const LIFE: i64 = 600;
const AGE: i64 = 401;

/// Two members have tokens that are due; one of them has the role.
async fn renewed_where_allowed(scene: Scene) -> Result<()> {
    let role = std::fs::read_to_string(source(ROLE))?;
    scene.member(ALLOWED).cluster.apply(SYSTEM, &role).await?;
    let (first, second) = (give_due_token(&scene, ALLOWED).await?, give_due_token(&scene, NOT_ALLOWED).await?);
    let outcome = renewed(&scene, &first).await.and(left_alone(&scene, &second).await);
    for name in [ALLOWED, NOT_ALLOWED] {
        put_token(&scene, name, &token(name, READER)).await?;
        condition(&scene.hub, name, "CredentialsValid", "True", "CredentialsGood").await?;
    }
    outcome
}

/// The Secret has another token, with which the hub calls the member from then on.
async fn renewed(scene: &Scene, before: &str) -> Result<()> {
    let new = eventually("another token", seconds(20), async || {
        let stored = stored_token(scene, ALLOWED).await?;
        ensure!(stored != before, "the old one is still there");
        Ok(stored)
    })
    .await?;
    let (old, claims) = (claims(before)?, claims(&new)?);
    ensure!(claims["sub"] == ACCOUNT && claims["exp"].as_i64() > old["exp"].as_i64(), "{claims}");
    let id = format!("JTI={}", claims["jti"].as_str().unwrap_or_default());
    eventually("a call with the new token", seconds(20), async || {
        let requests = scene.member(ALLOWED).cluster.requests(ACCOUNT)?;
        let last = requests.last().context("no call")?;
        let used = last.user.extra.get("authentication.kubernetes.io/credential-id");
        ensure!(used == Some(&vec![id.clone()]) && last.code() == 200, "{used:?}");
        Ok(())
    })
    .await?;
    says(scene, ALLOWED, "CredentialsGood", "its renewal by the hub is due on").await?;
    ensure!(requested(scene, ALLOWED)? == [201]);
    let requests = scene.hub.requests(HUB_USER)?;
    let written = requests.iter().filter(|request| request.object_ref.resource == "secrets" && request.verb == "patch");
    let written: Vec<_> = written.map(|request| (request.object_ref.name.as_str(), request.code())).collect();
    ensure!(written == [("eu-2-kubeconfig", 200)], "{written:?}");
    unseen(scene, &[before, &new])
}

/// The member works as before, and its status names the remedy.
async fn left_alone(scene: &Scene, token: &str) -> Result<()> {
    let remedy = format!(
        "ServiceAccount cutover/cutover-member may not create tokens for itself; to let it, apply {ROLE} to the member"
    );
    says(scene, NOT_ALLOWED, "CredentialsExpireSoon", &remedy).await?;
    for (kind, reason) in [("Reachable", "ApiServerAnswers"), ("Healthy", "MemberHealthy")] {
        condition(&scene.hub, NOT_ALLOWED, kind, "True", reason).await?;
    }
    ensure!(stored_token(scene, NOT_ALLOWED).await? == token);
    let answers = requested(scene, NOT_ALLOWED)?;
    ensure!(!answers.is_empty() && answers.iter().all(|code| *code == 403), "{answers:?}");
    unseen(scene, &[token])
}

/// Waits until `CredentialsValid` has this reason and these words.
async fn says(scene: &Scene, member: &str, reason: &str, words: &str) -> Result<()> {
    eventually(words, seconds(10), async || {
        let message = condition(&scene.hub, member, "CredentialsValid", "True", reason).await?;
        ensure!(message.contains(words), "{message}");
        Ok(())
    })
    .await
}

/// How the token requests of the service account were answered.
fn requested(scene: &Scene, member: &str) -> Result<Vec<u16>> {
    let requests = scene.member(member).cluster.requests(ACCOUNT)?;
    let tokens = requests.iter().filter(|request| request.object_ref.subresource == "token");
    Ok(tokens.map(Request::code).collect())
}

/// The hub's log, which says more than usual, shows neither the claims nor the signature of a token.
fn unseen(scene: &Scene, tokens: &[&str]) -> Result<()> {
    let log = std::fs::read_to_string(scene.folder.join("logs/hub-shared.log"))?;
    let shown = tokens.iter().flat_map(|token| token.split('.').skip(1)).any(|part| log.contains(part));
    ensure!(!shown, "the log of the hub shows a token");
    Ok(())
}

/// Puts a token that is due into the Secret of a member, and returns it.
async fn give_due_token(scene: &Scene, member: &str) -> Result<String> {
    let due = due_token(scene, scene.member(member)).await.context("no token")?;
    put_token(scene, member, &due).await?;
    Ok(due)
}

/// A token as the member's API server made it, but so much earlier that it is due: no test waits for 400 seconds.
async fn due_token(scene: &Scene, member: &Member) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(member.cluster.client.clone(), "cutover");
    let spec = TokenRequestSpec { expiration_seconds: Some(LIFE), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let made = accounts.create_token_request("cutover-member", &PostParams::default(), &request).await?;
    let token = made.status.context("no token")?.token;
    let mut claims = claims(&token)?;
    let issued = Timestamp::now().as_second() - AGE;
    for (claim, at) in [("iat", issued), ("nbf", issued), ("exp", issued + LIFE)] {
        claims[claim] = json!(at);
    }
    let header = token.split('.').next().unwrap_or_default();
    let signed = format!("{header}.{}", base64url(claims.to_string().into_bytes()));
    let signature = base64url(scene.pki.sign(&member.cluster.name, &signed)?);
    Ok(format!("{signed}.{signature}"))
}

async fn put_token(scene: &Scene, member: &str, new: &str) -> Result<()> {
    let kubeconfig = scene.member(member).cluster.kubeconfig(READER).replace(&token(member, READER), new);
    put(&scene.hub, &format!("{member}-kubeconfig"), "value", &kubeconfig).await
}

async fn stored_token(scene: &Scene, member: &str) -> Result<String> {
    let secrets: Api<Secret> = Api::namespaced(scene.hub.client.clone(), SYSTEM);
    let data = secrets.get(&format!("{member}-kubeconfig")).await?.data.context("no data")?;
    let kubeconfig: Value = serde_yaml::from_slice(&data.get("value").context("no value")?.0)?;
    Ok(kubeconfig["users"][0]["user"]["token"].as_str().context("no token")?.to_owned())
}

fn claims(token: &str) -> Result<Value> {
    let part = token.split('.').nth(1).context("no claims")?.replace('-', "+").replace('_', "/");
    let padding = "=".repeat((4 - part.len() % 4) % 4);
    let bytes: ByteString = serde_json::from_value(json!(part + &padding))?;
    Ok(serde_json::from_slice(&bytes.0)?)
}

fn base64url(bytes: Vec<u8>) -> String {
    let base64 = json!(ByteString(bytes));
    base64.as_str().unwrap_or_default().trim_end_matches('=').replace('+', "-").replace('/', "_")
}
