//! The keys of Secrets that a member names.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::api::core::v1::Secret;

use crate::{
    api::{
        MemberClusterSpec, Reason,
        member::{Prometheus, SecretKeyRef},
    },
    http::sanitise,
    rollout::input::Problem,
};

/// The values that a member's spec refers to, as far as they exist. Compared to see a rotation; never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Secrets(BTreeMap<SecretKeyRef, Vec<u8>>);

impl Secrets {
    /// Picks from the Secrets of the hub's namespace what `spec` refers to.
    pub(crate) fn pick<'a>(spec: &MemberClusterSpec, find: impl Fn(&str) -> Option<&'a Secret>) -> Self {
        let value =
            |reference: &SecretKeyRef| Some(find(&reference.name)?.data.as_ref()?.get(&reference.key)?.0.clone());
        let found = references(spec).filter_map(|reference| Some((reference.clone(), value(reference)?)));
        Self(found.collect())
    }

    /// The value of a reference.
    ///
    /// # Errors
    /// [`Reason::SecretNotFound`], where the Secret or the key in it does not exist.
    pub(crate) fn get(&self, reference: &SecretKeyRef) -> Result<&[u8], Problem> {
        let missing = || {
            let (name, key) = (sanitise(&reference.name), sanitise(&reference.key));
            Problem::new(Reason::SecretNotFound, format!("Secret {name} with key {key} is not in the hub's namespace"))
        };
        self.0.get(reference).map(Vec::as_slice).ok_or_else(missing)
    }

    /// The value of a reference, as text.
    ///
    /// # Errors
    /// Where it does not exist, or is not UTF-8.
    pub(crate) fn text(&self, reference: &SecretKeyRef) -> Result<&str, Problem> {
        let not_text = |_| {
            let (name, key) = (sanitise(&reference.name), sanitise(&reference.key));
            Problem::new(Reason::KubeconfigRefused, format!("Secret {name}: the value of {key} is not UTF-8"))
        };
        std::str::from_utf8(self.get(reference)?).map_err(not_text)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn references(spec: &MemberClusterSpec) -> impl Iterator<Item = &SecretKeyRef> {
    let endpoints = spec.endpoints.iter().filter_map(|endpoint| endpoint.tls.as_ref()?.ca_secret_ref.as_ref());
    let prometheus = match &spec.prometheus {
        Prometheus::Service(_) => [None, None, None],
        Prometheus::Url(url) => {
            [&url.ca_secret_ref, &url.bearer_token_secret_ref, &url.basic_auth_secret_ref].map(Option::as_ref)
        }
    };
    spec.kubeconfig_secret_ref.iter().chain(endpoints).chain(prometheus.into_iter().flatten())
}
