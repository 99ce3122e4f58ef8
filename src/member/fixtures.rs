//! Tokens and kubeconfigs for tests.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

/// A JSON Web Token with these claims.
pub(crate) fn token(claims: &Value) -> String {
    let base64 = json!(ByteString(claims.to_string().into_bytes()));
    let part = base64.as_str().unwrap().trim_end_matches('=').replace('+', "-").replace('/', "_");
    format!("eyJhbGciOiJSUzI1NiJ9.{part}.c2ln")
}

/// A token of the service account `cutover/cutover-member` that lives from one second to another.
pub(crate) fn account_token(issued: i64, expires: i64) -> String {
    token(&json!({"sub": "system:serviceaccount:cutover:cutover-member", "iat": issued, "exp": expires}))
}

/// A kubeconfig for an API server whose certificate is for `api.eu-3`, PEM.
pub(crate) fn kubeconfig(server: &str, certificate: &str, token: &str) -> Value {
    let authority = ByteString(certificate.as_bytes().to_vec());
    json!({
        "current-context": "c",
        "clusters": [{"name": "eu-3", "cluster": {
            "server": server, "tls-server-name": "api.eu-3", "certificate-authority-data": authority}}],
        "users": [{"name": "hub", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "eu-3", "user": "hub"}}],
    })
}
