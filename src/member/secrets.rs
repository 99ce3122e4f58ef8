//! The keys of Secrets that a member names, as far as their Secrets are for that.
//!
//! Whoever may edit a `MemberCluster` chooses names of Secrets, and the address to which a credential is sent. So the Secret
//! itself says what it is for and who may be sent it, and only who may edit Secrets can change that.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use super::hosts::Host;
use crate::{
    api::{
        HOSTS_ANNOTATION, MemberClusterSpec, PURPOSE_LABEL, Purpose, Reason,
        member::{PrometheusSource, PrometheusUrl, SecretKeyRef},
    },
    http::{Peer, sanitise},
    rollout::input::Problem,
};

/// The values that a member's spec refers to, or why it may not have them. Compared to see a rotation; never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secrets(BTreeMap<(SecretKeyRef, Purpose), Result<Vec<u8>, Problem>>);

impl Secrets {
    /// Picks from the Secrets of the hub's `namespace` what `spec` refers to.
    pub(crate) fn pick<'a>(
        spec: &MemberClusterSpec,
        namespace: &str,
        find: impl Fn(&str) -> Option<&'a Secret>,
    ) -> Self {
        let value = |one: Use<'_>| {
            let secret = find(&one.reference.name);
            ((one.reference.clone(), one.purpose), one.value(namespace, secret))
        };
        Self(uses(spec).into_iter().map(value).collect())
    }

    /// The spec refers to none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a reference.
    ///
    /// # Errors
    /// [`Reason::SecretNotFound`], where the Secret or the key in it does not exist; [`Reason::SecretNotAllowed`], where it
    /// is not for this purpose or not for this host.
    pub(crate) fn get(&self, reference: &SecretKeyRef, purpose: Purpose) -> Result<&[u8], Problem> {
        let unknown = || {
            let message = format!("Secret {} is not in the hub's namespace", sanitise(&reference.name));
            Err(Problem::new(Reason::SecretNotFound, message))
        };
        let found = self.0.get(&(reference.clone(), purpose));
        found.map_or_else(unknown, |value| value.as_deref().map_err(Clone::clone))
    }

    /// The value of a reference, as text.
    ///
    /// # Errors
    /// Where there is none for this purpose, or it is not UTF-8.
    pub(crate) fn text(&self, reference: &SecretKeyRef, purpose: Purpose) -> Result<&str, Problem> {
        let not_text = |_| {
            let (name, key) = (sanitise(&reference.name), sanitise(&reference.key));
            Problem::new(Reason::KubeconfigRefused, format!("Secret {name}: the value of {key} is not UTF-8"))
        };
        std::str::from_utf8(self.get(reference, purpose)?).map_err(not_text)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// One use of a key.
struct Use<'a> {
    field: &'static str,
    reference: &'a SecretKeyRef,
    purpose: Purpose,
    /// Where the value is sent, if anywhere.
    address: Option<&'a str>,
}

