//! The lab's certificate authority.

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_RSA_SHA256, SigningKey,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

pub struct Pki {
    issuer: Issuer<'static, KeyPair>,
    /// The authority's certificate, PEM.
    pub ca: String,
    folder: PathBuf,
}

/// A certificate chain and its key, as PEM files.
pub struct Served {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Pki {
    pub fn new(folder: &Path) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "lab");
        let key = KeyPair::generate()?;
        let ca = params.self_signed(&key)?.pem();
        fs::create_dir_all(folder)?;
        fs::write(folder.join("ca.pem"), &ca)?;
        Ok(Self { issuer: Issuer::new(params, key), ca, folder: folder.to_owned() })
    }

    pub fn ca_file(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// A serving certificate valid for `names` (DNS names or addresses) only.
    pub fn serve(&self, names: &[&str]) -> Result<Served> {
        let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        params.use_authority_key_identifier_extension = true;
        params.distinguished_name.push(DnType::CommonName, names[0]);
        let key = KeyPair::generate()?;
        let served = Served {
            certificate: self.folder.join(format!("{}.pem", names[0])),
            key: self.folder.join(format!("{}.key", names[0])),
        };
        fs::write(&served.certificate, params.signed_by(&key, &self.issuer)?.pem())?;
        fs::write(&served.key, key.serialize_pem())?;
        Ok(served)
    }

    /// A key pair with which an API server signs service account tokens, RSA as kubeadm makes it: (private, public), PEM files.
    pub fn signing_key(&self, name: &str) -> Result<(PathBuf, PathBuf)> {
        let key = KeyPair::generate_for(&PKCS_RSA_SHA256)?;
        let files = (self.private_key(name), self.folder.join(format!("{name}-sa.pub")));
        fs::write(&files.0, key.serialize_pem())?;
        fs::write(&files.1, key.public_key_pem())?;
        Ok(files)
    }

    /// Signs as the API server of this name signs its tokens (RS256).
    pub fn sign(&self, name: &str, text: &str) -> Result<Vec<u8>> {
        let key = KeyPair::from_pem(&fs::read_to_string(self.private_key(name))?)?;
        Ok(key.sign(text.as_bytes())?)
    }

    fn private_key(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-sa.key"))
    }
}
