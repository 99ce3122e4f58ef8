//! A member as it is declared, with the clients that its Secrets make possible.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::Value;
use tokio::sync::watch;

use super::{
    client::{ApiServer, authorization, bearer},
    health::Health,
    kubeconfig,
    probe::Probe,
    renewal::NotRenewed,
    secrets::Secrets,
};
use crate::{
    api::{
        MemberClusterSpec, Purpose, Reason,
        fingerprint::fnv1a,
        member::{NamespacesFrom, PrometheusSource, PrometheusUrl},
    },
    http::{Client, HttpError, Network, Peer},
    prometheus::Prometheus,
    rollout::input::Problem,
};

/// What was declared of a member, and the Secrets' values it refers to; a change of either makes another [`Member`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declared {
    /// Its name.
    pub name: String,
    /// UID of the object.
    pub uid: Option<String>,
    /// Its generation.
    pub generation: Option<i64>,
    /// Its spec.
    pub spec: MemberClusterSpec,
    /// The Secrets' values that the spec refers to.
    pub secrets: Secrets,
}

/// A member as it is declared, with the clients that its Secrets make possible.
#[derive(Debug)]
pub(crate) struct Member {
    /// What was declared.
    pub declared: Declared,
    /// Its API server; none where it has no kubeconfig.
    pub(super) api: Option<Result<ApiServer, Problem>>,
    prometheus: Result<Prometheus, Problem>,
    pub(super) network: Network,
    pub(super) health: watch::Sender<Option<Health>>,
    /// Why the last attempt to renew its token failed.
    pub(super) not_renewed: watch::Sender<Option<NotRenewed>>,
}

impl Member {
    /// Makes the clients as of `now`. No request is sent yet.
    pub(crate) fn new(declared: Declared, network: Network, now: Timestamp) -> Self {
        let api = api(&declared, &network, now);
        let limited = |found: Prometheus| found.limited_by(declared.spec.prometheus.namespace_label.clone());
        let prometheus = prometheus(&declared, api.as_ref(), &network).map(limited);
        let (health, not_renewed) = (watch::Sender::new(None), watch::Sender::new(None));
        Self { declared, api, prometheus, network, health, not_renewed }
    }

    /// Its spec.
    pub(crate) fn spec(&self) -> &MemberClusterSpec {
        &self.declared.spec
    }

    /// What the last check found; none before the first.
    pub(crate) fn health(&self) -> Option<Health> {
        self.health.borrow().clone()
    }

    /// Which cluster and which endpoints it is, so that a change of either is seen. Empty while the cluster id is not
    /// known; a member without kubeconfig has endpoints only.
    pub(crate) fn identity(&self) -> String {
        let endpoints = fnv1a(serde_json::to_vec(&self.spec().endpoints).unwrap_or_default().as_slice());
        match (&self.api, self.health().and_then(|health| health.cluster_id)) {
            (None, _) => format!("{endpoints:016x}"),
            (Some(_), Some(cluster)) => format!("{cluster}/{endpoints:016x}"),
            (Some(_), None) => String::new(),
        }
    }

    /// That rollouts of this namespace may use it.
    ///
    /// # Errors
    /// When its `allowedNamespaces` do not say so.
    pub(crate) fn consents(&self, namespace: &str) -> Result<(), Problem> {
        let allowed = &self.spec().allowed_namespaces;
        let is_allowed = match allowed.from {
            NamespacesFrom::All => true,
            NamespacesFrom::Names => allowed.names.iter().any(|name| name == namespace),
        };
        if is_allowed {
            return Ok(());
        }
        let name = &self.declared.name;
        let message = format!(
            "MemberCluster {name} does not allow namespace {namespace}; add it to its spec.allowedNamespaces.names"
        );
        Err(Problem::new(Reason::NamespaceNotAllowed, message))
    }

    /// An object of its API server: the status of the answer, with its JSON where it is a success.
    ///
    /// # Errors
    /// When it has no kubeconfig that can be used, or does not answer.
    pub(crate) async fn read(&self, path: &str) -> Result<(u16, Value), Problem> {
        match &self.api {
            None => Err(Problem::new(Reason::NoKubeconfig, "it has no kubeconfig; give kubeconfigSecretRef")),
            Some(api) => api.clone()?.read(path).await,
        }
    }

    /// Its Prometheus.
    ///
    /// # Errors
    /// When what is declared does not lead to one.
    pub(crate) fn prometheus(&self) -> Result<Prometheus, Problem> {
        self.prometheus.clone()
    }

