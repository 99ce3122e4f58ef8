//! A member's API server: the few things that the hub asks there.

use k8s_openapi::api::authorization::v1::ResourceAttributes;
use reqwest::header::HeaderValue;
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    kubeconfig::{Credentials, Expiry, Kubeconfig},
    token::Renewable,
};
use crate::{
    api::{Reason, member::PrometheusService},
    http::{API_BODY, Answer, Client, DEADLINE, HttpError, Limits, Network, Peer, sanitise},
    prometheus::Prometheus,
    rollout::input::Problem,
};

const LIMITS: Limits = Limits { deadline: DEADLINE, body: API_BODY };
/// A ConfigMap or Secret may hold 1 MiB, which base64 makes a third longer.
const CONFIG_BODY: usize = 2 << 20;

/// A member's API server. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct ApiServer {
    pub client: Client,
    /// When the first of its credentials ends.
    pub expires: Expiry,
    /// Its token, where that can be renewed.
    pub token: Option<Renewable>,
}

impl ApiServer {
    /// A client with the credentials of a kubeconfig.
    ///
    /// # Errors
    /// When its address is refused, or the credentials cannot be used.
    pub(super) fn new(kubeconfig: &Kubeconfig, network: &Network) -> Result<Self, Problem> {
        let client =
            peer(kubeconfig).and_then(|peer| Client::new(&peer, network)).map_err(|error| unreachable(&error))?;
        let token = match &kubeconfig.credentials {
            Credentials::Token(token) => Renewable::of(token.expose_secret()),
            Credentials::Certificate(_) => None,
        };
        Ok(Self { client, expires: kubeconfig.expires, token })
    }

    /// Version of the API server, such as `v1.34.1`.
    ///
    /// # Errors
    /// When there is no such answer.
    pub(super) async fn version(&self) -> Result<String, Problem> {
        let answer: Value = self.get("/version").await?;
        answer["gitVersion"].as_str().map(sanitise).ok_or_else(|| unexpected("/version has no gitVersion"))
    }

    /// UID of the namespace kube-system: which cluster this is.
    ///
    /// # Errors
    /// When there is no such answer, or the credentials do not allow to see it.
    pub(super) async fn cluster_id(&self) -> Result<String, Problem> {
        let answer: Value = self.get("/api/v1/namespaces/kube-system").await?;
        let uid = answer["metadata"]["uid"].as_str().filter(|uid| is_uid(uid) && answer["kind"] == "Namespace");
        uid.map(ToOwned::to_owned).ok_or_else(|| unexpected("the namespace kube-system has no uid"))
    }

    /// The status of an answer, with its JSON where it is a success.
    ///
    /// # Errors
    /// When there is no answer, or no JSON in it.
    pub(super) async fn read(&self, path: &str) -> Result<(u16, Value), Problem> {
        let limits = Limits { body: CONFIG_BODY, ..LIMITS };
        let read = |answer: &Answer| (answer.status, serde_json::from_slice(&answer.body));
        let (status, read) = self.client.get(path, &[], limits, read).await.map_err(|error| unreachable(&error))?;
        match (status, read) {
            (200, Ok(object)) => Ok((200, object)),
            (200, Err(_)) => Err(unexpected(&format!("{path} is no JSON object"))),
            (status, _) => Ok((status, Value::Null)),
        }
    }

    /// A Prometheus behind this API server.
    pub(super) fn prometheus(&self, service: &PrometheusService) -> Prometheus {
        let PrometheusService { namespace, name, port } = service;
        let prefix = format!("/api/v1/namespaces/{namespace}/services/http:{name}:{port}/proxy");
        Prometheus::new(self.client.clone(), &prefix)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Problem> {
        let read = |answer: &Answer| (answer.status, serde_json::from_slice(&answer.body));
        let answer = self.client.get(path, &[], LIMITS, read).await;
        answered(answer.map_err(|error| unreachable(&error))?, "GET", path)
    }

    /// Whether the credentials have a right, as the API server says.
    ///
    /// # Errors
    /// When there is no such answer, or the credentials are not known.
    pub(super) async fn may(&self, right: &ResourceAttributes) -> Result<bool, Problem> {
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {},
            "spec": {"resourceAttributes": right},
        });
        let read = |answer: &Answer| (answer.status, serde_json::from_slice::<Value>(&answer.body));
        let answer = self.client.post(path, review.to_string().into_bytes(), LIMITS, read).await;
        let answer = answered(answer.map_err(|error| unreachable(&error))?, "POST", path)?;
        answer["status"]["allowed"].as_bool().ok_or_else(|| unexpected("a review says nothing"))
    }
}

/// The object of a good answer; else what the status means.
fn answered<T>((status, read): (u16, serde_json::Result<T>), method: &str, path: &str) -> Result<T, Problem> {
    match status {
        200 | 201 => read.map_err(|_| unexpected(&format!("{path} is no JSON object"))),
        401 | 403 => {
            let message =
                format!("the API server answered {status} to {method} {path}; renew the credentials or their role");
            Err(Problem::new(Reason::CredentialsRefused, message))
        }
        429 | 500.. => {
            let message = format!("the API server answered {status} to {method} {path}; the next check tries again");
            Err(Problem::new(Reason::ApiServerUnreachable, message))
        }
        status => Err(unexpected(&format!("it answered {status} to {method} {path}"))),
    }
}

fn peer(kubeconfig: &Kubeconfig) -> Result<Peer, HttpError> {
    let mut peer = Peer::at(&kubeconfig.server)?;
    peer.server_name.clone_from(&kubeconfig.server_name);
    peer.roots = Some(kubeconfig.roots.clone());
    match &kubeconfig.credentials {
        Credentials::Token(token) => peer.authorization = Some(bearer(token.expose_secret())?),
        Credentials::Certificate(pem) => peer.identity = Some(pem.clone()),
    }
    Ok(peer)
}

/// An Authorization header that no log shows.
///
/// # Errors
/// When the token cannot be a header.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, HttpError> {
    authorization(&format!("Bearer {}", token.trim()))
}

pub(super) fn authorization(value: &str) -> Result<HeaderValue, HttpError> {
    let mut header = HeaderValue::from_str(value).map_err(|_| HttpError::BadCredentials("the token or password"))?;
    header.set_sensitive(true);
    Ok(header)
}

fn unreachable(error: &HttpError) -> Problem {
    let reason = match error {
        HttpError::AddressNotAllowed { .. } => Reason::AddressNotAllowed,
        HttpError::BadCredentials(_) => Reason::KubeconfigRefused,
        HttpError::TooLarge(_) => Reason::UnexpectedResponse,
        HttpError::NotResolved(_)
        | HttpError::BadAddress(_)
        | HttpError::Late(_)
        | HttpError::Flood
        | HttpError::Failed(_) => Reason::ApiServerUnreachable,
    };
    Problem::new(reason, format!("the API server: {error}"))
}

fn unexpected(what: &str) -> Problem {
    let message = format!("this is no Kubernetes API server: {what}; correct clusters[0].cluster.server");
    Problem::new(Reason::UnexpectedResponse, message)
}

fn is_uid(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
