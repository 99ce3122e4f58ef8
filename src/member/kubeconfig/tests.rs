//! Every field and every certificate that is refused, with the exact words.

use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use rcgen::{CertificateParams, CertifiedKey, KeyPair, date_time_ymd, generate_simple_self_signed};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{Credentials, parse};

mod limits;

/// A certificate with an RSA key of 1024 bits, which no library makes any more; valid until 2126.
const WEAK: &str = "\
MIIB/DCCAWWgAwIBAgIUdaZ0jO+019Qh/SlW8se1lCGzDv4wDQYJKoZIhvcNAQELBQAwDzENMAsGA1UEAwwEd2VhazAgFw0yNjEx\
MjEwODQwMzJaGA8yMTI2MTAyODA4NDAzMlowDzENMAsGA1UEAwwEd2VhazCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkCgYEA4ABx\
px6cggOGHdn16r0KXkKP3huYauNV0lSqv6U4HgT3XbfUglxzjDgxB9fQtd9XnQPi3/zikpXKsvU1VdrNcP41hKpjuqvfUrf1jT8+\
LmlPd1FC2Y+OAkkR0INyPZ67kvb8TgxlP44vcBDf4SJHL6VPzbjUxrnzo68nOWiqLAkCAwEAAaNTMFEwHQYDVR0OBBYEFJtLFKsG\
ar9Y4Dm0yyJ1OSJY46BnMB8GA1UdIwQYMBaAFJtLFKsGar9Y4Dm0yyJ1OSJY46BnMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcN\
AQELBQADgYEAAJRnHVgA04Z23X7Q6lySADcVnp4pzeiiqkFLJEX2JS9iKx17l7k/vIIOvOjUagx0dO8JLovaXyTlKYEBzpB5d/G0\
mCIFKc+kHNbSJiODyNVtftNH6QpuMvisav+lIjxKGgmCfvSoUsXDtpCHpj7v9o7Xk+G7od9PbY3jNtvhPkk=";

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn base64(bytes: impl Into<Vec<u8>>) -> Value {
    serde_json::to_value(ByteString(bytes.into())).unwrap()
}

fn pair() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["member".to_owned()]).unwrap()
}

/// A self-signed certificate that ends on a day of December 2026.
fn ending(day: u8) -> String {
    let mut params = CertificateParams::new(["member".to_owned()]).unwrap();
    params.not_after = date_time_ymd(2026, 12, day);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

/// A kubeconfig that is good.
fn good() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": "c",
        "clusters": [{"name": "eu-3", "cluster": {
            "server": "https://eu-3.example.com:6443", "certificate-authority-data": base64(pair().cert.pem())}}],
        "users": [{"name": "hub", "user": {"token": "s3cret"}}],
        "contexts": [{"name": "c", "context": {"cluster": "eu-3", "user": "hub"}}],
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut config = good();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    match config.pointer_mut(parent).unwrap() {
        Value::Object(fields) => drop(fields.insert(field.to_owned(), value)),
        Value::Array(items) => items.push(value),
        other => panic!("{other}"),
    }
    config
}

fn refusal(config: &Value) -> String {
    let refused = parse(&config.to_string(), now()).unwrap_err().to_string();
    assert!(!refused.contains("s3cret"), "{refused}");
    refused
}

#[test]
fn a_plain_kubeconfig_is_taken() {
    let kubeconfig = parse(&with("/clusters/0/cluster/tls-server-name", json!("api.eu-3")).to_string(), now()).unwrap();
    assert_eq!(
        (kubeconfig.server.as_str(), kubeconfig.server_name.as_deref()),
        ("https://eu-3.example.com:6443/", Some("api.eu-3"))
    );
    assert!(kubeconfig.roots.starts_with(b"-----BEGIN CERTIFICATE-----"));
    match &kubeconfig.credentials {
        Credentials::Token(token) => assert_eq!(token.expose_secret(), "s3cret"),
        Credentials::Certificate(_) => panic!("a token was given"),
    }
    assert!(!format!("{kubeconfig:?}").contains("s3cret"));
}