    /// The probe of one of its endpoints, with the host, port and TLS name that the backend uses. `host_header` is what
    /// the backend sends: the public host of the route, or the endpoint's host.
    ///
    /// # Errors
    /// When the endpoint's certificates do not exist.
    pub(crate) fn probe(
        &self,
        host: &str,
        port: u16,
        server_name: Option<&str>,
        host_header: &str,
    ) -> Result<Probe, Problem> {
        let spec = self.spec();
        let tls = spec.endpoints.iter().filter(|endpoint| endpoint.port == port).filter_map(|found| found.tls.as_ref());
        let mut named = tls.filter(|tls| server_name.is_some_and(|name| fits(&tls.server_name, name)));
        let authority = named.find_map(|tls| tls.ca_secret_ref.as_ref());
        let roots = authority
            .map(|reference| self.declared.secrets.get(reference, Purpose::Ca).map(<[u8]>::to_vec))
            .transpose()?;
        Ok(Probe {
            host: host.to_owned(),
            port,
            server_name: server_name.map(ToOwned::to_owned),
            host_header: host_header.to_owned(),
            path: spec.probe.path.clone(),
            roots,
        })
    }
}

/// Whether a name can come from a declared one, in which variables may stand.
fn fits(declared: &str, name: &str) -> bool {
    match (declared.split_once("{{"), declared.rsplit_once("}}")) {
        (Some((before, _)), Some((_, after))) => name.starts_with(before) && name.ends_with(after),
        (None, _) | (_, None) => declared == name,
    }
}

fn api(declared: &Declared, network: &Network, now: Timestamp) -> Option<Result<ApiServer, Problem>> {
    let reference = declared.spec.kubeconfig_secret_ref.as_ref()?;
    let kubeconfig = declared.secrets.text(reference, Purpose::Kubeconfig).and_then(|text| {
        let refused = |why: kubeconfig::Refused| Problem::new(Reason::KubeconfigRefused, why.to_string());
        kubeconfig::parse(text, now).map_err(refused)
    });
    Some(kubeconfig.and_then(|kubeconfig| ApiServer::new(&kubeconfig, network)))
}

fn prometheus(
    declared: &Declared,
    api: Option<&Result<ApiServer, Problem>>,
    network: &Network,
) -> Result<Prometheus, Problem> {
    match (&declared.spec.prometheus.source, api) {
        (PrometheusSource::Service(service), Some(api)) => Ok(api.clone()?.prometheus(service)),
        (PrometheusSource::Service(_), None) => {
            let message =
                "spec.prometheus.service is reached through the API server; give kubeconfigSecretRef or prometheus.url";
            Err(Problem::new(Reason::NoKubeconfig, message))
        }
        (PrometheusSource::Url(url), _) => by_url(url, &declared.secrets, network),
    }
}

fn by_url(url: &PrometheusUrl, secrets: &Secrets, network: &Network) -> Result<Prometheus, Problem> {
    let unusable = |error: HttpError| {
        let reason = match error {
            HttpError::AddressNotAllowed { .. } => Reason::AddressNotAllowed,
            _ => Reason::MetricsUnreachable,
        };
        Problem::new(reason, format!("spec.prometheus.url: {error}"))
    };
    let mut peer = Peer::at(&url.address).map_err(unusable)?;
    let has_credentials = url.bearer_token_secret_ref.is_some() || url.basic_auth_secret_ref.is_some();
    if has_credentials && peer.base.scheme() != "https" {
        let message = "spec.prometheus.url.address: credentials need https; write https://host:port";
        return Err(Problem::new(Reason::MetricsUnreachable, message));
    }
    if let Some(reference) = &url.ca_secret_ref {
        peer.roots = Some(secrets.get(reference, Purpose::Ca)?.to_vec());
    }
    if let Some(reference) = &url.bearer_token_secret_ref {
        peer.authorization = Some(bearer(secrets.text(reference, Purpose::Prometheus)?).map_err(unusable)?);
    }
    if let Some(reference) = &url.basic_auth_secret_ref {
        peer.authorization = Some(basic(secrets.text(reference, Purpose::Prometheus)?).map_err(unusable)?);
    }
    Client::new(&peer, network).map(|client| Prometheus::new(client, "")).map_err(unusable)
}

fn basic(user_and_password: &str) -> Result<reqwest::header::HeaderValue, HttpError> {
    let bytes = ByteString(user_and_password.trim().as_bytes().to_vec());
    let encoded = serde_json::to_value(bytes).map_err(|_| HttpError::BadCredentials("the user and password"))?;
    authorization(&format!("Basic {}", encoded.as_str().unwrap_or_default()))
}
