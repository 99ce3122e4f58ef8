//! The hub process: a `cutover hub` of its own, as a user of the hub's cluster without rights but those its roles give.

use crate::{
    apiserver::HUB_USER,
    cluster::Cluster,
    process::Process,
    usage,
    wait::{answers, eventually, seconds},
};
use anyhow::{Context, Result};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use tokio::{process::Command, sync::Mutex};

/// Ends with the value.
pub struct Hub {
    binary: PathBuf,
    /// What it logs, where that is not what it logs by default.
    verbosity: Option<&'static str>,
    kubeconfig: PathBuf,
    log: PathBuf,
    port: u16,
    elects: bool,
    process: Mutex<Option<Process>>,
}

impl Hub {
    /// `name` names its log; it answers for itself on `port`. `open` starts it. It asks for the Lease before it acts.
    pub fn new(hub: &Cluster, folder: &Path, name: &str, port: u16) -> Result<Self> {
        let binary = Path::new(env!("CARGO_BIN_EXE_cutover"));
        let hub = Self::installed(binary, &hub.kubeconfig_file(HUB_USER)?, folder, name, port);
        Ok(Self { verbosity: Some("cutover=debug"), ..hub })
    }

    /// As it is installed: another binary, with a kubeconfig of its own, logging what it logs by default.
    pub fn installed(binary: &Path, kubeconfig: &Path, folder: &Path, name: &str, port: u16) -> Self {
        let (binary, kubeconfig) = (binary.to_owned(), kubeconfig.to_owned());
        let log = folder.join(format!("logs/hub-{name}.log"));
        Self { binary, verbosity: None, kubeconfig, log, port, elects: true, process: Mutex::default() }
    }

    /// One that acts without asking for the Lease.
    pub fn alone(self) -> Self {
        Self { elects: false, ..self }
    }

    /// Starts it (again) and waits until it is ready.
    pub async fn open(&self) -> Result<()> {
        *self.process.lock().await = Some(Process::spawn("hub", self.command(), &self.log)?);
        self.ready().await
    }

    /// Waits until it says that it is ready.
    pub async fn ready(&self) -> Result<()> {
        let url = self.url("/readyz");
        eventually("the hub process", seconds(30), async || {
            self.check().await?;
            answers(&url).await
        })
        .await
    }

    /// SIGKILL.
    pub async fn kill(&self) -> Result<()> {
        match self.process.lock().await.take() {
            Some(mut process) => process.kill().await,
            None => Ok(()),
        }
    }

    /// SIGTERM, then waits until it has ended by itself: its Lease is free.
    pub async fn stop(&self) -> Result<()> {
        let process = self.process.lock().await.take();
        let mut process = process.context("the hub process was stopped")?;
        process.signal(Signal::TERM)?;
        eventually("the end of the hub process", seconds(15), async || process.has_ended()).await
    }

    /// SIGSTOP: it holds its connections and does nothing.
    pub async fn pause(&self) -> Result<()> {
        self.process.lock().await.as_ref().context("the hub process was stopped")?.pause().await
    }

    /// SIGCONT: it wakes and knows nothing of the time that passed.
    pub async fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT).await
    }

    /// An error with the end of its log if it has ended by itself.
    pub async fn check(&self) -> Result<()> {
        self.process.lock().await.as_mut().context("the hub process was stopped")?.check()
    }

    /// The most memory that it has held since the last call, in MiB.
    pub async fn peak_memory(&self) -> Result<u64> {
        let id = self.id().await?;
        let peak = usage::memory(id)?.peak;
        usage::forget_peak(id)?;
        Ok(peak / 1024)
    }

    /// The id of its process.
    pub async fn id(&self) -> Result<u32> {
        self.process.lock().await.as_ref().and_then(Process::id).context("the hub process was stopped")
    }

    /// The passes that it has counted, however they ended.
    pub async fn passes(&self) -> Result<f64> {
        let exposition = reqwest::get(self.url("/metrics")).await?.text().await?;
        let lines = exposition.lines().filter(|line| line.starts_with("cutover_passes_total"));
        Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// Where it answers for itself.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    async fn signal(&self, signal: Signal) -> Result<()> {
        self.process.lock().await.as_ref().context("the hub process was stopped")?.signal(signal)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .env_remove("RUST_LOG")
            .envs(self.verbosity.map(|verbosity| ("RUST_LOG", verbosity)))
            .args(["hub", "--allow-addresses", "10.77.0.0/24", "--allow-external-names", "*.eu-1.lab"])
            .arg(format!("--leader-election={}", self.elects))
            .arg(format!("--listen=127.0.0.1:{}", self.port));
        command
    }
}
