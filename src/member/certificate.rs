//! Certificates and keys of a kubeconfig: whether they can be used at all, and until when.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use rustls::{
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};
use secrecy::SecretSlice;
use x509_parser::{parse_x509_certificate, prelude::X509Certificate, public_key::PublicKey};

/// Certificates in one field; a bundle of a private authority has one to three.
const MOST: usize = 16;
/// RSA keys shorter than this are broken by those who can afford it.
const SHORTEST_RSA: usize = 2048;

/// Why a certificate or key cannot be used; the field, and never its content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CertificateProblem {
    /// Not base64 at all.
    #[error("BadBase64: {0}; encode the PEM text with base64")]
    Base64(String),
    /// No certificate in it.
    #[error("NoCertificate: {0} holds no PEM certificate")]
    Empty(String),
    /// A certificate that cannot be read.
    #[error("BadCertificate: {0}: certificate {1} cannot be read")]
    Unreadable(String, usize),
    /// More certificates than anybody needs.
    #[error("TooManyCertificates: {0} holds {1}; at most {MOST}")]
    TooMany(String, usize),
    /// It has ended.
    #[error("CertificateExpired: {0} ended on {1}; issue a new one")]
    Expired(String, String),
    /// An RSA key that is too short.
    #[error("WeakKey: {0} has an RSA key of {1} bits; at least {SHORTEST_RSA}")]
    Weak(String, usize),
    /// No private key, or of a kind that is not known.
    #[error("BadKey: {0} holds no usable PEM private key")]
    Key(String),
    /// A key of another certificate.
    #[error("KeyMismatch: {0} is not the key of client-certificate-data")]
    Mismatch(String),
}

/// The certificates to trust, as PEM, and when the last of them ends: a bundle may still hold an authority's old one.
///
/// # Errors
/// When they cannot be used.
pub(super) fn roots(base64: &str, path: &str, now: Timestamp) -> Result<(Vec<u8>, Timestamp), CertificateProblem> {
    let pem = decode(base64, path)?;
    let ends = inspect(&certificates(&pem, path)?, path)?;
    let until = ends.into_iter().max().unwrap_or(Timestamp::MIN);
    not_expired(until, path, now)?;
    Ok((pem, until))
}

/// A client certificate and its key, as one PEM text, and when the certificate ends.
///
/// # Errors
/// When they cannot be used, or do not belong together.
pub(super) fn identity(
    chain: &str,
    key: &str,
    user: &str,
    now: Timestamp,
) -> Result<(SecretSlice<u8>, Timestamp), CertificateProblem> {
    let path = format!("{user}.client-certificate-data");
    let mut pem = decode(chain, &path)?;
    let found = certificates(&pem, &path)?;
    let until = inspect(&found, &path)?.first().copied().unwrap_or(Timestamp::MIN);
    not_expired(until, &path, now)?;
    let path = format!("{user}.client-key-data");
    let key = decode(key, &path)?;
    belong_together(found, &key, path)?;
    pem.push(b'\n');
    pem.extend_from_slice(&key);
    Ok((pem.into(), until))
}

fn belong_together(chain: Vec<CertificateDer<'static>>, key: &[u8], path: String) -> Result<(), CertificateProblem> {
    let Ok(key) = PrivateKeyDer::from_pem_slice(key) else { return Err(CertificateProblem::Key(path)) };
    match CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()) {
        Ok(_) => Ok(()),
        Err(rustls::Error::InconsistentKeys(_)) => Err(CertificateProblem::Mismatch(path)),
        Err(_) => Err(CertificateProblem::Key(path)),
    }
}

fn decode(base64: &str, path: &str) -> Result<Vec<u8>, CertificateProblem> {
    let packed: String = base64.split_ascii_whitespace().collect();
    let bytes: Result<ByteString, _> = serde_json::from_value(packed.into());
    bytes.map(|bytes| bytes.0).map_err(|_| CertificateProblem::Base64(path.to_owned()))
}

fn certificates(pem: &[u8], path: &str) -> Result<Vec<CertificateDer<'static>>, CertificateProblem> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem).flatten().collect();
    match found.len() {
        0 => Err(CertificateProblem::Empty(path.to_owned())),
        count if count > MOST => Err(CertificateProblem::TooMany(path.to_owned(), count)),
        _ => Ok(found),
    }
}

/// When each certificate ends, none of them having a weak key.
fn inspect(found: &[CertificateDer<'_>], path: &str) -> Result<Vec<Timestamp>, CertificateProblem> {
    let read = |(place, der): (usize, &CertificateDer<'_>)| {
        let unreadable = || CertificateProblem::Unreadable(path.to_owned(), place + 1);
        let (_, certificate) = parse_x509_certificate(der).map_err(|_| unreadable())?;
        strong(&certificate, path)?;
        Timestamp::from_second(certificate.validity().not_after.timestamp()).map_err(|_| unreadable())
    };
    found.iter().enumerate().map(read).collect()
}

fn strong(certificate: &X509Certificate<'_>, path: &str) -> Result<(), CertificateProblem> {
    match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) if key.key_size() < SHORTEST_RSA => {
            Err(CertificateProblem::Weak(path.to_owned(), key.key_size()))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn not_expired(until: Timestamp, path: &str, now: Timestamp) -> Result<(), CertificateProblem> {
    if until > now {
        return Ok(());
    }
    Err(CertificateProblem::Expired(path.to_owned(), until.strftime("%Y-%m-%d").to_string()))
}