impl Use<'_> {
    fn value(&self, namespace: &str, secret: Option<&Secret>) -> Result<Vec<u8>, Problem> {
        let purpose = secret.and_then(|secret| Some((secret, secret.labels().get(PURPOSE_LABEL)?)));
        let Some((secret, purpose)) = purpose else { return Err(self.absent(namespace)) };
        if purpose != self.purpose.as_str() {
            return Err(self.of_other_purpose(namespace, purpose));
        }
        if let Some(address) = self.address {
            self.check_host(address, secret.annotations().get(HOSTS_ANNOTATION))?;
        }
        let data = secret.data.as_ref().and_then(|data| data.get(&self.reference.key));
        data.map(|value| value.0.clone()).ok_or_else(|| self.without_key())
    }

    /// The hub does not see Secrets without the label, so it cannot know which of the two it is.
    fn absent(&self, namespace: &str) -> Problem {
        let (name, field, purpose) = (sanitise(&self.reference.name), self.field, self.purpose);
        if !is_name(&self.reference.name) {
            let message = format!("{field}.name: {name:?} cannot be the name of a Secret; correct it");
            return Problem::new(Reason::SecretNotFound, message);
        }
        let message = format!(
            "{field}: Secret {name} does not exist in namespace {namespace}, or lacks the label {PURPOSE_LABEL}: \
             {purpose}; create it, or run: kubectl label secret {name} -n {namespace} {PURPOSE_LABEL}={purpose}"
        );
        Problem::new(Reason::SecretNotFound, message)
    }

    fn of_other_purpose(&self, namespace: &str, found: &str) -> Problem {
        let (name, field, purpose) = (&self.reference.name, self.field, self.purpose);
        let message = format!(
            "{field}: Secret {name} has the label {PURPOSE_LABEL}: {}, so it is not used as {purpose}; name another \
             Secret, or if this one is meant, run: kubectl label secret {name} -n {namespace} --overwrite \
             {PURPOSE_LABEL}={purpose}",
            sanitise(found)
        );
        Problem::new(Reason::SecretNotAllowed, message)
    }

    fn without_key(&self) -> Problem {
        let SecretKeyRef { name, key } = self.reference;
        let message = format!("{}: Secret {name} has no key {}; correct the key", self.field, sanitise(key));
        Problem::new(Reason::SecretNotFound, message)
    }

    /// An address that cannot be read is refused where it is used.
    fn check_host(&self, address: &str, listed: Option<&String>) -> Result<(), Problem> {
        let Some(host) = Peer::at(address).ok().and_then(|peer| Host::of(&peer.base)) else { return Ok(()) };
        if listed.is_some_and(|listed| host.is_listed(listed)) {
            return Ok(());
        }
        let name = &self.reference.name;
        let host = sanitise(&host.to_string());
        let (has, remedy) = match listed {
            None => {
                (format!("no annotation {HOSTS_ANNOTATION}"), format!("annotate it with {HOSTS_ANNOTATION}: {host}"))
            }
            Some(listed) => (
                format!("the annotation {HOSTS_ANNOTATION}: {}", sanitise(listed)),
                format!("add {host}, after a comma"),
            ),
        };
        let message = format!(
            "{}: Secret {name} may not be sent to {host}: it has {has}; correct spec.prometheus.url.address, or if that \
             host may have it, {remedy}",
            self.field
        );
        Err(Problem::new(Reason::SecretNotAllowed, message))
    }
}

/// What a message repeats in a command must be harmless in a shell.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    name.bytes().all(fits) && name.starts_with(|first: char| first.is_ascii_alphanumeric())
}

fn uses(spec: &MemberClusterSpec) -> Vec<Use<'_>> {
    let plain = |field, purpose| move |reference| Use { field, reference, purpose, address: None };
    let endpoints = spec.endpoints.iter().filter_map(|endpoint| endpoint.tls.as_ref()?.ca_secret_ref.as_ref());
    let kubeconfig = spec.kubeconfig_secret_ref.iter().map(plain("spec.kubeconfigSecretRef", Purpose::Kubeconfig));
    let prometheus = match &spec.prometheus.source {
        PrometheusSource::Service(_) => Vec::new(),
        PrometheusSource::Url(url) => of_prometheus(url),
    };
    kubeconfig.chain(endpoints.map(plain("spec.endpoints[].tls.caSecretRef", Purpose::Ca))).chain(prometheus).collect()
}

fn of_prometheus(url: &PrometheusUrl) -> Vec<Use<'_>> {
    let sent =
        |field, reference| Use { field, reference, purpose: Purpose::Prometheus, address: Some(url.address.as_str()) };
    let trusted =
        |reference| Use { field: "spec.prometheus.url.caSecretRef", reference, purpose: Purpose::Ca, address: None };
    let bearer = url.bearer_token_secret_ref.iter().map(|one| sent("spec.prometheus.url.bearerTokenSecretRef", one));
    let basic = url.basic_auth_secret_ref.iter().map(|one| sent("spec.prometheus.url.basicAuthSecretRef", one));
    url.ca_secret_ref.iter().map(trusted).chain(bearer).chain(basic).collect()
}

#[cfg(test)]
mod tests;
