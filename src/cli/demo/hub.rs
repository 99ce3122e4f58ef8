//! The hub as it is installed: a process of its own, which knows nothing of the demo.

use std::{fs::OpenOptions, io, net::IpAddr, path::PathBuf, process::Stdio};

use tokio::{
    process::{Child, Command},
    sync::Mutex,
};

/// Where the hub finds everything.
pub(super) struct Hub {
    kubeconfig: PathBuf,
    log: PathBuf,
    elects: bool,
    aliases: Vec<String>,
    process: Mutex<Option<Child>>,
}

impl Hub {
    /// `names` are those that no resolver knows, each with its address.
    pub(super) fn new(
        kubeconfig: PathBuf,
        log: PathBuf,
        elects: bool,
        names: impl Iterator<Item = (String, IpAddr)>,
    ) -> Self {
        let aliases = names.map(|(name, address)| format!("--host-alias={name}={address}")).collect();
        Self { kubeconfig, log, elects, aliases, process: Mutex::default() }
    }

    /// Starts it, again where it was killed.
    pub(super) async fn start(&self) -> io::Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["hub", "--allow-addresses=127.0.0.0/8", "--listen=127.0.0.1:0"])
            .arg(format!("--leader-election={}", self.elects))
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(&self.aliases)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true);
        *self.process.lock().await = Some(command.spawn()?);
        Ok(())
    }

    /// SIGKILL.
    pub(super) async fn kill(&self) -> io::Result<()> {
        match self.process.lock().await.take() {
            Some(mut process) => process.kill().await,
            None => Ok(()),
        }
    }

    /// It has ended although nobody killed it.
    pub(super) async fn has_ended(&self) -> bool {
        let mut process = self.process.lock().await;
        process.as_mut().is_some_and(|process| process.try_wait().is_ok_and(|status| status.is_some()))
    }
}
