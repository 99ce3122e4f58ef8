//! What the machine must have beforehand: checked first, and named with its remedy.

use anyhow::{Context, Result, bail};
use std::process::Command;

/// Runs a short command to its end; its standard output, or its standard error as the error.
pub fn output(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).output().with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        bail!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn run(program: &str, args: &[&str]) -> Result<()> {
    output(program, args).map(drop)
}

struct Need {
    probe: &'static [&'static str],
    remedy: &'static str,
}

/// For a running lab.
const NAMESPACES: [Need; 2] = [
    Need {
        probe: &["unshare", "-Urnm", "-pf", "--kill-child", "--mount-proc", "true"],
        remedy: "Linux with unprivileged user namespaces (util-linux; sysctl kernel.unprivileged_userns_clone=1, or \
                 kernel.apparmor_restrict_unprivileged_userns=0)",
    },
    Need { probe: &["ip", "-V"], remedy: "the `ip` command (package iproute2)" },
];

/// For making parts that are neither installed nor in the cache.
const BUILD_TOOLS: [Need; 2] = [
    Need { probe: &["go", "version"], remedy: "Go 1.26 or newer (https://go.dev/dl)" },
    Need { probe: &["python3", "-m", "pip", "--version"], remedy: "Python 3 with pip (packages python3, python3-pip)" },
];

pub fn check_namespaces() -> Result<()> {
    check(&NAMESPACES)
}

pub fn check_build_tools() -> Result<()> {
    check(&BUILD_TOOLS)
}

fn check(needs: &[Need]) -> Result<()> {
    let missing: Vec<String> = needs
        .iter()
        .filter_map(|need| run(need.probe[0], &need.probe[1..]).err().map(|why| format!("\n  {}: {why}", need.remedy)))
        .collect();
    if missing.is_empty() { Ok(()) } else { bail!("the lab needs{}", missing.concat()) }
}
