//! A network of the lab's own: from outside, entering the namespaces; inside, making them a home.

use crate::{lab::ADDRESSES, requirements::run};
use anyhow::{Context, Result};
use std::{
    fs,
    io::Read,
    path::Path,
    process::{ExitCode, Stdio},
};
use tokio::{process::Command, signal};

/// The word that tells the inner process what it is.
pub const INSIDE: &str = "inside";

/// Runs this binary again in private namespaces and waits for it. The inner process is the first of its process
/// namespace and ends when its standard input closes: whatever happens to us, nothing survives.
pub async fn enter(words: &[String]) -> Result<ExitCode> {
    let folder = tempfile::Builder::new().prefix("cutover-lab-").tempdir()?;
    let mut inner = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .arg(std::env::current_exe()?)
        .arg(INSIDE)
        .arg(folder.path())
        .args(words)
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot run unshare")?;
    let lifeline = inner.stdin.take();
    let code = tokio::select! {
        status = inner.wait() => status?.code().unwrap_or(1),
        _ = signal::ctrl_c() => {
            drop(lifeline);
            inner.wait().await?;
            130
        }
    };
    if code != 0 {
        keep_logs(folder.path());
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// The logs of a failed run outlive it, for the one who reads them.
fn keep_logs(folder: &Path) {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-logs");
    let _ = fs::remove_dir_all(&kept);
    if run("cp", &["-r", &folder.join("logs").display().to_string(), &kept.display().to_string()]).is_ok() {
        eprintln!("lab: logs are kept in {}", kept.display());
    }
}

/// Addresses on the loopback device, names from the lab's own DNS server, and an end when the outer process ends.
pub fn settle_in(folder: &Path) -> Result<()> {
    end_with_the_outer_process(folder.to_owned());
    run("ip", &["link", "set", "lo", "up"])?;
    for address in ADDRESSES {
        run("ip", &["address", "add", &format!("{address}/32"), "dev", "lo"])?;
    }
    // Clients open hundreds of connections a second: ports must be free again at once.
    fs::write("/proc/sys/net/ipv4/tcp_tw_reuse", "1").context("cannot let ports be used again")?;
    fs::create_dir_all(folder.join("logs"))?;
    overlay(folder, "/etc/hosts", "127.0.0.1 localhost\n")?;
    overlay(folder, "/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:2\n")?;
    overlay(folder, "/etc/nsswitch.conf", "hosts: files dns\n")
}

/// Puts a text over a system file, for this mount namespace only.
fn overlay(folder: &Path, file: &str, text: &str) -> Result<()> {
    if !Path::new(file).exists() {
        return Ok(());
    }
    let ours = folder.join(file.trim_start_matches('/').replace('/', "-"));
    fs::write(&ours, text)?;
    run("mount", &["--bind", &ours.display().to_string(), file])
}

fn end_with_the_outer_process(folder: std::path::PathBuf) {
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = fs::remove_dir_all(folder);
        std::process::exit(1);
    });
}