#[test]
fn every_field_that_is_not_harmless_is_refused_by_name() {
    let user = "/users/0/user";
    let cluster = "/clusters/0/cluster";
    for (at, field, value, expected) in [
        (
            user,
            "exec",
            json!({"command": "sh"}),
            "ExecNotAllowed: users[0].user.exec; use a token or client certificate data",
        ),
        (
            user,
            "auth-provider",
            json!({"name": "gcp"}),
            "ExecNotAllowed: users[0].user.auth-provider; use a token or client certificate data",
        ),
        (
            user,
            "tokenFile",
            json!("/x"),
            "FileReferenceNotAllowed: users[0].user.tokenFile; put the content itself in, as token",
        ),
        (
            user,
            "client-certificate",
            json!("/x"),
            "FileReferenceNotAllowed: users[0].user.client-certificate; put the content itself in, as client-certificate-data",
        ),
        (
            user,
            "client-key",
            json!("/x"),
            "FileReferenceNotAllowed: users[0].user.client-key; put the content itself in, as client-key-data",
        ),
        (
            cluster,
            "certificate-authority",
            json!("/x"),
            "FileReferenceNotAllowed: clusters[0].cluster.certificate-authority; put the content itself in, as certificate-authority-data",
        ),
        (
            cluster,
            "proxy-url",
            json!("http://evil"),
            "FieldNotAllowed: clusters[0].cluster.proxy-url; the hub connects directly; remove it",
        ),
        (
            cluster,
            "proxy-url",
            json!("socks5://evil"),
            "FieldNotAllowed: clusters[0].cluster.proxy-url; the hub connects directly; remove it",
        ),
        (
            cluster,
            "insecure-skip-tls-verify",
            json!(true),
            "FieldNotAllowed: clusters[0].cluster.insecure-skip-tls-verify; give certificate-authority-data instead",
        ),
        (
            user,
            "as",
            json!("system:masters"),
            "FieldNotAllowed: users[0].user.as; the hub acts under the name of its own credentials; remove it",
        ),
        (
            user,
            "as-groups",
            json!(["system:masters"]),
            "FieldNotAllowed: users[0].user.as-groups; the hub acts under the name of its own credentials; remove it",
        ),
        (
            user,
            "username",
            json!("admin"),
            "FieldNotAllowed: users[0].user.username; use a token or client certificate data",
        ),
        (
            user,
            "password",
            json!("s3cret"),
            "FieldNotAllowed: users[0].user.password; use a token or client certificate data",
        ),
        (user, "tokn", json!("s3cret"), "UnknownField: users[0].user.tokn; remove it"),
        (cluster, "extensions", json!([]), "UnknownField: clusters[0].cluster.extensions; remove it"),
        ("", "s\u{202e}x", json!(1), r#"UnknownField: ["s\u{202e}x"]; remove it"#),
    ] {
        assert_eq!(refusal(&with(&format!("{at}/{field}"), value)), expected);
    }
}

#[test]
fn the_server_is_plain_https() {
    let plain = "BadServer: clusters[0].cluster.server: https required; write https://host:port";
    let more = "BadServer: clusters[0].cluster.server: not plainly https://host:port; leave out user, password, query and fragment";
    let path = "BadServer: clusters[0].cluster.server: a path is not allowed; write https://host:port";
    for (server, expected) in [
        ("http://eu-3", plain),
        ("file:///etc/passwd", plain),
        ("unix:/run/x", plain),
        ("eu-3:6443", plain),
        ("https://", more),
        ("https://user:s3cret@eu-3", more),
        ("https://eu-3?x=s3cret", more),
        ("https://eu-3/#s3cret", more),
        ("https://eu-3/path", path),
    ] {
        assert_eq!(refusal(&with("/clusters/0/cluster/server", json!(server))), expected, "{server}");
    }
}

#[test]
fn exactly_one_cluster_user_and_context_that_belong_together() {
    let entry = |name: &str| json!({"name": name, "cluster": {}});
    for (config, expected) in [
        (with("/current-context", Value::Null), "Missing: current-context"),
        (with("/current-context", json!("x")), r#"NotFound: current-context is "x", but there is no such entry"#),
        (
            with("/contexts/0/context/cluster", json!("x")),
            r#"NotFound: contexts[0].context.cluster is "x", but there is no such entry"#,
        ),
        (
            with("/contexts/0/context/user", json!("x")),
            r#"NotFound: contexts[0].context.user is "x", but there is no such entry"#,
        ),
        (with("/clusters/-", entry("eu-3")), "Ambiguous: clusters has 2 entries; keep one"),
        (with("/contexts", json!([{}, {}, {}])), "Ambiguous: contexts has 3 entries; keep one"),
        (with("/users", json!([])), "Missing: users[0]"),
        (with("/users", Value::Null), "Missing: users"),
        (with("/users", json!("s3cret")), "WrongType: users; a list is expected"),
        (with("/users", json!([{"name": "hub"}])), "Missing: users[0].user"),
        (with("/users/0/user", json!("s3cret")), "WrongType: users[0].user; a mapping is expected"),
        (with("/users/0/user/token", json!(17)), "WrongType: users[0].user.token; a string is expected"),
        (
            with("/users/0/user/token", json!(" ")),
            "Missing: users[0].user.token, or client-certificate-data and client-key-data",
        ),
        (
            with("/users/0/user", json!({})),
            "Missing: users[0].user.token, or client-certificate-data and client-key-data",
        ),
        (
            with("/users/0/user/client-key-data", json!("eA==")),
            "Ambiguous: users[0].user has a token and a client certificate; keep one",
        ),
        (with("/users/0/user", json!({"client-certificate-data": "eA=="})), "Missing: users[0].user.client-key-data"),
        (
            with("/clusters/0/cluster", json!({"server": "https://a"})),
            "Missing: clusters[0].cluster.certificate-authority-data",
        ),
        (json!([]), "WrongType: the document; a mapping is expected"),
    ] {
        assert_eq!(refusal(&config), expected);
    }
}

#[test]
fn certificates_that_cannot_be_used_each_have_their_reason() {
    let field = "clusters[0].cluster.certificate-authority-data";
    let pem = |der: &str| format!("-----BEGIN CERTIFICATE-----\n{der}\n-----END CERTIFICATE-----\n");
    let many: String = std::iter::repeat_n(pair().cert.pem(), 50).collect();
    let mut past = CertificateParams::new(["member".to_owned()]).unwrap();
    past.not_after = date_time_ymd(2026, 11, 20);
    let past = past.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    for (data, expected) in [
        (json!("!"), format!("BadBase64: {field}; encode the PEM text with base64")),
        (base64("nothing"), format!("NoCertificate: {field} holds no PEM certificate")),
        (base64(pair().signing_key.serialize_pem()), format!("NoCertificate: {field} holds no PEM certificate")),
        (base64(pem("AAAA")), format!("BadCertificate: {field}: certificate 1 cannot be read")),
        (base64(many), format!("TooManyCertificates: {field} holds 50; at most 16")),
        (base64(past), format!("CertificateExpired: {field} ended on 2026-11-20; issue a new one")),
        (base64(pem(WEAK)), format!("WeakKey: {field} has an RSA key of 1024 bits; at least 2048")),
    ] {
        assert_eq!(refusal(&with("/clusters/0/cluster/certificate-authority-data", data)), expected);
    }
}

fn with_identity(certificate: &str, key: &str) -> Value {
    let user = json!({"client-certificate-data": base64(certificate), "client-key-data": base64(key)});
    with("/users/0/user", user)
}

#[test]
fn a_client_key_belongs_to_its_certificate() {
    let (one, other) = (pair(), pair());
    let pem = one.cert.pem();
    assert!(parse(&with_identity(&pem, &one.signing_key.serialize_pem()).to_string(), now()).is_ok());
    assert_eq!(
        refusal(&with_identity(&pem, &other.signing_key.serialize_pem())),
        "KeyMismatch: users[0].user.client-key-data is not the key of client-certificate-data"
    );
    assert_eq!(
        refusal(&with_identity(&pem, &pem)),
        "BadKey: users[0].user.client-key-data holds no usable PEM private key"
    );
}

#[test]
fn an_ec_key_in_sec1_is_taken() {
    let pair = pair();
    let pkcs8 = pair.signing_key.serialize_der();
    // A SEC1 key is what a PKCS#8 one wraps: a sequence that begins with version 1 and 32 bytes.
    let start = pkcs8.windows(5).position(|bytes| bytes == [2, 1, 1, 4, 32]).unwrap() - 2;
    let sec1 = base64(&pkcs8[start..]);
    let key = format!("-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n", sec1.as_str().unwrap());
    parse(&with_identity(&pair.cert.pem(), &key).to_string(), now()).unwrap();
}

#[test]
fn the_first_certificate_to_end_is_reported_but_an_old_authority_in_a_bundle_does_not_count() {
    let until = |config: &Value| parse(&config.to_string(), now()).unwrap().expires.at.strftime("%Y-%m-%d").to_string();
    let authority = "/clusters/0/cluster/certificate-authority-data";
    assert_eq!(until(&with(authority, base64(ending(5)))), "2026-12-05");
    assert_eq!(until(&with(authority, base64(ending(3) + &ending(7)))), "2026-12-07");
    let soon = parse(&with(authority, base64(ending(5))).to_string(), now()).unwrap().expires.at;
    assert!(soon.duration_since(now()) <= SignedDuration::from_hours(14 * 24));
}

#[test]
fn bombs_and_other_texts_are_refused_at_once_and_without_their_text() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n\
                d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d]\n";
    let too_complex = "Unreadable: too deeply nested, too many values, or too many aliases";
    let unreadable = "Unreadable: not readable as YAML (indentation, quotes, brackets, or a tag)";
    for (text, expected) in [
        (bomb.to_owned(), too_complex),
        ("[".repeat(100) + &"]".repeat(100), too_complex),
        ("token: s3cret\ntoken: s3cret\n".to_owned(), "Unreadable: a key is given twice"),
        ("token: !!python/object s3cret\n".to_owned(), unreadable),
        ("token: 's3cret\n".to_owned(), unreadable),
        (String::new(), "Unreadable: 0 YAML documents; a kubeconfig is one mapping"),
        ("a: 1\n---\nb: 2\n".to_owned(), "Unreadable: 2 YAML documents; a kubeconfig is one mapping"),
        ("x".repeat(70_000), "TooLarge: the kubeconfig has 70000 bytes; at most 65536 are read"),
    ] {
        let began = Instant::now();
        assert_eq!(parse(&text, now()).unwrap_err().to_string(), expected);
        assert!(began.elapsed().as_millis() < 500, "{:?}", began.elapsed());
    }
}
