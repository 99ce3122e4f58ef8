//! One kube-apiserver with its own prefix in the shared etcd: storage, watches, admission, CRDs, RBAC, API proxy.

use crate::{
    parts::Parts,
    pki::{Pki, Served},
    process::Process,
    wait::{eventually, seconds},
};
use anyhow::{Context, Result};
use rustix::process::Signal;
use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};
use tokio::{process::Command, sync::Mutex};

pub const PORT: u16 = 6443;
const ETCD: &str = "http://127.0.0.1:2379";

/// Who may ask an API server, and as which group; each has a token.
pub const USERS: [(&str, &str); 7] = [
    (ADMIN, "system:masters"),
    (HUB_USER, HUB_GROUP),
    (READER, "cutover:readers"),
    (OPERATOR, "cutover:operators"),
    (VISITOR, "cutover:visitors"),
    (TENANTS[0], "cutover:tenants"),
    (TENANTS[1], "cutover:tenants"),
];
pub const ADMIN: &str = "lab-admin";
/// The hub process: no rights but those that roles give.
pub const HUB_USER: &str = "cutover-hub";
pub const HUB_GROUP: &str = "cutover:hub";
/// The hub process on a member.
pub const READER: &str = "cutover-reader";
/// A person who uses the verbs.
pub const OPERATOR: &str = "lab-operator";
/// One who looks at what another tool has made; without any right until a test gives it.
pub const VISITOR: &str = "lab-visitor";

/// People who declare rollouts, each in a namespace of his own; without any right until a test gives it.
pub const TENANTS: [&str; 2] = ["lab-tenant-1", "lab-tenant-2"];

pub fn token(cluster: &str, user: &str) -> String {
    format!("{cluster}-{user}-token")
}

/// Starts the etcd that all API servers share.
pub fn start_etcd(parts: &Parts, folder: &Path) -> Result<Process> {
    let mut command = Command::new(&parts.etcd);
    command.arg("--data-dir").arg(folder.join("etcd")).args([
        "--unsafe-no-fsync",
        "--log-level=warn",
        &format!("--listen-client-urls={ETCD}"),
        &format!("--advertise-client-urls={ETCD}"),
        "--listen-peer-urls=http://127.0.0.1:2380",
    ]);
    Process::spawn("etcd", command, &folder.join("logs/etcd.log"))
}

/// Can be stopped, paused and started again on the same storage.
pub struct ApiServer {
    name: String,
    address: Ipv4Addr,
    binary: PathBuf,
    folder: PathBuf,
    log: PathBuf,
    certificate: Served,
    signing_key: (PathBuf, PathBuf),
    process: Mutex<Option<Process>>,
}

impl ApiServer {
    /// Prepares its folder; `start` starts it.
    pub fn new(name: &str, address: Ipv4Addr, parts: &Parts, folder: &Path, pki: &Pki) -> Result<Self> {
        let home = folder.join(name);
        fs::create_dir_all(&home)?;
        let tokens: String =
            USERS.map(|(user, group)| format!("{},{user},{user},{group}\n", token(name, user))).concat();
        fs::write(home.join("tokens.csv"), tokens)?;
        fs::write(home.join("audit-policy.yaml"), AUDIT_POLICY)?;
        Ok(Self {
            name: name.to_owned(),
            address,
            binary: parts.kube_apiserver.clone(),
            folder: home,
            log: folder.join(format!("logs/apiserver-{name}.log")),
            certificate: pki.serve(&[&format!("api.{name}.lab"), &address.to_string(), "127.0.0.1"])?,
            signing_key: pki.signing_key(name)?,
            process: Mutex::new(None),
        })
    }

    pub fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// Starts it (again) and waits until it is ready.
    pub async fn start(&self) -> Result<()> {
        let process = Process::spawn(&format!("API server of {}", self.name), self.command(), &self.log)?;
        *self.process.lock().await = Some(process);
        let client = reqwest::Client::builder().danger_accept_invalid_certs(true).timeout(seconds(2)).build()?;
        let url = format!("https://{}:{PORT}/readyz", self.address);
        eventually(&format!("API server of {}", self.name), seconds(90), async || {
            self.process.lock().await.as_mut().context("it was stopped")?.check()?;
            client.get(&url).bearer_auth(token(&self.name, ADMIN)).send().await?.error_for_status()?;
            Ok(())
        })
        .await
    }

    /// SIGKILL: connections are refused from now on.
    pub async fn stop(&self) -> Result<()> {
        match self.process.lock().await.take() {
            Some(mut process) => process.kill().await,
            None => Ok(()),
        }
    }

    /// SIGSTOP: connections are accepted and never answered.
    pub async fn pause(&self) -> Result<()> {
        self.process.lock().await.as_ref().context("the API server was stopped")?.pause().await
    }

    pub async fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT).await
    }

    /// The id of its process.
    pub async fn id(&self) -> Result<u32> {
        self.process.lock().await.as_ref().and_then(Process::id).context("the API server was stopped")
    }

    async fn signal(&self, signal: Signal) -> Result<()> {
        self.process.lock().await.as_ref().context("the API server was stopped")?.signal(signal)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(["--etcd-servers", ETCD, "--etcd-prefix", &format!("/{}", self.name)])
            .args(["--bind-address", &self.address.to_string(), "--secure-port", &PORT.to_string()])
            .args(["--advertise-address", &self.address.to_string()])
            .arg("--tls-cert-file")
            .arg(&self.certificate.certificate)
            .arg("--tls-private-key-file")
            .arg(&self.certificate.key)
            .arg("--service-account-signing-key-file")
            .arg(&self.signing_key.0)
            .arg("--service-account-key-file")
            .arg(&self.signing_key.1)
            .args(["--service-account-issuer", &format!("https://{}", self.name)])
            .arg("--token-auth-file")
            .arg(self.folder.join("tokens.csv"))
            .arg("--audit-policy-file")
            .arg(self.folder.join("audit-policy.yaml"))
            .arg("--audit-log-path")
            .arg(self.audit_log())
            // In megabytes: a log that was moved away would be read no further.
            .args(["--audit-log-maxsize", "10000"])
            .args(["--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.1.0.0/24"])
            .args(["--disable-admission-plugins", "ServiceAccount", "--endpoint-reconciler-type", "none"]);
        command
    }
}

const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
";
