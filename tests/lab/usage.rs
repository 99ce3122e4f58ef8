//! What a process has used, as /proc says (`proc_pid_stat(5)`, `proc_pid_status(5)`).

use anyhow::{Context, Result};
use std::{fs, time::Duration};

/// Ticks in a second: the same on every machine, whatever its kernel's own.
const USER_HZ: u64 = 100;

/// Memory of a process in KiB: what it holds, and the most that it has held.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    pub now: u64,
    pub peak: u64,
}

/// Processor time since it started, in user mode and in the kernel.
pub fn cpu(id: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    // The name in parentheses may contain anything; utime and stime are the 12th and 13th field behind it.
    let fields = stat.rsplit_once(')').context("no name in stat")?.1.split_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 1000 / USER_HZ))
}

pub fn memory(id: u32) -> Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let field = |name: &str| -> Result<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    };
    Ok(Memory { now: field("VmRSS:")?, peak: field("VmHWM:")? })
}

/// The peak counts from now on.
pub fn forget_peak(id: u32) -> Result<()> {
    // proc_pid_clear_refs(5): 5 resets the peak.
    Ok(fs::write(format!("/proc/{id}/clear_refs"), "5")?)
}
