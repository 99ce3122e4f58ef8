//! A new token in the place of one that ends, by a `TokenRequest` for the service account whose token it is. What a member
//! answers becomes a credential of the hub, so it is taken only in the one form that is expected.

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use secrecy::SecretString;
use serde_json::Value;

use super::{
    Member,
    client::ApiServer,
    kubeconfig,
    token::{Renewable, ServiceAccount},
};
use crate::{
    api::{Purpose, member::SecretKeyRef},
    http::{Answer, DEADLINE, HttpError, Limits},
};

/// What is read of an answer: a token, and what it was requested with.
const LIMITS: Limits = Limits { deadline: DEADLINE, body: 64 << 10 };
/// Bytes of a token; a service account's has one to two thousand.
const LONGEST: usize = 8 << 10;

/// Why a token was not renewed, and the remedy. Shows nothing of a token, and nothing that a member answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotRenewed {
    /// The member's role does not allow it.
    #[error(
        "ServiceAccount {0} may not create tokens for itself; to let it, apply config/rbac/member-token-renewal.yaml to the \
         member, or run cutover member kubeconfig again"
    )]
    Forbidden(ServiceAccount),
    /// Another answer than a token.
    #[error("the API server answered {1} to the TokenRequest for ServiceAccount {0}; the hub tries again")]
    Refused(ServiceAccount, u16),
    /// No answer.
    #[error("the API server: {0}; the hub tries again")]
    Unanswered(HttpError),
    /// An answer that is not used.
    #[error("the answer to the TokenRequest was discarded: {0}; the hub tries again")]
    Discarded(&'static str),
    /// The token could not be put in its place.
    #[error("Secret {secret} was not written: {why}")]
    NotStored {
        /// Name of the Secret.
        secret: String,
        /// Why, and the remedy.
        why: &'static str,
    },
}

/// The renewal of a member's token.
pub(crate) struct Renewal<'m> {
    /// Where the kubeconfig is stored.
    pub secret: &'m SecretKeyRef,
    /// The kubeconfig with the present token, as it is stored.
    pub kubeconfig: &'m str,
    api: &'m ApiServer,
    token: &'m Renewable,
}

impl Member {
    /// The renewal of its token; none for a member without a token that the hub can renew.
    pub(crate) fn renewal(&self) -> Option<Renewal<'_>> {
        let secret = self.spec().kubeconfig_secret_ref.as_ref()?;
        let kubeconfig = self.declared.secrets.text(secret, Purpose::Kubeconfig).ok()?;
        let api = self.api.as_ref()?.as_ref().ok()?;
        Some(Renewal { secret, kubeconfig, api, token: api.token.as_ref()? })
    }

    /// The renewal failed; the member's status says so from now on, until its kubeconfig is another one.
    pub(crate) fn renewal_failed(&self, why: NotRenewed) {
        self.not_renewed.send_replace(Some(why));
    }
}

impl Renewal<'_> {
    /// When it is due.
    pub(crate) fn due(&self) -> Timestamp {
        self.token.due()
    }

    /// Whose token it is.
    pub(crate) fn account(&self) -> &ServiceAccount {
        &self.token.account
    }

    /// The kubeconfig with a new token, which lives as long as the present one did.
    ///
    /// # Errors
    /// When the member gives no token that can be used.
    pub(crate) async fn request(&self) -> Result<SecretString, NotRenewed> {
        let ServiceAccount { namespace, name } = self.account();
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let read = |answer: &Answer| self.read(answer);
        self.api.client.post(&path, self.body(), LIMITS, read).await.map_err(NotRenewed::Unanswered)?
    }

    fn body(&self) -> Vec<u8> {
        let expiration_seconds = Some(self.token.lifetime().as_secs());
        let spec = TokenRequestSpec { expiration_seconds, ..TokenRequestSpec::default() };
        serde_json::to_vec(&TokenRequest { spec, ..TokenRequest::default() }).unwrap_or_default()
    }

    fn read(&self, answer: &Answer) -> Result<SecretString, NotRenewed> {
        match answer.status {
            200 | 201 => self.kubeconfig_with(&answer.body).map_err(NotRenewed::Discarded),
            403 => Err(NotRenewed::Forbidden(self.account().clone())),
            status => Err(NotRenewed::Refused(self.account().clone(), status)),
        }
    }

    /// The kubeconfig with the token of an answer, or why that is not taken.
    fn kubeconfig_with(&self, answer: &[u8]) -> Result<SecretString, &'static str> {
        let answer: Value = serde_json::from_slice(answer).map_err(|_| "it is no JSON object")?;
        let token = answer["status"]["token"].as_str().ok_or("it has no token")?;
        if token.len() > LONGEST {
            return Err("its token is longer than 8 KiB");
        }
        if !token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            return Err("its token has a character that no JSON Web Token has");
        }
        let successor = Renewable::of(token).ok_or("its token is none of a service account")?;
        if !successor.succeeds(self.token) {
            return Err("its token is that of another service account, or ends no later than the present one");
        }
        let written = kubeconfig::with_token(self.kubeconfig, token).ok_or("it does not fit into the kubeconfig")?;
        Ok(written.into())
    }
}
