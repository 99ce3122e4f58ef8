//! An `AlertProvider` and its Secrets, as they are now: read for each delivery, so that a rotated one is used at once.

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

use crate::{
    api::{
        AlertProvider, HOSTS_ANNOTATION,
        alert_provider::{ALERT_PURPOSE, AlertProviderSpec, Receiver},
        member::SecretKeyRef,
    },
    hub::{
        cache::Key,
        user_secrets::{self, UserSecrets, value},
    },
    member::Host,
    notify::{Credentials, Target},
    validate,
};

/// All that a delivery needs to know.
pub(super) struct Provider {
    pub(super) receiver: Receiver,
    pub(super) target: Target,
    pub(super) credentials: Credentials,
}

/// Reads a provider and what it names.
///
/// # Errors
/// In words, with the remedy, and without anything of a Secret.
pub(super) async fn read(client: &Client, key: &Key) -> Result<Provider, String> {
    let api: Api<AlertProvider> = Api::namespaced(client.clone(), &key.namespace);
    let what = format!("AlertProvider {}", key.name);
    let right = "apply config/rbac/hub.yaml of this version";
    let found = user_secrets::read(api.get_opt(&key.name), &what, right).await?;
    let missing = || format!("{what} does not exist in namespace {}; create it", key.namespace);
    let spec = found.ok_or_else(missing)?.spec;
    if let Some(problem) = validate::alert_provider(&spec).into_iter().next() {
        return Err(format!("{what}: {problem}"));
    }
    of_spec(client, &key.namespace, spec).await
}

async fn of_spec(client: &Client, namespace: &str, spec: AlertProviderSpec) -> Result<Provider, String> {
    let role = "config/rbac/hub-alerts.yaml";
    let secrets = UserSecrets { client, namespace, purpose: ALERT_PURPOSE, role };
    let url = match (&spec.url, &spec.url_secret_ref) {
        (Some(url), _) => SecretString::from(url.clone()),
        (None, Some(reference)) => text(&secrets.read(&reference.name).await?, reference)?,
        (None, None) => SecretString::from(spec.receiver.default_url().unwrap_or_default()),
    };
    let token = match &spec.token_secret_ref {
        Some(reference) => {
            let secret = secrets.read(&reference.name).await?;
            let is_elsewhere = spec.url_secret_ref.as_ref().is_some_and(|url| url.name != reference.name);
            if spec.url.is_some() || is_elsewhere {
                check_host(&secret, &reference.name, &url)?;
            }
            Some(text(&secret, reference)?)
        }
        None => None,
    };
    let signing_key = match spec.receiver.signing_key() {
        Some(reference) => Some(secrets.signing_key(reference).await?),
        None => None,
    };
    let target = Target { url, roots: spec.ca_bundle, timeout: spec.timeout.to_std() };
    Ok(Provider { receiver: spec.receiver, target, credentials: Credentials { token, signing_key } })
}

/// Who writes a provider chooses where the token goes; who writes the Secret says where it may go.
fn check_host(secret: &Secret, name: &str, url: &SecretString) -> Result<(), String> {
    let Some(host) = Url::parse(url.expose_secret()).ok().and_then(|url| Host::of(&url)) else { return Ok(()) };
    if secret.annotations().get(HOSTS_ANNOTATION).is_some_and(|listed| host.is_listed(listed)) {
        return Ok(());
    }
    let remedy = format!("add its host to the annotation {HOSTS_ANNOTATION} of the Secret if it may have it");
    Err(format!("Secret {name} may not be sent to the URL of the provider; {remedy}"))
}

/// A value as text, without the line break at its end that editors leave.
fn text(secret: &Secret, reference: &SecretKeyRef) -> Result<SecretString, String> {
    let SecretKeyRef { name, key } = reference;
    let not_text = |_| format!("Secret {name}: the value of {key} is not UTF-8");
    let text = String::from_utf8(value(secret, reference)?).map_err(not_text)?;
    Ok(SecretString::from(text.trim().to_owned()))
}
