//! The hub process: a `cutover hub` of its own, as a user of the hub's cluster without rights but those its roles give.

use crate::{apiserver::HUB_USER, lab::Lab, process::Process};
use anyhow::Result;
use rustix::process::Signal;
use std::path::PathBuf;
use tokio::process::Command;

/// Ends with the value.
pub struct Hub {
    pub log: PathBuf,
    kubeconfig: PathBuf,
    args: Vec<String>,
    process: Process,
}

impl Hub {
    /// `name` names its log; `args` come after `cutover hub --kubeconfig FILE`.
    pub fn start(lab: &Lab, name: &str, args: &[&str]) -> Result<Self> {
        let kubeconfig = lab.hub.kubeconfig_file(HUB_USER)?;
        let log = lab.folder.join(format!("logs/hub-{name}.log"));
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let process = Process::spawn("hub", command(&kubeconfig, &args), &log)?;
        Ok(Self { log, kubeconfig, args, process })
    }

    /// SIGKILL.
    pub async fn kill(&mut self) -> Result<()> {
        self.process.kill().await
    }

    /// SIGKILL if it still runs, then the same again.
    pub async fn restart(&mut self) -> Result<()> {
        self.kill().await?;
        self.process = Process::spawn("hub", command(&self.kubeconfig, &self.args), &self.log)?;
        Ok(())
    }

    /// SIGSTOP: it holds its connections and does nothing.
    pub fn pause(&self) -> Result<()> {
        self.process.signal(Signal::STOP)
    }

    /// SIGCONT: it wakes and knows nothing of the time that passed.
    pub fn resume(&self) -> Result<()> {
        self.process.signal(Signal::CONT)
    }

    /// An error with the end of its log if it has ended by itself.
    pub fn check(&mut self) -> Result<()> {
        self.process.check()
    }
}

fn command(kubeconfig: &std::path::Path, args: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cutover"));
    command.arg("hub").arg("--kubeconfig").arg(kubeconfig).args(args);
    command
}
