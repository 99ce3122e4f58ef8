//! Secrets of users' namespaces, which a rollout or an AlertProvider names: read when they are needed, one by one, so that a
//! rotated one is used at once and the hub lists none.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};

use crate::{
    api::{PURPOSE_LABEL, member::SecretKeyRef},
    http::SigningKey,
};

/// The time that one read may take.
const DEADLINE: Duration = Duration::from_secs(10);
/// Bytes of a URL, a token or a key.
const LONGEST: usize = 8 << 10;

/// The Secrets of one namespace that are for one purpose.
pub(super) struct UserSecrets<'a> {
    pub(super) client: &'a Client,
    pub(super) namespace: &'a str,
    /// The value of their label `cutover.dev/purpose`.
    pub(super) purpose: &'static str,
    /// The file of the role that lets the hub read them.
    pub(super) role: &'static str,
}

impl UserSecrets<'_> {
    /// A Secret that is for this purpose.
    ///
    /// # Errors
    /// In words, with the remedy.
    pub(super) async fn read(&self, name: &str) -> Result<Secret, String> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), self.namespace);
        let what = format!("Secret {name}");
        let remedy = format!("apply {} to its namespace", self.role);
        let found = read(api.get_opt(name), &what, &remedy).await?;
        let secret =
            found.ok_or_else(|| format!("{what} does not exist in namespace {}; create it", self.namespace))?;
        let purpose = self.purpose;
        if secret.labels().get(PURPOSE_LABEL).is_none_or(|label| label != purpose) {
            let label = format!("{PURPOSE_LABEL}={purpose}");
            return Err(format!("{what} is not for {purpose}s; label it with {label} if it is meant"));
        }
        Ok(secret)
    }

    /// The key of signatures that is in such a Secret.
    ///
    /// # Errors
    /// In words, with the remedy and without anything of the Secret.
    pub(super) async fn signing_key(&self, reference: &SecretKeyRef) -> Result<SigningKey, String> {
        let SecretKeyRef { name, key } = reference;
        let bytes = value(&self.read(name).await?, reference)?;
        SigningKey::of(&bytes).map_err(|why| format!("Secret {name}, key {key}: {why}"))
    }
}

/// What a Secret has under a key.
///
/// # Errors
/// If there is none, or too much; in words.
pub(super) fn value(secret: &Secret, SecretKeyRef { name, key }: &SecretKeyRef) -> Result<Vec<u8>, String> {
    match secret.data.as_ref().and_then(|data| data.get(key)) {
        Some(value) if value.0.len() <= LONGEST => Ok(value.0.clone()),
        Some(_) => Err(format!("Secret {name}: the value of {key} has more than {LONGEST} bytes")),
        None => Err(format!("Secret {name} has no key {key}; correct the key")),
    }
}

/// What a read of an object brings. What an error says is left out: it could repeat what is in a Secret.
///
/// # Errors
/// In words, with `right` as the remedy where the hub may not read it.
pub(super) async fn read<T>(
    call: impl Future<Output = kube::Result<Option<T>>>,
    what: &str,
    right: &str,
) -> Result<Option<T>, String> {
    match tokio::time::timeout(DEADLINE, call).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(kube::Error::Api(status))) if status.code == 403 => Err(format!("the hub may not read {what}; {right}")),
        Ok(Err(_)) => Err(format!("{what} cannot be read")),
        Err(_) => Err(format!("{what} was not read in time")),
    }
}
