//! The hub process: a `cutover hub` of its own, as a user of the hub's cluster without rights but those its roles give.

use crate::{
    apiserver::HUB_USER,
    cluster::Cluster,
    process::Process,
    wait::{answers, eventually, seconds},
};
use anyhow::{Context, Result};
use rustix::process::Signal;
use std::{
    fs,
    path::{Path, PathBuf},
};
use tokio::{process::Command, sync::Mutex};

/// Ends with the value.
pub struct Hub {
    kubeconfig: PathBuf,
    log: PathBuf,
    port: u16,
    elects: bool,
    process: Mutex<Option<Process>>,
}

impl Hub {
    /// `name` names its log; it answers for itself on `port`. `open` starts it. It asks for the Lease before it acts.
    pub fn new(hub: &Cluster, folder: &Path, name: &str, port: u16) -> Result<Self> {
        let log = folder.join(format!("logs/hub-{name}.log"));
        Ok(Self { kubeconfig: hub.kubeconfig_file(HUB_USER)?, log, port, elects: true, process: Mutex::default() })
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
        let url = format!("http://127.0.0.1:{}/readyz", self.port);
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
        self.signal(Signal::STOP).await
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
        let id = self.process.lock().await.as_ref().and_then(Process::id).context("the hub process was stopped")?;
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
        // proc_pid_clear_refs(5): 5 resets the peak.
        fs::write(format!("/proc/{id}/clear_refs"), "5")?;
        Ok(peak.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
    }

    async fn signal(&self, signal: Signal) -> Result<()> {
        self.process.lock().await.as_ref().context("the hub process was stopped")?.signal(signal)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .env("RUST_LOG", "cutover=debug")
            .args(["hub", "--allow-addresses", "10.77.0.0/24", "--allow-external-names", "*.eu-1.lab"])
            .arg(format!("--leader-election={}", self.elects))
            .arg(format!("--listen=127.0.0.1:{}", self.port));
        command
    }
}
