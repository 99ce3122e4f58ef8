//! A child process of the lab, its log, and the signals that tests send to it.

use crate::wait::eventually;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::process::{Child, Command};

/// Ends (SIGKILL) with the value that holds it.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with both outputs appended to `log`.
    pub fn spawn(name: &str, mut command: Command, log: &Path) -> Result<Self> {
        let output =
            OpenOptions::new().create(true).append(true).open(log).with_context(|| log.display().to_string())?;
        let child = command
            // Half as much work for the collectors of the parts in Go, for more memory.
            .env("GOGC", "200")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        Ok(Self { name: name.to_owned(), child, log: log.to_owned() })
    }

    /// None once it has ended.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let pid = pid.with_context(|| format!("{} has ended", self.name))?;
        kill_process(pid, signal).with_context(|| format!("cannot signal {}", self.name))
    }

    /// SIGSTOP, then waits until every thread has stopped: until then it still answers.
    pub async fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)?;
        let id = self.id().with_context(|| format!("{} has ended", self.name))?;
        eventually(&format!("{} stops", self.name), Duration::from_secs(10), async || is_stopped(id)).await
    }

    /// SIGKILL, then waits until it is gone.
    pub async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.with_context(|| format!("cannot kill {}", self.name))
    }

    /// An error as long as it runs.
    pub fn has_ended(&mut self) -> Result<()> {
        self.child.try_wait()?.map(drop).with_context(|| format!("{} still runs", self.name))
    }

    /// An error with the end of its log if it has ended by itself.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} ended with {status}:\n{}", self.name, tail(&self.log, 15)),
        }
    }
}

/// An error as long as one of its threads runs; the state stands behind the name, which may contain anything.
fn is_stopped(id: u32) -> Result<()> {
    for thread in fs::read_dir(format!("/proc/{id}/task"))? {
        let text = fs::read_to_string(thread?.path().join("stat"))?;
        let state = text.rsplit(") ").next().unwrap_or_default();
        ensure!(state.starts_with('T'), "a thread is in state {state:.1}");
    }
    Ok(())
}

/// The last lines of a log, or why it cannot be read.
pub fn tail(log: &Path, lines: usize) -> String {
    let text =
        fs::read(log).map_or_else(|error| error.to_string(), |bytes| String::from_utf8_lossy(&bytes).into_owned());
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
