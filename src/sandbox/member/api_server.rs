//! What the hub asks a member's API server: its version, which cluster it is, and its Prometheus through the proxy.

use std::sync::Arc;

use http::{Request, header::AUTHORIZATION};
use k8s_openapi::ByteString;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::json;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivatePkcs8KeyDer},
};

use super::monitoring::Monitoring;
use crate::sandbox::server::{Answer, json};

/// Where the hub finds the member's Prometheus: namespace, Service and port.
pub(super) const PROMETHEUS: &str = "/api/v1/namespaces/monitoring/services/http:prometheus:9090/proxy";

/// It keeps no secret: the server is on loopback, and answers only what anybody may know.
const TOKEN: &str = "sandbox";

/// A certificate, PEM, to which the token belongs.
pub(super) struct Credentials {
    certificate: String,
}

impl Credentials {
    pub(super) fn new(server_name: &str) -> Result<(Self, TlsAcceptor), Box<dyn std::error::Error + Send + Sync>> {
        crate::http::install_crypto();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([server_name.to_owned()])?;
        let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![cert.der().clone()], key.into())?;
        Ok((Self { certificate: cert.pem() }, TlsAcceptor::from(Arc::new(config))))
    }

    pub(super) fn kubeconfig(&self, server_name: &str, port: u16) -> String {
        let authority = json!(ByteString(self.certificate.clone().into_bytes()));
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "member",
            "contexts": [{"name": "member", "context": {"cluster": "member", "user": "hub"}}],
            "clusters": [{"name": "member", "cluster": {"server": format!("https://{server_name}:{port}"), "certificate-authority-data": authority}}],
            "users": [{"name": "hub", "user": {"token": TOKEN}}],
        })
        .to_string()
    }
}

pub(super) struct ApiServer {
    uid: String,
    monitoring: Arc<Monitoring>,
}

impl ApiServer {
    pub(super) fn new(member: &str, monitoring: Arc<Monitoring>) -> Self {
        Self { uid: format!("kube-system-of-{member}"), monitoring }
    }

    pub(super) fn answer<B>(&self, request: &Request<B>) -> Answer {
        let refuse = |code: u16, message: &str| {
            json(
                code,
                &json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "message": message}),
            )
        };
        let authorization = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if authorization.and_then(|value| value.strip_prefix("Bearer ")) != Some(TOKEN) {
            return refuse(401, "Unauthorized");
        }
        match request.uri().path() {
            "/version" => json(200, &json!({"major": "1", "minor": "34", "gitVersion": "v1.34.0-sandbox"})),
            "/api/v1/namespaces/kube-system" => {
                let metadata = json!({"name": "kube-system", "uid": self.uid});
                json(200, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
            }
            path if path.starts_with(PROMETHEUS) => self.monitoring.answer(request.uri()),
            _ => refuse(404, "the sandbox's members serve only what the hub asks"),
        }
    }
}
